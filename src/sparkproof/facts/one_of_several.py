"""Libraries of a package of which a process loads one."""

from __future__ import annotations

import re
from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file


class OneOfSeveral(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How such libraries are named.

    Attributes:
        pattern: regular expression of a whole path; `line` is what tells alternatives apart.
        chosen_by: what decides which is loaded.
    """

    pattern: str
    chosen_by: str
    source: str
    checked: date

    def parse(self, path: str) -> tuple[str, int] | None:
        """The name without its line, and the line as a number; None for any other library."""
        match = re.fullmatch(self.pattern, path)
        return (f"{match['stem']}*{match['rest']}", int(match["line"])) if match else None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    libraries: tuple[OneOfSeveral, ...]


@cache
def one_of_several() -> tuple[OneOfSeveral, ...]:
    """All of them."""
    return load_file("one_of_several.toml", _File).libraries
