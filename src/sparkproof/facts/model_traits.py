"""What model classes fix in their layers, where no field of the config says it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_folder
from sparkproof.facts.releases import holds

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


class InReleases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of some releases, in place of the others."""

    releases: str
    settings: dict[str, Plain]


class NamedAttention(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An attention backend that a model's own configuration names where no flag does.

    Attributes:
        head_above: only where some head is larger than this; heads of different size in any case.
        not_on_majors: major compute capabilities where it is not named.
    """

    releases: str
    backend: str
    why: str
    head_above: int = 0
    not_on_majors: tuple[int, ...] = ()

    def applies(self, release: str, major: int, heads: Collection[int]) -> bool:
        """Whether it is named for layers with heads of these sizes."""
        return (
            holds(self.releases, release)
            and major not in self.not_on_majors
            and len(set(heads)) > 1
            and max(heads) > self.head_above
        )


class ModelTraits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model's own code passes to its layers.

    Attributes:
        settings: answers to what selection functions ask, by the release's own names.
        in_releases: settings that only some releases have.
        attention: backends that its configuration names, the first that applies counts.
        routing: what its router gets.
        own_attention: why the release's selection is not asked for its attention ("" where it is).
    """

    id: str
    architectures: tuple[str, ...]
    source: str
    checked: date
    settings: dict[str, Plain]
    in_releases: tuple[InReleases, ...] = ()
    attention: tuple[NamedAttention, ...] = ()
    own_attention: str = ""
    routing: tuple[RoutingWord, ...] = ()


def settings_of(architectures: Iterable[str], release: str = "") -> dict[str, Plain]:
    """Settings that the model class fixes; empty for one that nothing is known of.

    Args:
        release: adds what only this release has ("" for what all of them have).
    """
    found = _traits(architectures)
    if found is None:
        return {}
    extra = [
        item.settings for item in found.in_releases if release and holds(item.releases, release)
    ]
    return {key: value for part in (found.settings, *extra) for key, value in part.items()}


def attention_of(
    architectures: Iterable[str], release: str, major: int, heads: Collection[int]
) -> NamedAttention | None:
    """The attention backend that the model's configuration names, if it names one.

    Args:
        major: of the device's compute capability.
        heads: sizes of the heads of all its layers.
    """
    found = _traits(architectures)
    named = found.attention if found is not None else ()
    return next((item for item in named if item.applies(release, major, heads)), None)


def own_attention_of(architectures: Iterable[str]) -> str:
    """Why the release's selection is not asked for a model's attention, "" where it is."""
    found = _traits(architectures)
    return found.own_attention if found is not None else ""


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
