"""Reports as one HTML file: no script, no network, readable in the dark, plots as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from sparkproof.core.report import Report
from sparkproof.core.text import visible
from sparkproof.render.lines import Line, Style, folded
from sparkproof.render.report_text import render_frame

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CSS = """
:root{color-scheme:light dark;--ink:#1c2024;--dim:#667079;--page:#fff;--line:#d8dde2;
--good:#1a7f37;--warn:#9a6700;--bad:#c62828;--a:#2563a8;--b:#b4552d;--c:#3d7d4f;--d:#7b4fa3}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7ea;--dim:#98a2ab;--page:#15181b;--line:#343a40;
--good:#57c271;--warn:#d9a53f;--bad:#f0746c;--a:#6aa5e4;--b:#e08d66;--c:#74bd88;--d:#b48fdb}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);
max-width:70rem;margin:2rem auto;padding:0 1rem}
pre{overflow-x:auto;font:13px/1.5 ui-monospace,monospace;white-space:pre}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
.strong{font-weight:600}.dim{color:var(--dim)}.good{color:var(--good);font-weight:600}
.warn{color:var(--warn);font-weight:600}.bad{color:var(--bad);font-weight:600}
figure{margin:1.5rem 0}figcaption{color:var(--dim);font-size:.9rem}
svg{max-width:100%;height:auto}svg text{fill:var(--ink);font:12px system-ui,sans-serif}
svg .axis{stroke:var(--line)}svg .dimtext{fill:var(--dim)}
"""
_COLOURS = ("var(--a)", "var(--b)", "var(--c)", "var(--d)")
_WIDTH, _LEFT, _BAR, _GAP = 720, 210, 18, 10


class Bar(NamedTuple):
    """One bar: its value, and the spread around it where there is one."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    series: int = 0


def html_page(report: Report[Any], body: Iterable[Line], figures: Sequence[str] = ()) -> str:
    """A report's page: what the terminal says, then the plots."""
    text = lines_html(render_frame(report, body, verbose=True))
    return html_document(
        f"{report.command}: {report.summary}",
        (
            f"<h1>sparkproof {safe(report.command)}</h1>",
            f'<p class="dim">{safe(made_by(report))}</p>',
            *figures,
            f"<pre>{text}</pre>",
        ),
    )


def html_document(title: str, parts: Iterable[str], *, css: str = "") -> str:
    """A whole file around parts that are HTML already.

    Args:
        css: rules on top of those of every page.
    """
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{safe(title)}</title><style>{_CSS}{css}</style></head><body>",
            *parts,
            "</body></html>\n",
        )
    )


def made_by(report: Report[Any]) -> str:
    """When, and by which version."""
    return f"{report.generated_at}, sparkproof {report.tool_version}"


def lines_html(lines: Iterable[Line]) -> str:
    """Styled lines as the inside of a ``<pre>``."""
    rows = []
    for item in folded(lines):
        spans = (
            safe(span.text)
            if span.style is Style.PLAIN
            else f'<span class="{span.style.value}">{safe(span.text)}</span>'
            for span in item
        )
        rows.append("".join(spans))
    return "\n".join(rows)


def bar_chart(caption: str, unit: str, bars: Sequence[Bar]) -> str:
    """Horizontal bars from zero, each with its spread as a thin line; "" for no bars."""
    if not bars:
        return ""
    top = max(max(bar.value, bar.high or 0.0) for bar in bars) or 1.0
    scale = (_WIDTH - _LEFT - 110) / top
    height = len(bars) * (_BAR + _GAP) + _GAP
    parts = [
        (
            f'<figure><svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
            f'role="img" aria-label="{safe(caption)}">'
        ),
        f'<line class="axis" x1="{_LEFT}" x2="{_LEFT}" y1="0" y2="{height}"/>',
    ]
    for place, bar in enumerate(bars):
        y = _GAP + place * (_BAR + _GAP)
        colour = _COLOURS[bar.series % len(_COLOURS)]
        end = _LEFT + bar.value * scale
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{safe(bar.label)}</text>',
            (
                f'<rect x="{_LEFT}" y="{y}" width="{max(1.0, bar.value * scale):.1f}" '
                f'height="{_BAR}" rx="2" fill="{colour}" fill-opacity="0.75"/>'
            ),
        ]
        if bar.low is not None and bar.high is not None:
            low, high, middle = _LEFT + bar.low * scale, _LEFT + bar.high * scale, y + _BAR / 2
            parts.append(
                f'<path d="M{low:.1f} {middle - 5}v10M{low:.1f} {middle}H{high:.1f}'
                f'M{high:.1f} {middle - 5}v10" stroke="var(--ink)" fill="none"/>'
            )
            end = max(end, high)
        value = f"{_number(bar.value)} {safe(unit)}"
        parts.append(f'<text class="dimtext" x="{end + 6:.1f}" y="{y + 13}">{value}</text>')
    parts.append(f"</svg><figcaption>{safe(caption)}</figcaption></figure>")
    return "".join(parts)


def step_chart(caption: str, unit: str, series: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Share of values up to each value (an empirical distribution), one line a series."""
    drawn = [(name, sorted(values)) for name, values in series if len(values) > 1]
    if not drawn:
        return ""
    top = max(values[-1] for _, values in drawn) or 1.0
    height, left, bottom = 240, 50, 205
    width = _WIDTH - left - 10
    parts = [
        (
            f'<figure><svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
            f'role="img" aria-label="{safe(caption)}">'
        ),
        f'<path class="axis" d="M{left} 5V{bottom}H{_WIDTH - 10}" fill="none"/>',
        f'<text class="dimtext" x="{left - 6}" y="14" text-anchor="end">100 %</text>',
        f'<text class="dimtext" x="{left - 6}" y="{bottom}" text-anchor="end">0</text>',
        (
            f'<text class="dimtext" x="{_WIDTH - 10}" y="{bottom + 16}" text-anchor="end">'
            f"{_number(top)} {safe(unit)}</text>"
        ),
    ]
    for place, (name, values) in enumerate(drawn):
        colour = _COLOURS[place % len(_COLOURS)]
        points = _thinned(values)
        steps = " ".join(
            f"{left + value / top * width:.1f},{bottom - share * (bottom - 5):.1f}"
            for value, share in points
        )
        parts += [
            f'<polyline points="{steps}" fill="none" stroke="{colour}" stroke-width="1.6"/>',
            (
                f'<text x="{left + 10 + 170 * (place % 4)}" y="{height - 4}" style="fill:{colour}">'
                f"{safe(name)}</text>"
            ),
        ]
    parts.append(f"</svg><figcaption>{safe(caption)}</figcaption></figure>")
    return "".join(parts)


def _thinned(values: Sequence[float], limit: int = 300) -> list[tuple[float, float]]:
    last = len(values) - 1
    step = max(1, last // limit)
    places = [*range(0, last, step), last]
    return [(values[place], place / last) for place in places]


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def safe(text: str) -> str:
    """The text with nothing in it that a browser or a reader could take for something else."""
    return escape(visible(text))
