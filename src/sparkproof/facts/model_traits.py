"""What model classes fix in their layers, where no field of the config says it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_folder


class ModelTraits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model's own code passes to its layers.

    Attributes:
        settings: answers to what selection functions ask, by the release's own names.
    """

    id: str
    architectures: tuple[str, ...]
    source: str
    checked: date
    settings: dict[str, str | int | float | bool]


def settings_of(architectures: Iterable[str]) -> dict[str, str | int | float | bool]:
    """Settings that the model class fixes; empty for one that nothing is known of."""
    for name in architectures:
        if name in _by_architecture():
            return _by_architecture()[name].settings
    return {}


@cache
def _by_architecture() -> dict[str, ModelTraits]:
    traits = load_folder("model_traits", ModelTraits)
    return {name: item for item in traits for name in item.architectures}
