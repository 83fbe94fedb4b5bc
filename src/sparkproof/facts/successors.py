"""What took over from a flag, value or variable that is gone, and whom a new default reaches."""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Literal

import msgspec

from sparkproof.facts.book import load_file

Touches = Literal[
    "always",
    "never",
    "prefix-caching",
    "vision",
    "hybrid",
    "speculation",
    "context-parallel",
    "tools",
]


class Successor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to say instead; it holds only where the release has `flag` and takes the value.

    Attributes:
        name: flag or variable that is gone.
        value: the value that is meant ("" for any).
        flag: option to use instead ("" for none: the thing is done by itself now).
        becomes: its value ("" keeps the old one, or is a switch).
        why: one line.
        steers: oracles whose picks the old one decided about (none where it was of something
            else); where no layer asks one of them, nothing has to take over.
    """

    name: str
    source: str
    checked: date
    why: str
    value: str = ""
    flag: str = ""
    becomes: str = ""
    steers: tuple[str, ...] = ()


class NewDefault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom the default of an option reaches; an option that is not listed reaches everybody.

    Attributes:
        meaning: what the operator sees of a change.
    """

    flag: str
    touches: Touches
    meaning: str
    source: str
    checked: date


class _Successors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    successor: tuple[Successor, ...]


class _Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default: tuple[NewDefault, ...]


@cache
def successors() -> tuple[Successor, ...]:
    """All of them; those with a value before those for any."""
    found = load_file("upgrade/successors.toml", _Successors).successor
    return tuple(sorted(found, key=lambda item: not item.value))


@cache
def new_defaults() -> dict[str, NewDefault]:
    """By option."""
    return {item.flag: item for item in load_file("upgrade/defaults.toml", _Defaults).default}
