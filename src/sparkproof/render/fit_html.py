"""``fit`` as a page: the budget in time as stacked bars, then what the terminal says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkproof.core.memory_plan import MemoryPlan, Phase
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult
from sparkproof.render.fit_text import render_fit
from sparkproof.render.html import html_page, safe

_GIB = 1 << 30
_WIDTH, _LEFT, _RIGHT, _BAR, _GAP, _SWATCH = 860, 170, 110, 22, 10, 145
_PALETTE = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#8c6d31",
    "#999999",
    "#e7969c",
    "#5254a3",
)


def fit_page(report: Report[FitResult]) -> str:
    """The whole page; without bars where the weights, and so the budget, are not known."""
    result = report.result
    if result is None:
        return html_page(report, ())
    figures = (phase_chart(result.memory),) if result.memory is not None else ()
    return html_page(report, render_fit(result), figures)


def phase_chart(memory: MemoryPlan) -> str:
    """A stacked bar a phase, from nothing to the most that any phase needs; a line at the total."""
    used = [sum(max(size, 0) for size in phase.uses.values()) for phase in memory.phases]
    top = max(memory.total_bytes, *used)
    scale = (_WIDTH - _LEFT - _RIGHT) / top
    names = list(dict.fromkeys(name for phase in memory.phases for name in phase.uses))
    colours = {name: _PALETTE[place % len(_PALETTE)] for place, name in enumerate(names)}
    bottom = len(memory.phases) * (_BAR + _GAP) + _GAP
    height = bottom + 20 * (-(-len(names) // _legend_columns())) + 8
    caption = (
        f"Memory in time, of {memory.total_bytes / _GIB:.2f} GiB; the line is all there is."
        f" Tightest: {memory.tightest.title}."
    )
    edge = _LEFT + memory.total_bytes * scale
    figure = (
        f'<figure><svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{safe(caption)}">'
    )
    return "".join(
        (
            figure,
            *(
                part
                for place, phase in enumerate(memory.phases)
                for part in _phase(phase, _GAP + place * (_BAR + _GAP), scale, colours)
            ),
            f'<path d="M{edge:.1f} 0V{bottom}" stroke="var(--bad)" stroke-dasharray="4 3"/>',
            *_legend(names, colours, bottom + 6),
            f"</svg><figcaption>{safe(caption)}</figcaption></figure>",
        )
    )


def _phase(phase: Phase, y: int, scale: float, colours: Mapping[str, str]) -> Sequence[str]:
    parts = [f'<text x="{_LEFT - 8}" y="{y + 15}" text-anchor="end">{safe(phase.title)}</text>']
    x = float(_LEFT)
    for name, size in phase.uses.items():
        width = max(size, 0) * scale
        told = f"{phase.title}: {name} {size / _GIB:.2f} GiB"
        parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" '
            f'fill="{colours[name]}"><title>{safe(told)}</title></rect>'
        )
        x += width
    free = f"{phase.free_bytes / _GIB:.2f} GiB free"
    style = ' style="fill:var(--bad)"' if phase.free_bytes < 0 else ' class="dimtext"'
    parts.append(f'<text{style} x="{_WIDTH}" y="{y + 15}" text-anchor="end">{free}</text>')
    return parts


def _legend_columns() -> int:
    return _WIDTH // _SWATCH


def _legend(names: Sequence[str], colours: Mapping[str, str], top: int) -> Sequence[str]:
    parts = []
    for place, name in enumerate(names):
        row, column = divmod(place, _legend_columns())
        x, y = column * _SWATCH, top + 20 * row
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colours[name]}"/>')
        parts.append(f'<text x="{x + 18}" y="{y + 11}">{safe(name)}</text>')
    return parts
