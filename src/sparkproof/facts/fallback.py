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
        native: it keeps quantized layers on kernels that compute in their own format, if the
            device has any; those are tried first.
        named_only: tried only where a field report names it.
    """

    id: str
    title: str
    source: str
    checked: date
    arguments: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    native: bool = False
    named_only: bool = False

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
    """All of them: what keeps kernels native first, then in the order of their files."""
    found = load_folder("fallbacks", Fallback)
    return tuple(sorted(found, key=lambda item: not item.native))


def find_fallback(name: str) -> Fallback:
    """One by its id; the meta-tests see to it that every name in the book is one."""
    return next(item for item in fallbacks() if item.id == name)
