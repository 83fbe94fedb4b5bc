"""The difference of two releases as text, worst first."""

from __future__ import annotations

from itertools import groupby

from sparkproof.core.results.release import Bite, Change, ReleaseDiff
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, table

_STYLE = {
    Bite.PICK: Style.BAD,
    Bite.GONE: Style.WARN,
    Bite.DEFAULT: Style.WARN,
    Bite.RULE: Style.WARN,
}
_BRIEF = (Bite.NEW, Bite.WORDING)
_WIDTH = 90


def render_diff(result: ReleaseDiff, *, verbose: bool = False) -> list[Line]:
    """Changes by how they bite; novelties and wording are counted unless asked for."""
    lines: list[Line] = []
    for bite, group in groupby(result.changes, key=lambda item: item.bite):
        changes = list(group)
        lines += [line(), heading(bite.value, f"{len(changes):,}")]
        if bite in _BRIEF and not verbose:
            lines += _counted(changes)
        else:
            lines += table(_row(item, bite) for item in changes)
    return lines[1:]


def _counted(changes: list[Change]) -> list[Line]:
    by_section = [
        (section, f"{len(list(items)):,}")
        for section, items in groupby(changes, key=lambda item: item.section)
    ]
    return table(by_section, right=frozenset({1}))


def _row(item: Change, bite: Bite) -> tuple[Cell, ...]:
    mark = Span("yours" if item.used else "", Style.STRONG)
    style = _STYLE.get(bite, Style.PLAIN)
    return (mark, Span(item.subject, style), _said(item), Span(_place(item), Style.DIM))


def _said(item: Change) -> str:
    before, after = _cut(item.before), _cut(item.after)
    if not item.after:
        return "gone" if before == "there" else f"no longer {before}"
    if not item.before:
        return after if after == "new" else f"now {after}"
    return f"{before} -> {after}"


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _place(item: Change) -> str:
    return item.evidence[-1].place if item.evidence else ""
