"""Text from untrusted places: made safe to encode and to show, without hiding that it was odd."""

from __future__ import annotations

from collections.abc import Callable

_KEPT = "\u00a0"


def encodable(text: str) -> str:
    """The text with lone surrogates (bytes that were no UTF-8) written as escapes."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def visible(text: str) -> str:
    """The text with control, format and bidirectional characters written as escapes.

    A file name from a wheel must not move the cursor, clear the screen or swap words.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else _escape(c) for c in text)


def shorten(text: str, limit: int) -> str:
    """The text in at most `limit` characters; an ellipsis says where some are left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def parting(first: str, second: str, before: int = 16) -> tuple[str, str]:
    """Two texts from shortly before the place where they part; an ellipsis says what is left out.

    Args:
        before: characters of what both have, for the reader to find the place.
    """
    place = zip(first, second, strict=False)
    at = next((n for n, (a, b) in enumerate(place) if a != b), min(len(first), len(second)))
    start = max(at - before, 0)
    head = "…" if start else ""
    return head + first[start:], head + second[start:]


def map_text(value: object, change: Callable[[str], str]) -> object:
    """Plain data (dicts, lists, scalars) with `change` applied to every string, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {map_text(key, change): map_text(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [map_text(item, change) for item in value]
    return value


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
