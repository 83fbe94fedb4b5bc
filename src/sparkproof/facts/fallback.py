"""Changes to a deployment that are worth trying; each is proven before it is named."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_folder


class Fallback(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change.

    Attributes:
        arguments: flags with their values, added to the deployment's.
        variables: environment variables, added to the deployment's.
    """

    id: str
    title: str
    source: str
    checked: date
    arguments: tuple[str, ...] = ()
    variables: dict[str, str] = {}

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that the release must have."""
        return tuple(word for word in self.arguments if word.startswith("--"))

    @property
    def change(self) -> str:
        """What to type."""
        pairs = tuple(f"{name}={value}" for name, value in self.variables.items())
        return " ".join((*pairs, *self.arguments))


@cache
def fallbacks() -> tuple[Fallback, ...]:
    """All of them, in the order of their files."""
    return load_folder("fallbacks", Fallback)
