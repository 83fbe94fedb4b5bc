"""Values as a person writes them: no Python spelling, no digits that mean nothing."""

from __future__ import annotations

import ast

from sparkproof.core.units import format_bytes

_LITERAL_CHARS = 2000
_TROUBLE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
_UNITS = {"_gib": "GiB", "_s": "s", "_x": "x", "_pct": "%"}


def plain_value(text: str) -> str:
    """``True`` as yes, ``['m']`` as m, ``{'method': 'mtp'}`` as method mtp; else as it is."""
    if len(text) > _LITERAL_CHARS or text[:1] not in "TFN[{('\"":
        return text
    try:
        return _spelled(ast.literal_eval(text))
    except _TROUBLE:
        return text


def plain_default(value: object) -> str:
    """A default as it would be typed; an empty text in quotes, so that it can be seen."""
    return '""' if value == "" else _spelled(value)


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_spelled(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple | set):
        return ", ".join(map(_spelled, value)) or "none"
    return str(value)


def name_and_value(name: str, value: str | int | float | bool) -> tuple[str, str]:
    """``kv_available_gib`` and 127.1904 as ``kv available`` and ``127.19 GiB``."""
    if isinstance(value, bool):
        return _words(name), "yes" if value else "no"
    if isinstance(value, str):
        return _words(name), plain_value(value)
    if name.endswith("_bytes"):
        return _words(name.removesuffix("_bytes")), f"{value:,} bytes, {format_bytes(int(value))}"
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix):
            gap = "" if unit in "x%" else " "
            return _words(name.removesuffix(suffix)), f"{_number(value)}{gap}{unit}"
    return _words(name), f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _words(name: str) -> str:
    return name.replace("_", " ")
