"""Where the tensors of a checkpoint differ from what its config declares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkproof.checkpoint.held import Held
from sparkproof.checkpoint.matching import shown
from sparkproof.checkpoint.stored_scheme import needs_input_scale
from sparkproof.checkpoint.stored_units import Sorted
from sparkproof.checkpoint.words import say_layers
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    DeclaredBy,
    LayerClass,
    Note,
    QuantScheme,
)
from sparkproof.formats.hf_config import ModelConfig

_SHOWN = 2


def stored_notes(config: ModelConfig, found: Sorted, held: Sequence[Held]) -> tuple[Note, ...]:
    """All differences, each once per layer class."""
    return (
        *_otherwise(held),
        *_incomplete(held),
        *_static(held),
        *_drafts(config, held),
        *_twice(found),
    )


def _otherwise(held: Sequence[Held]) -> Iterable[Note]:
    groups: dict[tuple[LayerClass, QuantScheme, QuantScheme], list[Held]] = {}
    for item in held:
        told = item.said.scheme, item.scheme
        same = told[0] is told[1] or QuantScheme.UNKNOWN in told
        if not same and not _only_scale_missing(item) and not _never_meant(item):
            groups.setdefault((item.module.layer_class, *told), []).append(item)
    for (layer_class, declared, stored), group in groups.items():
        everyone = [i.module for i in held if i.module.layer_class is layer_class]
        words = say_layers([i.module for i in group], everyone, counted=True)
        where = f"{words}: " if words else ""
        yield Note(
            "stored-otherwise",
            f"{where}declared {declared} and stored {stored}",
            layer_class,
            _evidence(group),
        )


def _never_meant(item: Held) -> bool:
    """A sweeping declaration that takes in a router, or an output layer by its class."""
    plain = item.scheme is QuantScheme.UNQUANTIZED
    said, layer_class = item.said.by, item.module.layer_class
    router = layer_class is LayerClass.ROUTER and said in (DeclaredBy.CLASS, DeclaredBy.DEFAULT)
    head = layer_class is LayerClass.LM_HEAD and said is DeclaredBy.CLASS
    return plain and (router or head)


def _only_scale_missing(item: Held) -> bool:
    """W4A4 without its activation scales lies like W4A16; `_static` tells of it."""
    return needs_input_scale(item.said.activations, item.unit) and (
        item.said.scheme is QuantScheme.NVFP4_W4A4 and item.scheme is QuantScheme.NVFP4_W4A16
    )


def _incomplete(held: Sequence[Held]) -> Iterable[Note]:
    groups: dict[tuple[LayerClass, str], list[Held]] = {}
    for item in held:
        if item.stored.missing:
            groups.setdefault((item.module.layer_class, item.stored.missing), []).append(item)
    for (layer_class, missing), group in groups.items():
        more = f" in {len(group)} places" if len(group) > 1 else ""
        what = f"{missing} missing{more}"
        yield Note("scales-missing", what, layer_class, _evidence(group))


def _static(held: Sequence[Held]) -> Iterable[Note]:
    groups: dict[LayerClass, list[Held]] = {}
    for item in held:
        if needs_input_scale(item.said.activations, item.unit) and item.stored.fits:
            quantized = item.scheme is not QuantScheme.UNQUANTIZED
            if quantized:
                groups.setdefault(item.module.layer_class, []).append(item)
    for layer_class, group in groups.items():
        what = (
            f"activations are declared {group[0].said.activations} "
            f"and {len(group)} modules have no scale for them"
        )
        yield Note("input-scales-missing", what, layer_class, _evidence(group))


def _drafts(config: ModelConfig, held: Sequence[Held]) -> Iterable[Note]:
    stored = any(item.module.layer_class is LayerClass.DRAFT for item in held)
    if config.draft_layers and held and not stored:
        what = f"{config.draft_layers} draft layers are declared and none is stored"
        yield Note("draft-missing", what, LayerClass.DRAFT)


def _twice(found: Sorted) -> Iterable[Note]:
    if found.twice:
        names = ", ".join(shown(name) for name in found.twice[:_SHOWN])
        yield Note("stored-twice", f"{len(found.twice)} tensors stand in two shards: {names}")


def _evidence(group: Sequence[Held]) -> tuple[Evidence, ...]:
    seen = [Evidence(i.unit.module, i.stored.layout) for i in group[:_SHOWN]]
    first = group[0].said.evidence
    return (first, *seen) if first else tuple(seen)
