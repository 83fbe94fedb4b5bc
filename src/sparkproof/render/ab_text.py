"""``ab`` as text: how the answers fell out in each cell, the scores by kind, and the speed."""

from __future__ import annotations

from collections.abc import Sequence

from sparkproof.core.ab import DivergenceClass
from sparkproof.core.results.ab import AbPair, AbResult, CellCounts, SpeedChange, Treatment
from sparkproof.core.text import shorten
from sparkproof.core.verdict import Criterion
from sparkproof.gates.ab_findings import replaced
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, table
from sparkproof.render.report_text import render_criteria

_EXAMPLES, _WIDTH, _WIDE = 3, 100, 20
_CLASSES = (
    ("cell", None),
    ("pairs", None),
    ("identical", DivergenceClass.IDENTICAL),
    ("near-tie", DivergenceClass.NEAR_TIE),
    ("corrupted", DivergenceClass.CORRUPTION),
    ("unknown", DivergenceClass.UNKNOWN),
)


def render_ab(result: AbResult, criteria: tuple[Criterion, ...] = ()) -> list[Line]:
    """The body of the answer."""
    plan = result.plan
    lines = []
    for arm in result.arms:
        version = f"vLLM {arm.snapshot.version or '?'}"
        lines.append(heading(arm.name, f"{arm.snapshot.address}  {version}  {arm.model}"))
    asked = f"{plan.prompts} prompts, {plan.rounds} rounds, {plan.task_set}"
    lines += [line(Span(f"  {asked}; records in {result.records}", Style.DIM)), line()]
    lines += render_criteria(criteria)
    if result.noise:
        lines += [line(), heading("noise", "the control against itself")]
        lines += _cells(result, result.noise)
    for treatment in result.treatments:
        lines += _treatment(result, treatment)
    return lines


def _treatment(result: AbResult, treatment: Treatment) -> list[Line]:
    name = result.arms[treatment.arm].name
    lines = [line(), heading(name, treatment.outcome.value)]
    lines += _cells(result, treatment.cells)
    lines += _examples(result, treatment)
    if treatment.accuracy:
        rows: list[Sequence[Cell]] = [_dim("right answers", "control", name, "of")]
        rows += [
            (a.task_kind, str(a.control), _worse(a.treatment, a.control), str(a.scored))
            for a in treatment.accuracy
        ]
        lines += [line(), *table(rows, right=frozenset({1, 2, 3}))]
    if treatment.loss is not None:
        low, high = -100 * treatment.loss.high, -100 * treatment.loss.low
        text = f"accuracy changes by {low:+.1f} to {high:+.1f} points ({treatment.loss.level:.0%})"
        lines.append(line(Span(f"  {text}", Style.DIM)))
    if treatment.speed:
        rows = [_dim("speed", "", "ratio", "interval", "rounds")]
        rows += [_speed(result, change) for change in treatment.speed]
        lines += [line(), *table(rows, right=frozenset({2, 4}))]
    if treatment.reason:
        lines += [line(), line(f"  {treatment.reason}")]
    one, two = (result.arms[n].identities.derived for n in (0, treatment.arm))
    told = [
        (Span(role, Style.DIM), one.get(role, "not told"), two.get(role, "not told"))
        for role in sorted({*one, *two})
        if one.get(role) != two.get(role)
    ]
    if told:
        lines += [line(), *table([_dim("as the servers tell", "control", name), *told])]
    return lines


def _examples(result: AbResult, treatment: Treatment) -> list[Line]:
    """Some of the answers that went wrong, each task once."""
    bad = {
        pair.task: pair
        for pair in reversed(result.pairs)
        if pair.arm == treatment.arm and went_wrong(pair)
    }
    shown = list(reversed(bad.values()))[:_EXAMPLES]
    rows = [
        (Span(pair.task), result.plan.cells[pair.cell].name, shorten(_how(pair), _WIDTH))
        for pair in shown
    ]
    return [line(), *table(rows)] if rows else []


def went_wrong(pair: AbPair) -> bool:
    """A sure token was replaced, or a right answer lost."""
    sure = pair.divergence is not None and pair.divergence.kind is DivergenceClass.CORRUPTION
    return sure or bool(pair.first and pair.second and pair.first.exact and not pair.second.exact)


def _how(pair: AbPair) -> str:
    if pair.first and pair.first.exact and pair.second and pair.second.detail:
        return pair.second.detail
    return replaced(pair)


def _cells(result: AbResult, cells: Sequence[CellCounts]) -> list[Line]:
    rows: list[Sequence[Cell]] = [_dim(*(name for name, _ in _CLASSES), "failed", "lost", "won")]
    for cell in cells:
        kinds = [
            _bad(cell.of(kind), kind is DivergenceClass.CORRUPTION) if cell.classes else "-"
            for _, kind in _CLASSES
            if kind is not None
        ]
        name = result.plan.cells[cell.cell].name
        tail = (_bad(cell.failed, bad=True), str(cell.broke), str(cell.mended))
        rows.append((name, str(cell.pairs), *kinds, *tail))
    return table(rows, right=frozenset(range(1, 9)))


def _speed(result: AbResult, change: SpeedChange) -> tuple[Cell, ...]:
    room = change.change.interval
    spread = spread_words(room.low, room.high) if room else "no spread"
    better = (change.change.ratio > 1) == (change.name == "decode")
    style = Style.PLAIN if not change.beyond else Style.GOOD if better else Style.WARN
    where = result.plan.cells[change.cell].name
    ratio = Span(f"{change.change.ratio:.2f}", style)
    return where, change.name, ratio, spread, str(change.change.rounds)


def spread_words(low: float, high: float) -> str:
    """An interval of a ratio; one whose ends lie twentyfold apart says nothing."""
    return "too wide to say" if high > _WIDE * low else f"{low:.2f} to {high:.2f}"


def _dim(*words: str) -> tuple[Span, ...]:
    return tuple(Span(word, Style.DIM) for word in words)


def _bad(count: int, bad: bool) -> Cell:
    return Span(str(count), Style.BAD) if bad and count else str(count)


def _worse(count: int, control: int) -> Cell:
    return Span(str(count), Style.BAD) if count < control else str(count)
