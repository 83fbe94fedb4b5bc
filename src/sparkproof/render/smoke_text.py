"""``smoke`` as text: each question with its answer, then what the first requests cost."""

from __future__ import annotations

from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.verdict import Criterion
from sparkproof.render.lines import Line, Span, Style, heading, line, table
from sparkproof.render.report_text import render_criteria


def render_smoke(result: SmokeResult, criteria: tuple[Criterion, ...] = ()) -> list[Line]:
    """The body of the answer."""
    snapshot = result.snapshot
    version = f"vLLM {snapshot.version}" if snapshot.version else "version unknown"
    lines = [heading("server", f"{snapshot.address}  {version}  {result.model}")]
    lines += render_criteria(criteria)
    if result.costs:
        lines += [line(), heading("first requests", "what each cost, and the next one like it")]
        lines += table(
            ((cost.shape, _seconds(cost.first_s), _seconds(cost.again_s)) for cost in result.costs),
            right=frozenset({1, 2}),
        )
    if result.fingerprint and not result.change:
        count = sum(len(trace.ids) for trace in result.fingerprint.traces)
        text = f"fingerprint of {count} tokens kept: `--trusted RECEIPT` compares with it"
        lines += [line(), line(Span(text, Style.DIM))]
    return lines


def _seconds(value: float) -> Span:
    return Span("no answer", Style.BAD) if value < 0 else Span(f"{value:.3f} s")
