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
    "prefill t/s",
    "decode t/s",
    "all t/s",
    "ITL ms p50 p99",
)


def render_bench(result: BenchResult, criteria: tuple[Criterion, ...] = ()) -> list[Line]:
    """The body of the answer."""
    snapshot = result.snapshot
    repeats = f"{result.plan.repeats} repeats, median (lowest to highest)"
    state = Span("  loaded", Style.WARN) if result.loaded else Span("")
    title = f"{snapshot.address}  vLLM {snapshot.version or '?'}  {result.model}  {repeats}"
    lines = [(*heading("bench", title), state)]
    rows: list[tuple[str | Span, ...]] = [tuple(Span(word, Style.DIM) for word in _HEAD)]
    rows += [_row(result, summary) for summary in result.cells if summary.repeats]
    lines += table(rows, right=frozenset({1, 2}))
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
        spread_words(summary.prefill_tokens_per_s, 1, 0),
        spread_words(summary.decode_tokens_per_s, 1, 1),
        spread_words(summary.output_tokens_per_s, 1, 1),
        f"{median.median:.1f} {tail.median:.1f}" if median and tail else "not counted",
    )


def spread_words(spread: Spread | None, scale: float, digits: int) -> str:
    """``955 (940-970)``; a dash where there is none."""
    if spread is None:
        return "-"
    low, high = f"{spread.low * scale:.{digits}f}", f"{spread.high * scale:.{digits}f}"
    return f"{spread.median * scale:.{digits}f} ({low}-{high})"


def _notes(result: BenchResult, summary: CellSummary) -> list[Line]:
    cell = result.plan.cells[summary.cell]
    notes = []
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
