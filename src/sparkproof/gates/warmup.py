"""Warm-up: which shapes to touch before anybody waits for them, and what each first one cost."""

from __future__ import annotations

from collections.abc import Sequence

from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.results.smoke import FirstCost
from sparkproof.core.server_port import Ask
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.load.ask import chat_ask, raw_ask
from sparkproof.load.prompts import compose

BATCH = 8
_FACTOR = 3.0
_NOTICEABLE_S = 1.0
_LONG_WORDS = 600


def plan_warmup(model: str, max_model_len: int, seed: str) -> tuple[tuple[Ask, ...], ...]:
    """Rounds of requests; those of one round go out together.

    The first is what a boot hook should send: three tokens through the chat template.
    """
    words = min(_LONG_WORDS, max(32, (max_model_len or 2048) // 4))
    rounds: list[tuple[Ask, ...]] = []
    for turn in ("first", "again"):
        rounds += [
            (chat_ask(f"warm/chat/{turn}", model, "Say hello.", 3),),
            (raw_ask(f"warm/raw/{turn}", model, "Count from 3:\n", 3),),
            (raw_ask(f"warm/long/{turn}", model, compose(words, f"{seed}-{turn}"), 3),),
            tuple(
                raw_ask(f"warm/batch/{turn}", model, compose(24, f"{seed}-{turn}-{n}"), 16)
                for n in range(BATCH)
            ),
        ]
    return tuple(rounds)


def first_costs(exchanges: Sequence[Exchange]) -> tuple[FirstCost, ...]:
    """What each shape cost first and again; a round counts as its slowest request."""
    found: dict[str, dict[str, float]] = {}
    for exchange in exchanges:
        kind, _, rest = exchange.label.partition("/")
        shape, _, turn = rest.partition("/")
        if kind == "warm" and turn:
            took = exchange.seconds if exchange.ok else -1.0
            turns = found.setdefault(shape, {})
            turns[turn] = -1.0 if took < 0 else max(turns.get(turn, 0.0), took)
    return tuple(
        FirstCost(shape, turns.get("first", -1.0), turns.get("again", -1.0))
        for shape, turns in found.items()
    )


def judge_warmup(costs: Sequence[FirstCost], said: str = "") -> Criterion:
    """Warm when the second request of every shape came back; what was cold is told.

    Args:
        said: in place of an answer.
    """
    name = "smoke/warm"
    silent = [cost.shape for cost in costs if cost.again_s < 0]
    if silent or not costs:
        reason = f"no answer for {', '.join(silent) or 'any shape'}"
        return Criterion(name, Verdict.FAIL, f"{reason}: {said}" if said else reason)
    cold = [
        cost
        for cost in costs
        if cost.first_s > _NOTICEABLE_S and cost.first_s > _FACTOR * cost.again_s
    ]
    if not cold:
        return Criterion(
            name, Verdict.PASS, "no first request was far slower than the next like it"
        )
    worst = max(cold, key=lambda cost: cost.first_s)
    reason = f"{worst.shape} cost {worst.first_s:.1f} s first, {worst.again_s:.2f} s again"
    return Criterion(name, Verdict.PASS, reason)
