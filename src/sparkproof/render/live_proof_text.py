"""A live proof as text: its parts, what was exercised, predicted beside seen; detail after."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sparkproof.core.results.live_proof import LiveProof, Match, Part
from sparkproof.core.results.proof import ProofResult
from sparkproof.render.ab_text import render_ab
from sparkproof.render.bench_text import render_bench
from sparkproof.render.lines import Line, Span, Style, heading, line, table
from sparkproof.render.proof_text import render_proof
from sparkproof.render.report_text import VERDICT_STYLE
from sparkproof.render.smoke_text import render_smoke
from sparkproof.render.soak_text import render_soak

_WORD = {True: Span("agrees", Style.GOOD), False: Span("differs", Style.BAD)}


def render_live_proof(result: ProofResult, *, verbose: bool = False) -> list[Line]:
    """The body of the answer; with `verbose` every part as its own command shows it.

    Where the server told nothing, the proof is shown whole.
    """
    live = result.live
    if live is None:
        return render_proof(result, verbose=verbose)
    lines = [heading("parts", _asked(live)), *table(map(_part_row, live.parts))]
    lines += _listed("exercised", live.exercised)
    lines += _listed("not exercised", live.not_exercised)
    if live.matches:
        lines += [line(), heading("does reality match the proof"), *matches_table(live.matches)]
    if verbose or live.smoke is None:
        links = msgspec.structs.replace(result, boot_log=None)  # its rows stand above
        lines += [line(), *render_proof(links, verbose=verbose)]
    if live.smoke and live.smoke.result and verbose:
        lines += [line(), *render_smoke(live.smoke.result, live.smoke.criteria)]
    if live.soak and live.soak.result:
        lines += [line(), *render_soak(live.soak.result, live.soak.criteria)]
    if live.ab and live.ab.result:
        lines += [line(), *render_ab(live.ab.result, live.ab.criteria)]
    if live.bench and live.bench.result:
        lines += [line(), *render_bench(live.bench.result, live.bench.criteria)]
    return lines


def matches_table(matches: tuple[Match, ...]) -> list[Line]:
    """Predicted, seen, and whether they agree; why they don't is in the findings."""
    return table(
        (
            match_word(row),
            row.name,
            row.predicted,
            row.seen,
            Span(row.seen_in or row.likely, Style.DIM),
        )
        for row in matches
    )


def match_word(row: Match) -> Span:
    """``agrees``, ``differs``, ``off`` for an estimate that is, ``not seen``, ``open``."""
    if row.agrees is None:
        return Span("open" if row.seen else "not seen", Style.DIM)
    if row.agrees is False and not row.exact:
        return Span("off", Style.WARN)
    return _WORD[row.agrees]


def _asked(live: LiveProof) -> str:
    return f"{live.server}{', a quick run' if live.quick else ''}"


def _part_row(part: Part) -> tuple[str | Span, ...]:
    took = f"{part.took_s:.0f} s" if part.took_s >= 1 else ""
    word = Span(part.verdict.value, VERDICT_STYLE[part.verdict])
    return (word, part.name.value, part.summary, Span(took, Style.DIM))


def _listed(title: str, rows: tuple[str, ...]) -> Iterator[Line]:
    if rows:
        yield line()
        yield heading(title)
        for row in rows:
            yield line(f"  {row}")
