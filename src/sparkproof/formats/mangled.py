"""Itanium-mangled kernel names: the outer name and the template arguments that matter.

A demangler is not needed and not to be had: common ones fail on many CUTLASS names. The outer
nested name is length-prefixed text, and integer literals of the first template argument list
are ``L<type><value>E``.
"""

from __future__ import annotations

import re

from sparkproof.core.errors import FormatError

_LENGTH = re.compile(r"\d{1,5}")
_LONG_LITERAL = re.compile(r"L[lmxy](n?\d{1,20})E")
_INTERNAL = re.compile(r"(_INTERNAL_|_GLOBAL__N_)")
_MAX_PARTS = 64


def parse_outer_name(symbol: str) -> tuple[str, ...]:
    """Namespaces and function name, outermost first, without template arguments.

    ``_ZN6marlin6MarlinILl1EEEvPv`` gives ``("marlin", "Marlin")``; a name that is not mangled gives
    itself. File-local wrappers (anonymous namespaces, ``_INTERNAL_...``) are left out.

    Raises:
        FormatError: a length that runs beyond the symbol.
    """
    if not symbol.startswith("_Z"):
        return (symbol,)
    nested = symbol.startswith("_ZN")
    at = 3 if nested else 2
    parts: list[str] = []
    while len(parts) < _MAX_PARTS:
        while nested and symbol[at : at + 1] in ("K", "V", "L"):
            at += 1
        if symbol.startswith("St", at):
            parts.append("std")
            at += 2
            continue
        match = _LENGTH.match(symbol, at)
        if not match:
            break
        end = match.end() + int(match[0])
        if end > len(symbol):
            raise FormatError("mangled name is cut short", where=symbol[:80], offset=at)
        parts.append(symbol[match.end() : end])
        at = end
        if not nested:
            break
    return tuple(part for part in parts if not _INTERNAL.search(part)) or (symbol,)


def long_arguments(symbol: str) -> tuple[int, ...]:
    """64-bit integer literals among the template arguments, in order of their place."""
    return tuple(int(text.replace("n", "-")) for text in _LONG_LITERAL.findall(symbol))
