"""From the answers of two arms to pairs: where they part, and what their scores are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkproof.core.ab import Divergence, DivergenceClass, Score, Task
from sparkproof.core.observations.ab_run import AbAnswer, AbPlan
from sparkproof.core.results.ab import AbPair
from sparkproof.core.text import shorten
from sparkproof.gates.ab_divergence import compare_answers
from sparkproof.gates.ab_scorers import tool_call_text

Key = tuple[int, int, int, bool]
AnswerOf = Callable[[Key], AbAnswer | None]
ScoreOf = Callable[[Task, str], Score]
_SHOWN = 400


def make_pairs(
    plan: AbPlan, tasks: Sequence[Task], answer_of: AnswerOf, score_of: ScoreOf
) -> tuple[AbPair, ...]:
    """Every pair there is: the control with each treatment, and with its own second answers."""
    found = [
        _pair(plan, tasks, (first, second), score_of)
        for arm in range(1, len(plan.arms))
        for index in range(len(plan.cells))
        for task in range(plan.prompts)
        if (first := answer_of((0, index, task, False)))
        and (second := answer_of((arm, index, task, False)))
    ]
    found += [
        _pair(plan, tasks, (first, second), score_of)
        for index in range(len(plan.cells))
        for task in plan.noise_tasks()
        if (first := answer_of((0, index, task, False)))
        and (second := answer_of((0, index, task, True)))
    ]
    return tuple(found)


def scored_text(task: Task, answer: AbAnswer) -> str:
    """What the task's scorer reads."""
    if task.scorer == "tool-arguments":
        return tool_call_text(answer.calls)
    return answer.text


def _pair(
    plan: AbPlan, tasks: Sequence[Task], two: tuple[AbAnswer, AbAnswer], score_of: ScoreOf
) -> AbPair:
    first, second = two
    task = tasks[first.task]
    bad = next((answer for answer in two if not answer.ok), None)
    apart = None
    if bad is None and not plan.differ:
        apart = _divergence(first, second)
    scores = [
        score_of(task, scored_text(task, answer)) if bad is None and task.scorer else None
        for answer in two
    ]
    same = (first.text, first.calls) == (second.text, second.calls)
    return AbPair(
        arm=second.arm,
        task=task.id,
        task_kind=task.kind,
        cell=second.cell,
        round=plan.round_of(first.task),
        divergence=apart,
        failed=fault_words(bad) if bad else "",
        first=scores[0],
        second=scores[1],
        first_text="" if same else _shown(first),
        second_text="" if same else _shown(second),
    )


def _divergence(first: AbAnswer, second: AbAnswer) -> Divergence:
    """As their token ids say; by their texts, without a class, where there are none.

    The same tokens with other texts or calls are corruption, of a detokenizer, a parser or
    something on the line: no rounding is between a token and its text.
    """
    same = (first.text, first.calls) == (second.text, second.calls)
    if first.tokens and second.tokens:
        found = compare_answers(first.tokens, second.tokens)
        if same or found.kind is not DivergenceClass.IDENTICAL:
            return found
        why = "the same tokens became another text"
        return Divergence(kind=DivergenceClass.CORRUPTION, at=len(first.tokens), why=why)
    if same:
        return Divergence(kind=DivergenceClass.IDENTICAL, why="by their texts")
    return Divergence(kind=DivergenceClass.UNKNOWN, at=0, why="no token ids, other texts")


def fault_words(answer: AbAnswer) -> str:
    """Why an answer is not whole."""
    what = answer.detail or answer.failure.value or f"status {answer.status}"
    return shorten(f"{answer.status} {what}" if answer.status else what, _SHOWN)


def _shown(answer: AbAnswer) -> str:
    calls = "".join(f" {name}({arguments})" for name, arguments in answer.calls)
    return shorten(answer.text + calls, _SHOWN)
