"""``bench`` as text: one row a cell, medians with their spread, then how far to trust them."""

from __future__ import annotations

from sparkproof.core.results.bench import BenchResult, CellSummary, Spread
from sparkproof.core.verdict import Criterion
from sparkproof.render.lines import Line, Span, Style, heading, line, table
from sparkproof.render.report_text import render_criteria

_HEAD = (
    "mode",
    "depth",
    "load",
    "TTFT ms",
    "decode t/s",
    "all t/s",
    "ITL p50 ms",
    "p99",
)
_LEAST_MS = 0.05
"""Tokens nearer to each other than this came in one piece."""
_WHOLE = 100
"""From here on a speed needs no decimals."""


def render_bench(result: BenchResult, criteria: tuple[Criterion, ...] = ()) -> list[Line]:
    """The body of the answer."""
    snapshot = result.snapshot
    repeats = f"{result.plan.repeats} repeats, median (lowest-highest)"
    state = Span("  loaded", Style.WARN) if result.loaded else Span("")
    title = f"{snapshot.address}  vLLM {snapshot.version or '?'}  {result.model}  {repeats}"
    lines = [(*heading("bench", title), state)]
    rows: list[tuple[str | Span, ...]] = [tuple(Span(word, Style.DIM) for word in _HEAD)]
    rows += [_row(result, summary) for summary in result.cells if summary.repeats]
    lines += table(rows, right=frozenset({1, 2, 6, 7}))
    for summary in result.cells:
        lines += _notes(result, summary)
    lines += [line(), heading("measured how", ""), *render_criteria(criteria)]
    return lines


def _row(result: BenchResult, summary: CellSummary) -> tuple[str | Span, ...]:
    cell = result.plan.cells[summary.cell]
    median, tail = summary.itl_p50_ms, summary.itl_p99_ms
    return (
        cell.mode,
        f"{summary.depth:.0f}" if summary.depth is not None else "?",
        cell.load,
        spread_words(summary.ttft_s, 1000, 0),
        _speed(summary.decode_tokens_per_s),
        _speed(summary.output_tokens_per_s),
        "n/a" if median is None or _bunched(summary) else f"{median.median:.1f}",
        "n/a" if tail is None else f"{tail.median:.1f}",
    )


def _speed(spread: Spread | None) -> str:
    return spread_words(spread, 1, int(spread is not None and spread.median < _WHOLE))


def _bunched(summary: CellSummary) -> bool:
    """Most tokens came together with others, so that there is no time between two of them."""
    return summary.itl_p50_ms is not None and summary.itl_p50_ms.median < _LEAST_MS


def spread_words(spread: Spread | None, scale: float, digits: int) -> str:
    """``955 (940-970)``; a dash where there is none."""
    if spread is None:
        return "-"
    low, high = f"{spread.low * scale:.{digits}f}", f"{spread.high * scale:.{digits}f}"
    return f"{spread.median * scale:.{digits}f} ({low}-{high})"


def _notes(result: BenchResult, summary: CellSummary) -> list[Line]:
    cell = result.plan.cells[summary.cell]
    notes = []
    if summary.prefill_tokens_per_s is not None:
        notes.append(f"prefill {spread_words(summary.prefill_tokens_per_s, 1, 0)} t/s")
    if summary.itl_p50_ms is None and summary.repeats:
        notes.append("no time between tokens: the server gives no running count of them")
    elif _bunched(summary):
        notes.append("no time between tokens: most of them arrive several in one piece")
    if summary.reasoning_s and summary.content_s:
        notes.append(
            f"first thinking after {summary.reasoning_s.median * 1000:.0f} ms, "
            f"first answer after {summary.content_s.median * 1000:.0f} ms"
        )
    if summary.acceptance_rate is not None and summary.acceptance_length is not None:
        at = ", ".join(f"{share:.2f}" for share in summary.acceptance_at)
        notes.append(
            f"{summary.acceptance_rate:.0%} of drafted tokens accepted ({at}), "
            f"{summary.acceptance_length:.2f} tokens a step with the bonus"
        )
    if summary.server_ttft_s is not None:
        queued = summary.queue_s or 0.0
        notes.append(
            f"the server's own TTFT {summary.server_ttft_s * 1000:.0f} ms, "
            f"{queued * 1000:.0f} ms of it in the queue"
        )
    where = f"{cell.mode}, {cell.depth} deep, {cell.load}: "
    return [line(Span(f"  {where}{note}", Style.DIM)) for note in notes]
