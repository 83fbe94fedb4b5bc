"""``compare`` as text: what was chosen, what came with it, and figure by figure."""

from __future__ import annotations

from sparkproof.core.identities import CHOSEN
from sparkproof.core.results.compare import Comparison, Difference, FigureChange, Pair, Relation
from sparkproof.render.bench_text import spread_words
from sparkproof.render.lines import Line, Span, Style, heading, line, table

_LONGEST = 60


def render_compare(result: Comparison) -> list[Line]:
    """The body of the answer."""
    lines = [heading("results")]
    lines += table(
        (m.receipt, m.created_at, "loaded" if m.loaded else "idle", _stated(m.identities.chosen))
        for m in result.measured
    )
    for pair in result.pairs:
        lines += [line(), *_pair(pair)]
    return lines


def _stated(chosen: dict[str, str]) -> str:
    words = [f"{role} {chosen[role]}" for role in CHOSEN if chosen.get(role)]
    return _short(", ".join(words), 3 * _LONGEST)


def _pair(pair: Pair) -> list[Line]:
    lines = [heading(f"{pair.first} to {pair.second}", pair.reason)]
    lines += _differences("chosen", pair.chosen)
    how = "how" if pair.relation is Relation.BECAUSE else "came with it"
    lines += _differences(how, pair.derived)
    lines += table((_change(change) for change in pair.changes), right=frozenset({4}))
    return lines


def _differences(word: str, found: tuple[Difference, ...]) -> list[Line]:
    return table(
        (
            Span(word, Style.DIM),
            item.role,
            _short(item.first or "not stated"),
            "to",
            _short(item.second or "not stated"),
        )
        for item in found
    )


def _change(change: FigureChange) -> tuple[str | Span, ...]:
    style = {True: Style.GOOD, False: Style.BAD, None: Style.DIM}[change.better]
    word = "apart" if change.beyond else "within the spread"
    digits = 3 if change.unit == "s" else 1
    return (
        change.where,
        f"{change.name} {change.unit}".strip(),
        spread_words(change.first, 1, digits),
        spread_words(change.second, 1, digits),
        f"{change.ratio:.2f}x",
        Span(word, style),
    )


def _short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
