"""A stored report as text, a page or a table, whatever command it is of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sparkproof.core.report import Report
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.results.receipts import ReceiptJudgement
from sparkproof.render.ab_html import ab_page
from sparkproof.render.ab_text import render_ab
from sparkproof.render.bench_csv import bench_table
from sparkproof.render.bench_html import bench_page
from sparkproof.render.bench_text import render_bench
from sparkproof.render.html import html_page
from sparkproof.render.lines import Cell, Line, Span, Style, line, table
from sparkproof.render.live_proof_html import proof_page
from sparkproof.render.report_text import VERDICT_STYLE, render_criteria
from sparkproof.render.smoke_text import render_smoke
from sparkproof.render.soak_html import soak_page
from sparkproof.render.soak_text import render_soak

_BODIES: dict[str, Callable[..., list[Line]]] = {
    "smoke": render_smoke,
    "soak": render_soak,
    "ab": render_ab,
    "bench": render_bench,
}
_PAGES: dict[str, Callable[[Report[Any]], str]] = {
    "soak": soak_page,
    "ab": ab_page,
    "bench": bench_page,
    "prove": proof_page,
}


def render_export(report: Report[Any], kind: str) -> str:
    """The file's text.

    Args:
        kind: ``html``, or ``csv`` for a benchmark.
    """
    if kind == "csv":
        assert isinstance(report.result, BenchResult)
        return bench_table(report.result)
    page = _PAGES.get(report.command)
    if page is not None:
        return page(report)
    body = _BODIES.get(report.command)
    if body is None or report.result is None:
        return html_page(report, render_criteria(report.criteria))
    return html_page(report, body(report.result, report.criteria))


def render_judgement(result: ReceiptJudgement, judged: Report[Any]) -> list[Line]:
    """What it was sealed as and what comes out otherwise, then the gate's own answer."""
    sealed = Span(result.sealed.value, VERDICT_STYLE[result.sealed])
    rows: list[Sequence[Cell]] = [
        (Span("sealed as", Style.DIM), (sealed, Span(f", {result.sealed_summary}"))),
        (Span("by", Style.DIM), f"sparkproof {result.tool_version}, {result.created_at}"),
        *((Span("otherwise", Style.DIM), text) for text in result.changed),
    ]
    return [*table(rows), line(), *_BODIES[result.command](judged.result, judged.criteria)]
