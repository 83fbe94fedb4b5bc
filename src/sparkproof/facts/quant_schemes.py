"""What each quantization scheme means, and which declared algorithms stand for it."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.core.observations.checkpoint_profile import Activations, QuantScheme
from sparkproof.facts.book import load_folder


class StoredShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a scheme's weights lie in a file.

    Attributes:
        weight: types of the weight tensor.
        scale: types of its scales; empty where there are none.
        spread: what one scale covers: ``tensor``, ``channel``, ``group``, ``block``; "" for
            anything.
        size: inputs of a group; 0 for any.
    """

    weight: tuple[str, ...]
    scale: tuple[str, ...] = ()
    spread: str = ""
    size: int = 0


class SchemeFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One scheme.

    Attributes:
        label: how tables call it, e.g. ``W4A4``.
        weight_bits, activation_bits: as stored and as multiplied.
        block: shape of the weights that share one scale, in words.
        modelopt: ModelOpt's ``quant_algo`` to the activations it stands for.
        stored: how the weights lie in a checkpoint.
        likely: among schemes that lie alike, what nothing else tells apart is taken for the
            one of the highest number.
    """

    id: QuantScheme
    title: str
    label: str
    meaning: str
    weight_bits: int
    activation_bits: int
    block: str
    source: str
    checked: date
    modelopt: dict[str, Activations] = {}
    stored: tuple[StoredShape, ...] = ()
    likely: int = 0


@cache
def quant_schemes() -> dict[QuantScheme, SchemeFact]:
    """All schemes."""
    return {fact.id: fact for fact in load_folder("quant_schemes", SchemeFact)}


@cache
def modelopt_algorithms() -> dict[str, tuple[QuantScheme, Activations]]:
    """ModelOpt's algorithm names, upper case."""
    return {
        algo: (fact.id, activations)
        for fact in quant_schemes().values()
        for algo, activations in fact.modelopt.items()
    }
