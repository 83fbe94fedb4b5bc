"""Styled lines: what text renderers produce, before anyone decides about colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkproof.render.page import (
    Line,
    Span,
    Style,
    Verbatim,
    fold,
    fold_line,
    is_verbatim,
    page_width,
    text_of,
)

__all__ = ["Cell", "Line", "Span", "Style", "Verbatim", "heading", "line", "paragraph_of", "table"]

Cell = str | Span | Line
"""Of a table: text, text in a style, or several runs of it."""

_LONGEST_WORD = 36
"""Columns of a word that a table keeps whole."""
_NARROWEST = 8
"""Columns that a column of a table keeps."""


def line(*parts: str | Span) -> Line:
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
    """Rows in columns as wide as their widest cell, and no wider than the page.

    Where the page is too narrow, the cells of the widest columns go on below. The last column
    is not padded.

    Args:
        rows: cells; rows may differ in length.
        indent: spaces before each row.
        gap: spaces between columns.
        right: columns that are set flush right.
    """
    cells = [[_spans(cell) for cell in row] for row in rows]
    widths = _widths(cells, page_width() - indent, gap)
    result: list[Line] = []
    for row in cells:
        folded = [_folded(cell, widths[column]) for column, cell in enumerate(row)]
        for number in range(max(map(len, folded), default=1)):
            pieces = [cell[number] if number < len(cell) else () for cell in folded]
            result.append(_row(pieces, widths, indent, gap, right))
    return result


def paragraph_of(text: str, *, indent: int = 2, style: Style = Style.PLAIN) -> list[Line]:
    """Prose, every line of it indented alike."""
    width = max(page_width() - indent, _NARROWEST)
    return [(Span(" " * indent), *row) for row in fold((Span(text, style),), width)]


def _spans(cell: Cell) -> Line:
    if isinstance(cell, str):
        return (Span(cell),)
    return (cell,) if isinstance(cell, Span) else cell


def _folded(cell: Line, width: int) -> list[Line]:
    """The cell in lines, all of them indented as its first."""
    text = text_of(cell)
    if len(text) <= width or is_verbatim(cell):
        return [cell]
    deep = len(text) - len(text.lstrip())
    first, *rest = fold(cell, width, width - deep if deep < width // 2 else width, keep=deep)
    inset = (Span(" " * deep),) if deep < width // 2 else ()
    return [first, *((*inset, *piece) for piece in rest)]


def _row(
    pieces: Sequence[Line], widths: Sequence[int], indent: int, gap: int, right: frozenset[int]
) -> Line:
    spans = [Span(" " * indent)]
    last = len(pieces) - 1
    for column, piece in enumerate(pieces):
        padding = Span(" " * (widths[column] - len(text_of(piece))))
        if column in right:
            spans += [padding, *piece]
        else:
            spans += piece if column == last else (*piece, padding)
        spans.append(Span("" if column == last else " " * gap))
    return tuple(spans)


def _widths(rows: Sequence[Sequence[Line]], page: int, gap: int) -> list[int]:
    """Columns as wide as their widest cell; where the page is narrower, the widest give way."""
    natural: list[int] = []
    least: list[int] = []
    for row in rows:
        natural += [0] * (len(row) - len(natural))
        least += [0] * (len(row) - len(least))
        for column, cell in enumerate(row):
            size = len(text_of(cell))
            natural[column] = max(natural[column], size)
            least[column] = max(least[column], size if is_verbatim(cell) else _longest_word(cell))
    room = page - gap * (len(natural) - 1)
    if sum(natural) <= room:
        return natural
    if sum(least) <= room:
        return _levelled(natural, least, room)
    return _levelled(least, [min(_NARROWEST, size) for size in least], room)


def _longest_word(cell: Line) -> int:
    return min(max(map(len, text_of(cell).split()), default=0), _LONGEST_WORD)


def _levelled(wanted: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths wanted, the widest cut to one level at which they fit; none below its least."""
    low, high = 0, max(wanted, default=0)
    while low < high:
        level = (low + high + 1) // 2
        if sum(_at_level(wanted, least, level)) <= room:
            low = level
        else:
            high = level - 1
    return _at_level(wanted, least, low)


def _at_level(wanted: Sequence[int], least: Sequence[int], level: int) -> list[int]:
    return [max(least[i], min(size, level)) for i, size in enumerate(wanted)]


def folded(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines, those that the page does not hold in several."""
    width = page_width()
    for item in lines:
        yield from fold_line(item, width)


def plain_line(item: Line) -> str:
    """The line without any style, control characters made visible, no trailing spaces."""
    return text_of(item).rstrip()


def plain_text(lines: Iterable[Line]) -> str:
    """The lines as a page shows them, without any style."""
    return "".join(plain_line(item) + "\n" for item in folded(lines))
