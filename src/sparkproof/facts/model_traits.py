"""What model classes fix in their layers, where no field of the config says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_folder

Plain = str | int | float | bool


class RoutingWord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One argument that a model class gives to its router.

    Attributes:
        name: as the release's function for the routing method calls it.
        value: what is given where the config declares nothing.
        key: the config's key that is given instead ("" for none).
        equals: given is whether the key has this value.
    """

    name: str
    value: Plain
    key: str = ""
    equals: Plain | None = None

    def given(self, declared: Mapping[str, Plain]) -> Plain:
        """What the class gives for a config."""
        if not self.key or self.key not in declared:
            return self.value
        found = declared[self.key]
        return found if self.equals is None else found == self.equals


class ModelTraits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model's own code passes to its layers.

    Attributes:
        settings: answers to what selection functions ask, by the release's own names.
        routing: what its router gets.
    """

    id: str
    architectures: tuple[str, ...]
    source: str
    checked: date
    settings: dict[str, Plain]
    routing: tuple[RoutingWord, ...] = ()


def settings_of(architectures: Iterable[str]) -> dict[str, Plain]:
    """Settings that the model class fixes; empty for one that nothing is known of."""
    found = _traits(architectures)
    return found.settings if found is not None else {}


def routing_of(architectures: Iterable[str], declared: Mapping[str, Plain]) -> dict[str, Plain]:
    """What the model class gives to its router; empty for one that nothing is known of."""
    found = _traits(architectures)
    return {item.name: item.given(declared) for item in found.routing} if found else {}


def _traits(architectures: Iterable[str]) -> ModelTraits | None:
    known = _by_architecture()
    return next((known[name] for name in architectures if name in known), None)


@cache
def _by_architecture() -> dict[str, ModelTraits]:
    traits = load_folder("model_traits", ModelTraits)
    return {name: item for item in traits for name in item.architectures}
