"""The page: how wide it is, and how text is folded into it without losing any."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from sparkproof.core.text import visible

PAGE_COLUMNS = 100
"""Width of a page where no terminal says otherwise."""
_LEAST_COLUMNS = 60
_DEEPEST = 24
"""Columns to which the lines after the first are indented at most."""
_SOFT = "/,_=.-"
"""Characters after which a word that is too long is broken, if it has any."""
_width: ContextVar[int] = ContextVar("page_width", default=PAGE_COLUMNS)


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


class Verbatim(Span):
    """A run that is meant to be pasted, or drawn: the line that holds it is never folded."""

    __slots__ = ()


Line = tuple[Span, ...]


@contextmanager
def page_of(columns: int) -> Iterator[None]:
    """Lay out what is rendered inside for a page of so many columns."""
    token = _width.set(max(columns, _LEAST_COLUMNS))
    try:
        yield
    finally:
        _width.reset(token)


def page_width() -> int:
    """Columns of the page."""
    return _width.get()


def text_of(spans: Sequence[Span]) -> str:
    """What the spans show, control characters made visible."""
    return "".join(visible(span.text) for span in spans)


def is_verbatim(spans: Sequence[Span]) -> bool:
    """Whether any of it must stay in one line."""
    return any(isinstance(span, Verbatim) for span in spans)


def fold_line(item: Line, width: int) -> Iterator[Line]:
    """The line in pieces of at most `width` columns, those after the first indented."""
    text = text_of(item)
    if len(text.rstrip()) <= width or is_verbatim(item):
        yield item
        return
    hang = min(hanging_indent(text), width // 2)
    first, *rest = fold(item, width, width - hang, keep=len(text) - len(text.lstrip()))
    yield first
    for piece in rest:
        yield (Span(" " * hang), *piece)


def hanging_indent(text: str) -> int:
    """Where a line goes on: under what follows its first word, unless that is far to the right."""
    start = len(text) - len(text.lstrip())
    gap = text.find("  ", start)
    if gap >= 0:
        after = gap + len(text[gap:]) - len(text[gap:].lstrip())
        if after <= _DEEPEST:
            return after
    return start + 4


def fold(spans: Sequence[Span], first: int, rest: int = 0, *, keep: int = 0) -> list[Line]:
    """Spans cut into lines of `first`, then `rest` columns, between words where that can be.

    Args:
        spans: what to fold; styles are kept.
        first: columns of the first line.
        rest: columns of the others; as the first where 0.
        keep: leading characters that are no place to fold at.
    """
    shown = [Span(visible(span.text), span.style) for span in spans]
    text = "".join(span.text for span in shown)
    starts = [0, *accumulate(len(span.text) for span in shown)]
    end = len(text.rstrip())
    pieces: list[Line] = []
    at, width = 0, max(first, 1)
    while end - at > width:
        cut = _cut_in(text, at, width, keep)
        pieces.append(_slice(shown, starts, at, cut))
        at = cut
        while at < end and text[at] == " ":
            at += 1
        width = max(rest or first, 1)
    pieces.append(_slice(shown, starts, at, len(text)))
    return pieces


def _cut_in(text: str, at: int, width: int, keep: int) -> int:
    """Where the line that starts at `at` ends: at a space, after a separator, or anywhere."""
    start = max(at + 1, keep + 1 if at < keep else 0)
    space = text.rfind(" ", start, at + width + 1)
    if space > 0:
        before = text[at:space].rstrip(" ")
        return at + len(before) if before else space
    soft = max(text.rfind(sign, start, at + width) for sign in _SOFT)
    return soft + 1 if soft - at >= width // 3 else at + width


def _slice(spans: Sequence[Span], starts: Sequence[int], start: int, end: int) -> Line:
    """The characters from `start` to `end`, in their styles."""
    found: list[Span] = []
    for place in range(bisect_right(starts, start) - 1, len(spans)):
        if starts[place] >= end:
            break
        piece = spans[place].text[max(start - starts[place], 0) : end - starts[place]]
        if piece:
            found.append(Span(piece, spans[place].style))
    return tuple(found)
