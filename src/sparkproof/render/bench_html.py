"""``bench`` as a page: bars with their spread, and how the gaps between tokens are spread."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from sparkproof.core.report import Report
from sparkproof.core.results.bench import BenchResult, CellSummary, Spread
from sparkproof.render.bench_text import render_bench
from sparkproof.render.html import Bar, bar_chart, html_page, step_chart

_FIGURES: tuple[tuple[str, str, float, Callable[[CellSummary], Spread | None]], ...] = (
    ("Time to the first token", "ms", 1000, lambda c: c.ttft_s),
    ("Decode speed of one stream", "t/s", 1, lambda c: c.decode_tokens_per_s),
    ("All streams together", "t/s", 1, lambda c: c.output_tokens_per_s),
    ("Prefill speed, one stream", "t/s", 1, lambda c: c.prefill_tokens_per_s),
)


def bench_page(report: Report[BenchResult]) -> str:
    """The whole page."""
    result = report.result
    if result is None:
        return html_page(report, ())
    return html_page(report, render_bench(result, report.criteria), bench_figures(result))


def bench_figures(result: BenchResult) -> list[str]:
    """The plots, as parts of a page."""
    figures = [
        bar_chart(
            f"{caption}: median of {result.plan.repeats} repeats, lowest to highest",
            unit,
            [
                bar
                for summary in result.cells
                if (bar := _bar(result, summary, figure(summary), scale))
            ],
        )
        for caption, unit, scale, figure in _FIGURES
    ]
    gaps = [
        (label_of(result, index), _gaps(result, index)) for index in range(len(result.plan.cells))
    ]
    figures.append(
        step_chart("Share of chunks that came within so long of the one before", "ms", gaps)
    )
    return figures


def label_of(result: BenchResult, index: int) -> str:
    """``thinking 6000, 8 at once``."""
    cell = result.plan.cells[index]
    return f"{cell.mode} {cell.depth}, {cell.load}"


def _bar(
    result: BenchResult, summary: CellSummary, spread: Spread | None, scale: float
) -> Bar | None:
    if spread is None:
        return None
    modes = sorted({cell.mode for cell in result.plan.cells})
    return Bar(
        label_of(result, summary.cell),
        spread.median * scale,
        spread.low * scale,
        spread.high * scale,
        modes.index(result.plan.cells[summary.cell].mode),
    )


def _gaps(result: BenchResult, index: int) -> list[float]:
    found: list[float] = []
    for run in result.runs:
        if run.cell == index:
            for record in run.requests:
                moments = record.reading.arrivals_us
                found += [(b - a) / 1000 for a, b in pairwise(moments)]
    return found
