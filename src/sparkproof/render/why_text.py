"""``why`` as text: each way in which the request was put, and what came back."""

from __future__ import annotations

from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.results.why import WhyResult
from sparkproof.render.lines import Line, Span, Style, heading, line, table

_WAYS = {
    "whole": "in one piece",
    "stream": "as a stream",
    "large": "with a larger budget",
    "quiet": "without thinking",
    "raw": "past template and parsers",
}


def render_why(result: WhyResult) -> list[Line]:
    """The body of the answer."""
    what = "the request given" if result.given else "a plain question"
    version = f"  vLLM {result.version}" if result.version else ""
    lines = [heading("tried", f"{what} at {result.address}{version}")]
    lines += table(_row(exchange, result) for exchange in result.exchanges)
    window = result.window
    if window is not None:
        told = (
            ("running", window.running_seen),
            ("waiting", window.waiting_seen),
            ("tokens made", window.generated_tokens),
            ("preemptions", window.preemptions),
        )
        words = ", ".join(f"{name} {value:.0f}" for name, value in told if value is not None)
        lines += [line(), heading("meanwhile", words)]
    return lines


def _row(exchange: Exchange, result: WhyResult) -> tuple[Span, str, str, Span]:
    kind, _, way = exchange.label.partition("/")
    rule = result.answer_rules.get(exchange.label, "")
    fine = exchange.ok and not rule
    mark = Span("sound", Style.GOOD) if fine else Span("odd", Style.WARN)
    if exchange.failure or exchange.status != 200:
        mark = Span("failed", Style.BAD)
    said = exchange.detail or f"{exchange.status} in {exchange.seconds:.2f} s"
    note = rule or _said(exchange)
    return mark, f"{kind} {_WAYS.get(way, way)}", said, Span(note, Style.DIM)


def _said(exchange: Exchange) -> str:
    if exchange.stream and exchange.stream.first_token_us >= 0:
        return f"first token after {exchange.stream.first_token_us / 1e6:.2f} s"
    return ""
