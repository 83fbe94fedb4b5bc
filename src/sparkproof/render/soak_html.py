"""``soak`` as a page: the report, and what the server went through over time."""

from __future__ import annotations

from collections.abc import Callable

from sparkproof.core.report import Report
from sparkproof.core.results.soak import SoakResult, TimeBin
from sparkproof.render.html import Bar, bar_chart, html_page
from sparkproof.render.soak_text import render_soak

_MOST = 40
_FIGURES: tuple[tuple[str, str, Callable[[TimeBin], float]], ...] = (
    ("KV pool in use, highest seen", "%", lambda b: max(0.0, b.kv_usage) * 100),
    ("Preemptions", "", lambda b: b.preemptions),
    ("Waiting requests, most seen", "", lambda b: max(0.0, b.waiting)),
    ("Requests that failed", "", lambda b: float(b.failed)),
    ("Mean time of a request", "s", lambda b: b.busy_s / b.requests if b.requests else 0.0),
)


def soak_page(report: Report[SoakResult]) -> str:
    """The whole page."""
    result = report.result
    if result is None:
        return html_page(report, ())
    return html_page(report, render_soak(result, report.criteria), soak_figures(result))


def soak_figures(result: SoakResult) -> list[str]:
    """The plots, as parts of a page."""
    bins = _joined(result.timeline)
    return [
        bar_chart(caption, unit, [Bar(f"{b.start_s:.0f} s", value(b)) for b in bins])
        for caption, unit, value in _FIGURES
        if any(value(b) for b in bins)
    ]


def _joined(bins: tuple[TimeBin, ...]) -> list[TimeBin]:
    """At most so many rows: neighbours together."""
    each = -(-len(bins) // _MOST) or 1
    return [_together(bins[start : start + each]) for start in range(0, len(bins), each)]


def _together(bins: tuple[TimeBin, ...]) -> TimeBin:
    return TimeBin(
        start_s=bins[0].start_s,
        requests=sum(b.requests for b in bins),
        failed=sum(b.failed for b in bins),
        busy_s=sum(b.busy_s for b in bins),
        preemptions=sum(b.preemptions for b in bins),
        kv_usage=max(b.kv_usage for b in bins),
        running=max(b.running for b in bins),
        waiting=max(b.waiting for b in bins),
        rss_bytes=max(b.rss_bytes for b in bins),
    )
