"""Values as vLLM prints them: numbers with commas, Python literals, ``key=value`` lists."""

from __future__ import annotations

import ast
import math

from sparkproof.core.observations.boot_log import Argument, Value

_WHOLE = ("_tokens", "_len", "_seqs", "_blocks", "_count", "_size", "_layers", "_bytes")
_REAL = ("_gib", "_s", "_pct", "_x", "_per_s")
_OPEN, _CLOSE = "([{<", ")]}>"
_FIELD_LIMIT = 400
_VALUE_CHARS = 2000
_NUMBER_CHARS = 24
"""A number of more is none that vLLM prints, and may be more than a float holds."""


def parse_value(name: str, text: str) -> Value:
    """Convert by the unit that ends the name; text that is no such number stays text."""
    plain = text.replace(",", "")
    if len(plain) > _NUMBER_CHARS:
        return text
    try:
        if name.endswith(_WHOLE):
            return int(plain)
        if name.endswith(_REAL):
            number = float(plain)
            return number if math.isfinite(number) else text
    except ValueError:
        return text
    return text


def parse_names(text: str) -> tuple[str, ...]:
    """The names of a printed list, ``['A', 'B', ...]``; dots and blanks are dropped."""
    inner = text.strip().strip("[]()")
    names = (part.strip().strip("'\"") for part in inner.split(","))
    return tuple(name for name in names if name and set(name) != {"."})


def parse_arguments(text: str) -> tuple[Argument, ...]:
    """A printed dict of arguments; what can't be read is left out."""
    if not text:
        return ()
    end = text.rfind("}")
    try:
        value = ast.literal_eval(text[: end + 1])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _loose_arguments(text)
    if not isinstance(value, dict):
        return ()
    return tuple(Argument(str(k), str(v)[:_VALUE_CHARS]) for k, v in value.items())


def _loose_arguments(text: str) -> tuple[Argument, ...]:
    """Entries of a dict that holds something other than literals, or ends early."""
    found = []
    for part in split_top_level(text.strip().removeprefix("{").rstrip("}")):
        name, colon, value = part.partition(":")
        if colon and name.strip().strip("'\"").isidentifier():
            cleaned = value.strip().strip("'\"")[:_VALUE_CHARS]
            found.append(Argument(name.strip().strip("'\""), cleaned))
    return tuple(found)


def parse_fields(text: str) -> tuple[Argument, ...]:
    """``a=1, b=Config(x=2), c='d'``: top-level fields only."""
    found = []
    for part in split_top_level(text):
        name, equals, value = part.strip().partition("=")
        if equals and name.isidentifier():
            found.append(Argument(name, value.strip().strip("'")[:_VALUE_CHARS]))
    return tuple(found)


def split_top_level(text: str) -> list[str]:
    """Cut at commas outside brackets and quotes."""
    parts: list[str] = []
    depth, start, quote = 0, 0, ""
    for position, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth = max(0, depth - 1)
        elif char == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
            if len(parts) >= _FIELD_LIMIT:
                break
    parts.append(text[start:])
    return parts
