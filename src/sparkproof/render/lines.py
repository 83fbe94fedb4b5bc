"""Styled lines: what text renderers produce, before anyone decides about colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from sparkproof.core.text import visible


class Style(StrEnum):
    """Meaning of a span; the output decides how that looks."""

    PLAIN = "plain"
    STRONG = "strong"
    DIM = "dim"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


class Span(NamedTuple):
    """A run of text in one style."""

    text: str
    style: Style = Style.PLAIN


Line = tuple[Span, ...]
Cell = str | Span


def line(*parts: Cell) -> Line:
    """One line from strings and spans."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def heading(word: str, rest: str = "") -> Line:
    """``select  vllm 0.33.0``: a section's first line."""
    return line(Span(word, Style.STRONG), f"  {rest}" if rest else "")


def table(
    rows: Iterable[Sequence[Cell]],
    *,
    indent: int = 2,
    gap: int = 2,
    right: frozenset[int] = frozenset(),
) -> list[Line]:
    """Rows in columns as wide as their widest cell; the last column is not padded.

    Args:
        rows: cells; rows may differ in length.
        indent: spaces before each row.
        gap: spaces between columns.
        right: columns that are set flush right.
    """
    cells = [[c if isinstance(c, Span) else Span(c) for c in row] for row in rows]
    widths: dict[int, int] = {}
    for row in cells:
        for column, cell in enumerate(row):
            widths[column] = max(widths.get(column, 0), len(cell.text))
    result: list[Line] = []
    for row in cells:
        spans = [Span(" " * indent)]
        for column, cell in enumerate(row):
            last = column == len(row) - 1
            padding = " " * (widths[column] - len(cell.text))
            if column in right:
                spans += [Span(padding), cell]
            else:
                spans += [cell, Span("" if last else padding)]
            spans.append(Span("" if last else " " * gap))
        result.append(tuple(spans))
    return result


def plain_line(item: Line) -> str:
    """The line without any style, control characters made visible, no trailing spaces."""
    return "".join(visible(span.text) for span in item).rstrip()


def plain_text(lines: Iterable[Line]) -> str:
    """The lines as `plain_line` gives them."""
    return "".join(plain_line(item) + "\n" for item in lines)
