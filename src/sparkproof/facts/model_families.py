"""Which modules each model family has, by the names its checkpoints give them."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from sparkproof.core.observations.checkpoint_profile import LayerClass
from sparkproof.facts.book import load_file, load_folder

_NESTED = "language_model."


class On(StrEnum):
    """Which layers have a part; `TOP`, `VISION` and `DRAFT` stand outside the decoder layers."""

    LAYER = "layer"
    ATTENTION = "attention"
    LINEAR = "linear"
    MLP = "mlp"
    MOE = "moe"
    TOP = "top"
    VISION = "vision"
    DRAFT = "draft"


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Modules of one layer class.

    Attributes:
        modules: names, relative to the layer for parts of decoder layers. ``{body}`` is the
            decoder's prefix, ``{draft}`` the draft layer's index, ``{after}`` that index
            counted on from the last decoder layer. Of many experts or blocks the first stands
            for all.
        classes: module classes that a class target can name: the quantizer's, then vLLM's.
        without_config: beginnings of the quantization methods under which vLLM builds them as if
            nothing was declared; "" for any.
        always: there in every model of the family, though no key of the config tells of them.
    """

    layer_class: LayerClass
    on: On
    modules: tuple[str, ...]
    classes: tuple[str, ...] = ("Linear",)
    without_config: tuple[str, ...] = ()
    always: bool = False


class ModelFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One family.

    Attributes:
        architectures: ``architectures`` entry to the prefix of its decoder.
        renames: checkpoint name to vLLM's module name, replaced once, in this order.
        fused: projections that vLLM loads as one layer, by that layer's name; they must share
            a format, and an entry may use either name.
        expert_dtype: what the experts are stored in where the config does not say ("" for
            what the quantization method says).
    """

    id: str
    title: str
    model_types: tuple[str, ...]
    architectures: dict[str, str]
    parts: tuple[Part, ...]
    source: str
    checked: date
    renames: tuple[tuple[str, str], ...] = ()
    fused: dict[str, tuple[str, ...]] = {}
    expert_dtype: str = ""

    def body(self, architectures: tuple[str, ...], *, nested: bool) -> str:
        """The decoder's prefix: by architecture, else the one that fits a nested text model."""
        known = [self.architectures[a] for a in architectures if a in self.architectures]
        every = known or list(self.architectures.values())
        return next((body for body in every if known or (_NESTED in body) == nested), every[0])

    def runtime_name(self, name: str, body: str) -> str:
        """vLLM's name of a module, from the checkpoint's; text-only variants nest nothing."""
        for old, new in self.renames:
            if _NESTED not in new or _NESTED in body:
                name = name.replace(old, new, 1)
        return name


@cache
def model_families() -> dict[str, ModelFamily]:
    """All families by id."""
    return {family.id: family for family in load_folder("model_families", ModelFamily)}


@cache
def generic_family() -> ModelFamily:
    """Usual names, to probe a declaration whose architecture is not known."""
    return load_file("generic_modules.toml", ModelFamily)


def find_family(architectures: tuple[str, ...], model_type: str) -> ModelFamily | None:
    """The family of a config: by architecture, else by model type."""
    families = model_families().values()
    for architecture in architectures:
        for family in families:
            if architecture in family.architectures:
                return family
    return next((family for family in families if model_type in family.model_types), None)
