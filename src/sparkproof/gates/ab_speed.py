"""Speed of two arms, from the same requests that their answers come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sparkproof.core.observations.ab_run import AbPass
from sparkproof.core.results.ab import AbResult, SpeedChange, Treatment
from sparkproof.gates.ab_statistics import speed_ratio

_CPU_SHARE = 0.9
_LAG_MS = 5.0
_LAG_SHARE = 0.05
_FIGURES: tuple[tuple[str, Callable[[AbPass], float | None]], ...] = (
    ("decode", lambda p: p.decode_tokens_per_s),
    ("TTFT", lambda p: p.ttft_s),
)


def speed_changes(result: AbResult, arm: int) -> tuple[SpeedChange, ...]:
    """Every cell's decode speed and time to the first token, round against round."""
    return tuple(
        change
        for cell in range(len(result.plan.cells))
        for name, figure in _FIGURES
        if (change := _change(result, (arm, cell), name, figure))
    )


def _change(
    result: AbResult,
    place: tuple[int, int],
    name: str,
    figure: Callable[[AbPass], float | None],
) -> SpeedChange | None:
    arm, cell = place
    mine, theirs = (_by_round(result, who, cell, figure) for who in (0, arm))
    both = sorted({*mine} & {*theirs})
    ratio = speed_ratio([(mine[n], theirs[n]) for n in both])
    if ratio is None:
        return None
    return SpeedChange(
        cell=cell,
        name=name,
        control=tuple(mine[n] for n in both),
        treatment=tuple(theirs[n] for n in both),
        change=ratio,
    )


def _by_round(
    result: AbResult, arm: int, cell: int, figure: Callable[[AbPass], float | None]
) -> dict[int, float]:
    return {
        p.round: value
        for p in result.passes
        if p.arm == arm and p.cell == cell and not p.again and not p.partial
        if (value := figure(p))
    }


def speed_doubts(result: AbResult, arm: int) -> tuple[str, ...]:
    """Why the speeds are no measurement; each reason once."""
    passes = [p for p in result.passes if p.arm in (0, arm) and not p.again]
    return tuple(dict.fromkeys(_doubts(result, passes)))


def _doubts(result: AbResult, passes: list[AbPass]) -> Iterator[str]:
    if not any(not p.partial for p in passes):
        yield "no round was measured whole"
    for p in passes:
        allowed = max(_LAG_MS, _LAG_SHARE * 1000 * (p.ttft_s or 0.0))
        if p.health.cpu_share > _CPU_SHARE or p.health.lag_p95_ms > allowed:
            yield "the client could not keep up"
        window = p.window
        if window is None:
            continue
        if window.restarted:
            yield "an arm was restarted"
        if window.preemptions:
            yield "requests were preempted"
        if window.finished is not None and window.finished > p.asked:
            yield "other traffic ran beside"
    if result.plan.one_url:
        yield "the arms were not interleaved"


def speed_words(result: AbResult, treatment: Treatment) -> str:
    """``faster by 27 % at 1 and by 12 % at 8``; "" where nothing was measured."""
    decode = [
        c for c in treatment.speed if c.name == "decode" and not result.plan.cells[c.cell].warm
    ]
    if not decode:
        return ""
    told: list[str] = []
    for change in decode:
        word = _word(change)
        if told and word.split(" ")[0] == told[-1].split(" ")[0]:
            word = word.partition(" ")[2] if change.beyond else ""
        told.append(f"{word} at {result.plan.cells[change.cell].batch}".strip())
    return " and ".join(told)


def _word(change: SpeedChange) -> str:
    ratio = change.change.ratio
    if not change.beyond:
        return "as fast within the spread"
    return f"{'faster' if ratio > 1 else 'slower'} by {100 * abs(ratio - 1):.0f} %"
