"""What a vLLM flag means to an operator of this hardware; its default is read from a release."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_folder


class Flag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One flag.

    Attributes:
        controls: what it decides.
        goes_wrong: what happens where it is set badly.
        see: flags, words or claims that belong to it.
    """

    flag: str
    controls: str
    goes_wrong: str
    source: str
    checked: date
    see: tuple[str, ...] = ()


@cache
def flags() -> dict[str, Flag]:
    """All flags by name."""
    return {item.flag: item for item in load_folder("flags", Flag)}
