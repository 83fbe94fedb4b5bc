"""What ``ab`` asks: how many prompts, in which cells, in which order, and as what requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from sparkproof.core.ab import Task
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.ab_run import AbCell, AbPlan
from sparkproof.core.results.ab import AbArm
from sparkproof.core.server_port import Ask
from sparkproof.gates.ab_arms import DIFFERENCES
from sparkproof.gates.ab_statistics import ALPHA, detectable_rate, prompts_needed
from sparkproof.gates.ab_tasks import request_body
from sparkproof.load.ask import CHAT, RAW, body_ask

TOP_TOKENS = 5
MIN_NOISE_PROMPTS = 20
BY_SCORES = 1e-6
"""The noise that is assumed where scores alone decide, so that the sign test is planned for."""
_NOISE_SHARE = 0.25
_MAX_BATCH = 1024
_TEMPLATE_TOKENS = 64
_ROOM = 1.25


def make_cells(batches: Sequence[int], *, cold: bool = True, warm: bool = True) -> list[AbCell]:
    """Every batch size, cold and then warm.

    Raises:
        UsageError: a batch of nothing, or neither cold nor warm.
    """
    sizes = sorted(set(batches))
    if not sizes or sizes[0] < 1 or sizes[-1] > _MAX_BATCH:
        raise UsageError(
            f"a concurrency lies between 1 and {_MAX_BATCH}",
            hint="e.g. --concurrency 1 --concurrency 8",
        )
    if not cold:
        raise UsageError("a warm prompt has to be asked cold first", hint="leave out --warm-only")
    kinds = (False, True) if warm else (False,)
    return [AbCell(batch, state) for batch in sizes for state in kinds]


def alpha_of(cells: int, treatments: int) -> float:
    """The false-alarm rate of one cell's test, so that all of them together keep `ALPHA`."""
    return ALPHA / max(1, cells * treatments)


def refuse_differences(differ: Sequence[str]) -> None:
    """Raise where something is meant to differ that nobody knows.

    Raises:
        UsageError: with what there is.
    """
    if unknown := [item for item in differ if item not in DIFFERENCES]:
        raise UsageError(
            f"`{unknown[0]}` can't be expected to differ", hint=f"one of {', '.join(DIFFERENCES)}"
        )


def wanted_prompts(detect: float, power: float, alpha: float, differ: Sequence[str]) -> int:
    """How many prompts see a corruption of `detect` with `power`.

    Raises:
        UsageError: shares that are none, or too many prompts.
    """
    if not 0 < detect < 1 or not 0 < power < 1:
        raise UsageError("--detect and --power lie between 0 and 1", hint="e.g. 1% and 0.9")
    found = prompts_needed(detect, power, alpha, BY_SCORES if differ else 0.0)
    if found is None:
        raise UsageError(
            f"no number of prompts worth asking sees {percent(detect)}",
            hint="ask for a larger --detect or a smaller --power",
        )
    return found


def plan_words(plan: AbPlan) -> str:
    """``detects 1 % corruption with 90 % power at 230 prompts``."""
    alpha = alpha_of(len(plan.cells), len(plan.arms) - 1)
    rate = detectable_rate(plan.prompts, plan.power, alpha, BY_SCORES if plan.differ else 0.0)
    if rate is None:
        return f"{plan.prompts} prompts are too few to detect anything by their scores"
    share = percent(max(plan.detect, rate))
    return f"detects {share} corruption with {percent(plan.power)} power at {plan.prompts} prompts"


def percent(share: float) -> str:
    """``1 %``, ``0.43 %``."""
    text = f"{100 * share:.3g}"  # three figures of a small share, no more of any
    if share >= 0.1:
        text = f"{100 * share:.0f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def noise_prompts(prompts: int) -> int:
    """How many of them the control is asked twice."""
    return min(prompts, max(MIN_NOISE_PROMPTS, round(_NOISE_SHARE * prompts)))


def order_of(plan: AbPlan) -> Iterator[tuple[int, int, int]]:
    """(round, batch, arm): in each round all arms in turns, the first one changing (A B, B A)."""
    batches = sorted({cell.batch for cell in plan.cells})
    arms = list(range(len(plan.arms)))
    for number in range(plan.rounds):
        turned = arms if number % 2 == 0 else arms[::-1]
        for batch in batches:
            for arm in turned:
                yield number, batch, arm


def prompt_text(task: Task) -> str:
    """All that a task puts into the prompt."""
    return task.prompt + "".join(message.content for message in task.messages) + task.tools


def fitting(control: AbArm, tokens_per_character: float) -> Callable[[Task], bool]:
    """Whether a task and its answer fit into the served length, with room for estimates."""
    limit = next((m.max_model_len for m in control.snapshot.models if m.name == control.model), 0)

    def fits(task: Task) -> bool:
        prompt = _TEMPLATE_TOKENS + _ROOM * tokens_per_character * len(prompt_text(task))
        return not limit or prompt + task.max_tokens <= limit

    return fits


def ab_ask(task: Task, model: str, salt: str, timeout_s: float) -> Ask:
    """The request of one task: greedy, streamed, with token ids and log-probabilities."""
    body: dict[str, Any] = {
        "model": model,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
        "cache_salt": salt,
        **request_body(task),
    }
    if task.messages:
        body |= {
            "logprobs": True,
            "top_logprobs": TOP_TOKENS,
            "chat_template_kwargs": {"enable_thinking": False},
        }
    else:
        body["logprobs"] = TOP_TOKENS
    ask = body_ask(f"ab/{task.id}", CHAT if task.messages else RAW, body, timeout_s=timeout_s)
    return msgspec.structs.replace(ask, silence_s=timeout_s)
