"""How vLLM releases read a declaration otherwise than it is written."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    CheckpointProfile,
    DeclaredBy,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.facts.book import load_folder


class LoaderRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One such rule. An empty condition holds for everything.

    Attributes:
        methods: beginnings of ``quant_method``.
        algos: ``quant_algo`` as declared.
        holds_for: vLLM versions, as a PEP 440 specifier ("" for every release that was read).
        becomes, activations: what the release makes of the layers.
        refusal: what the release does instead of serving ("" where it serves).
        source: which releases were read, and where.
    """

    id: str
    title: str
    explain: str
    source: str
    checked: date
    methods: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    algos: tuple[str, ...] = ()
    layer_classes: tuple[LayerClass, ...] = ()
    schemes: tuple[QuantScheme, ...] = ()
    variants: tuple[str, ...] = ()
    declared_by: tuple[DeclaredBy, ...] = ()
    holds_for: str = ""
    becomes: QuantScheme | None = None
    activations: Activations = Activations.UNQUANTIZED
    refusal: str = ""

    def covers(self, version: Version) -> bool:
        """Whether it holds for a release (development versions: see `effective_formats`)."""
        return SpecifierSet(self.holds_for).contains(version, prereleases=True)

    def applies(self, profile: CheckpointProfile, item: LayerFormat) -> bool:
        """Whether its conditions are met, whatever the release."""
        tests = (
            (self.families, profile.family),
            (self.algos, profile.quant_algo),
            (self.layer_classes, item.layer_class),
            (self.schemes, item.scheme),
            (self.variants, item.variant),
            (self.declared_by, item.declared_by),
        )
        return (not self.methods or profile.quant_method.startswith(self.methods)) and all(
            not wanted or found in wanted for wanted, found in tests
        )


@cache
def loader_rules() -> tuple[LoaderRule, ...]:
    """All rules, in the order in which they are tried."""
    return load_folder("loader_rules", LoaderRule)
