"""Pages as text."""

from __future__ import annotations

from collections.abc import Iterable

from sparkproof.core.results.explain import Explanation, Page
from sparkproof.render.lines import Line, Span, Style, heading, line, paragraph_of, table
from sparkproof.render.plain_values import plain_value


def render_explanation(result: Explanation) -> list[Line]:
    """Each page: paragraphs, where it is from, under its title where there are several."""
    if not result.topic:
        return _topics(result.pages)
    lines: list[Line] = []
    for page in result.pages:
        if len(result.pages) > 1:
            title = f"{page.kind}: {page.title}" if page.title else page.kind
            lines.append(heading(page.topic, title))
        for paragraph in page.body:
            lines += [row for text in paragraph.splitlines() for row in paragraph_of(text)]
            lines.append(line())
        lines += table((Span(name, Style.DIM), _plain(name, value)) for name, value in page.rows)
        if page.see:
            lines.append(line(Span("  see  ", Style.DIM), ", ".join(page.see)))
    return lines


def _plain(name: str, value: str) -> str:
    return plain_value(value) if name == "default" else value


def _topics(pages: Iterable[Page]) -> list[Line]:
    """Names alone, by kind: a title each would take a thousand lines."""
    kinds: dict[str, list[str]] = {}
    for page in pages:
        kinds.setdefault(page.kind.partition(" (")[0], []).append(page.topic)
    lines: list[Line] = []
    for kind, topics in kinds.items():
        lines += [line(), heading(kind, f"{len(topics):,}"), *paragraph_of(", ".join(topics))]
    return lines
