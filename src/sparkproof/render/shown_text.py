"""What a server showed before, as text."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.results.proof import Shown
from sparkproof.render.lines import Line, Span, Style, heading, line, table
from sparkproof.render.report_text import VERDICT_STYLE


def render_shown(found: tuple[Shown, ...] | None) -> Iterator[Line]:
    """One row a gate; that nothing was shown is said, too."""
    if found is None:
        return
    yield line()
    yield heading("shown here", "by receipts of this store")
    if not found:
        yield line(Span("  nothing yet: no smoke, soak or bench of this deployment", Style.DIM))
    yield from table(
        (
            Span(item.verdict.value, VERDICT_STYLE[item.verdict]),
            item.command,
            item.created_at[:10],
            item.summary,
            Span(f"same {item.same}", Style.DIM),
        )
        for item in found
    )
