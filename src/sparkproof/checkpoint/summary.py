"""A checkpoint in a few words: ``W4A4``, ``mixed: W4A16 + FP8`` …"""

from __future__ import annotations

from collections.abc import Iterable

from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.facts.quant_schemes import quant_schemes

_BODY = frozenset(
    {
        LayerClass.ATTENTION,
        LayerClass.LINEAR_ATTENTION,
        LayerClass.MLP,
        LayerClass.EXPERTS,
        LayerClass.SHARED_EXPERT,
        LayerClass.OTHER,
    }
)


def format_label(profile: CheckpointProfile) -> str:
    """The schemes of a checkpoint's decoder in one phrase.

    Unquantized layers beside quantized ones are named only where they are a whole class of
    the decoder; output layer, router, embeddings, draft and vision are left to their own lines.
    """
    body = [item for item in profile.formats if item.layer_class in _BODY] or [*profile.formats]
    quantized = [item for item in body if item.scheme is not QuantScheme.UNQUANTIZED]
    if not quantized:
        return quant_schemes()[QuantScheme.UNQUANTIZED].label
    labels = sorted({_label(item, profile) for item in quantized}, key=_four_bit_first)
    plain = {i.layer_class for i in body} - {i.layer_class for i in quantized}
    suffix = f", {_named(plain)} not quantized" if plain else ""
    return ("mixed: " if len(labels) > 1 else "") + " + ".join(labels) + suffix


def _label(item: LayerFormat, profile: CheckpointProfile) -> str:
    if item.scheme is QuantScheme.UNKNOWN:
        return f"unknown ({item.detail or profile.quant_method or 'no method'})"
    return quant_schemes()[item.scheme].label


def _four_bit_first(label: str) -> tuple[bool, str]:
    return not label.startswith("W4"), label


def _named(classes: Iterable[LayerClass]) -> str:
    return ", ".join(c for c in LayerClass if c in set(classes))
