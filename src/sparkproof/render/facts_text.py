"""Claims as text: what no longer holds first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkproof.core.claims import ClaimAnswer
from sparkproof.core.results.facts import (
    ClaimAnswered,
    ClaimRow,
    FactList,
    FactMatrix,
    FactPage,
    FactStale,
    FactVerification,
    StaleRow,
)
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, paragraph_of, table
from sparkproof.render.page import page_width

_GAP, _LONGEST_MARK = 2, 3
_MARK = {
    ClaimAnswer.HOLDS: Span("yes", Style.GOOD),
    ClaimAnswer.DOES_NOT_HOLD: Span("no", Style.WARN),
    ClaimAnswer.CANNOT_BE_TOLD: Span("·", Style.DIM),
}


def _paragraph(text: str, indent: str, style: Style = Style.PLAIN) -> Iterator[Line]:
    yield from paragraph_of(text, indent=len(indent), style=style)


def render_fact_list(result: FactList) -> list[Line]:
    """One claim a paragraph, under its id."""
    lines: list[Line] = []
    for claim in result.claims:
        lines.append(line(Span(claim.id, Style.STRONG), Span(f"  {claim.kind}", Style.DIM)))
        lines += _paragraph(claim.statement, "  ")
        lines.append(line(Span("  holds for  ", Style.DIM), releases(claim.holds)))
    return lines


def releases(specifier: str) -> str:
    """A specifier in words where it names no bound."""
    return {"": "every release examined", "never": "no release examined"}.get(specifier, specifier)


def render_fact_page(result: FactPage) -> list[Line]:
    """Statement, where it is from, what every release said."""
    claim = result.claim
    rows = [("kind", claim.kind), ("said of", releases(claim.said))]
    rows += [("holds for", releases(claim.holds)), ("checked", claim.checked)]
    rows += [("source", source) for source in claim.sources]
    rows += [("about", ", ".join(claim.about))] if claim.about else []
    rows.append(("probe", result.probe))
    lines = table((Span(name, Style.DIM), value) for name, value in rows)
    if claim.now:
        lines += [line(), *_paragraph(claim.now, "  ")]
    if any(item.answer is not ClaimAnswer.CANNOT_BE_TOLD for item in result.history):
        lines += [line(), heading("releases")]
        lines += table((item.version, _MARK[item.answer], item.seen) for item in result.history)
    return lines


def render_fact_stale(result: FactStale) -> list[Line]:
    """Contradicted ones, then those that only a person or a box can look at."""
    lines: list[Line] = []
    if result.outdated:
        lines += [line(), heading("published, and not true", f"of vllm {result.release}")]
        lines += [row for item in result.outdated for row in _stale(item)]
    if result.old:
        lines += [line(), heading("to look at again")]
        lines += table((item.claim.id, item.why) for item in result.old)
    return lines


def _stale(item: StaleRow) -> Iterator[Line]:
    yield line("  ", Span(item.claim.id, Style.STRONG))
    yield from _paragraph(item.claim.statement, "    ")
    if item.why:
        yield from _paragraph(f"now: {item.why}", "    ")
    yield from _paragraph(f"seen: {item.seen}", "    ", Style.DIM)


def render_fact_verification(result: FactVerification) -> list[Line]:
    """What was published and is not so; then what holds, and what files can't tell."""
    gone = [row for row in result.answers if _is_outdated(row)]
    rest = [row for row in result.answers if row not in gone]
    lines: list[Line] = []
    if gone:
        lines += [line(), heading("published, and not true of it")]
        lines += [row for item in gone for row in _outdated(item)]
    for answer, title in (
        (ClaimAnswer.HOLDS, "hold"),
        (ClaimAnswer.DOES_NOT_HOLD, "not true, and not said of it"),
        (ClaimAnswer.CANNOT_BE_TOLD, "can't be told from files"),
    ):
        rows = [row for row in rest if row.answer is answer]
        if rows:
            lines += [line(), heading(title)]
            lines += _short(rows, with_seen=answer is not ClaimAnswer.HOLDS)
    return lines


def _is_outdated(row: ClaimAnswered) -> bool:
    return row.claimed and row.answer is ClaimAnswer.DOES_NOT_HOLD


def _outdated(row: ClaimAnswered) -> Iterator[Line]:
    yield line("  ", Span(row.claim.id, Style.STRONG))
    yield from _paragraph(row.claim.statement, "    ")
    places = ", ".join(dict.fromkeys(item.place for item in row.evidence[:2]))
    yield from _paragraph(f"seen: {row.seen}" + (f" ({places})" if places else ""), "    ")
    if row.claim.now:
        yield from _paragraph(f"now: {row.claim.now}", "    ", Style.DIM)
    held = row.claim.holds
    known = "it held in no release examined" if held == "never" else f"it held for {held}"
    yield line("    ", Span(f"{known}; {row.claim.sources[0]}", Style.DIM))


def _short(rows: Iterable[ClaimAnswered], *, with_seen: bool) -> list[Line]:
    if not with_seen:
        return table((row.claim.id, _first(row.claim)) for row in rows)
    return table((row.claim.id, Span(row.seen, Style.DIM)) for row in rows)


def _first(claim: ClaimRow) -> Span:
    return Span(claim.statement, Style.DIM)


def render_fact_matrix(result: FactMatrix) -> list[Line]:
    """Claims down, releases across; a letter a release where the page is no wider than that."""
    named = max((len(row.claim.id) for row in result.rows), default=0)
    across = sum(max(len(item), _LONGEST_MARK) + _GAP for item in result.releases)
    if named + across + _GAP > page_width():
        return _compact_matrix(result)
    head = (Span("claim", Style.STRONG), *(Span(item, Style.DIM) for item in result.releases))
    rows: list[Sequence[Cell]] = [head]
    rows += [(row.claim.id, *(_MARK[item] for item in row.answers)) for row in result.rows]
    return table(rows)


def _compact_matrix(result: FactMatrix) -> list[Line]:
    told = f"y holds, n does not, · can't be told; left to right: {', '.join(result.releases)}"
    marks = [
        tuple(Span(_MARK[item].text[:1], _MARK[item].style) for item in row.answers)
        for row in result.rows
    ]
    rows = [(row.claim.id, cell) for row, cell in zip(result.rows, marks, strict=True)]
    return [*paragraph_of(told, style=Style.DIM), line(), *table(rows)]
