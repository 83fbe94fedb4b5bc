"""Scores of all answers: by the named scorers, or by the user's own program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkproof.adapters.pattern_child import search_all
from sparkproof.adapters.scorer_program import score_with
from sparkproof.core.ab import Score, Task
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.ab_run import AbAnswer
from sparkproof.gates.ab_pairs import ScoreOf, scored_text
from sparkproof.gates.ab_scorers import REGEX, SCORERS, score_found

OWN = "own"
"""The scorer of tasks that name none, where a program is given."""
_SCORING_S = 600.0


def scorer_of(tasks: Sequence[Task], answers: Iterable[AbAnswer], command: str) -> ScoreOf:
    """A function that scores an answer; programs and patterns have been run by then.

    Raises:
        FormatError, UnreachableError: the program failed; the message names the task.
    """
    apart: dict[tuple[str, str], Score] = {}
    wanted = dict.fromkeys(
        (tasks[a.task], scored_text(tasks[a.task], a))
        for a in answers
        if a.ok and tasks[a.task].scorer in (OWN, REGEX)
    )
    own = [row for row in wanted if row[0].scorer == OWN]
    if command and own:
        scores = score_with(command, own, _SCORING_S)
        apart = {(t.id, text): s for (t, text), s in zip(own, scores, strict=True)}
    apart |= _searched([row for row in wanted if row[0].scorer == REGEX])

    def score(task: Task, text: str) -> Score:
        if task.scorer in (OWN, REGEX):
            return apart[task.id, text]
        try:
            return SCORERS[task.scorer](text, task.expected)
        except (FormatError, ValueError, RecursionError) as error:
            message = f"scorer `{task.scorer}` failed at task {task.id}: {error}"
            raise FormatError(message) from error

    return score


def _searched(rows: Sequence[tuple[Task, str]]) -> dict[tuple[str, str], Score]:
    """Scores of patterns. A search without end finds nothing: it is what does not match that
    makes a pattern try every way."""
    if not rows:
        return {}
    found = search_all([(task.expected, text) for task, text in rows], _SCORING_S)
    return {
        (task.id, text): score_found(one, task.expected)
        for (task, text), one in zip(rows, found, strict=True)
    }
