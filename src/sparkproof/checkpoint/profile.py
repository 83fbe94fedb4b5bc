"""From a config to a profile: every layer class with its scheme and what says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from sparkproof.checkpoint.declared import Declared, Listed
from sparkproof.checkpoint.declarers import declarer_for
from sparkproof.checkpoint.layout import Layout, Module, lay_out
from sparkproof.checkpoint.matching import shown
from sparkproof.checkpoint.notes import layer_notes, source_notes
from sparkproof.checkpoint.one_module import with_one_answer
from sparkproof.checkpoint.words import say_layers
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    DeclaredBy,
    LayerClass,
    LayerFormat,
    Note,
    QuantScheme,
)
from sparkproof.core.unknown import Unknown
from sparkproof.formats.hf_config import ModelConfig, QuantDeclaration

_ORDER = tuple(LayerClass)
_SHOWN_EVIDENCE = 4
_PLACED = frozenset({DeclaredBy.NAME, DeclaredBy.PATTERN, DeclaredBy.EXCLUDED})
_COVERED = _PLACED | {DeclaredBy.CLASS, DeclaredBy.DEFAULT, DeclaredBy.NOTHING}

Reading = tuple[Module, Declared]


def profile_checkpoint(
    config: ModelConfig, quant: QuantDeclaration | None = None, name: str = ""
) -> CheckpointProfile:
    """Classify what a checkpoint's metadata declares.

    Args:
        config: of ``config.json``, or of a bare quantization block.
        quant: of ``hf_quant_config.json``, where there is one.
        name: what the user calls the checkpoint.
    """
    block = config.quantization or quant
    declarer = declarer_for(config, block, quant)
    layout = lay_out(config, _entries(block, quant))
    readings = [(m, _tied(config, m) or declarer.declare(m)) for m in layout.modules]
    unplaced = declarer.unplaced()
    kept = _kept(readings, layout, unplaced)
    told = with_one_answer(kept)
    unknowns, notes = declarer.remarks()
    formats = (*_grouped(told, layout), *_elsewhere(readings, layout), *_from_entries(unplaced))
    return msgspec.structs.replace(
        _shape(config, name),
        quant_method=block.method if block else "",
        quant_algo=(block.algo or block.format) if block else "",
        formats=tuple(sorted(formats, key=lambda item: _ORDER.index(item.layer_class))),
        kv_cache_scheme=kv_words(block) or kv_words(quant),
        family=layout.family,
        guess=layout.guess if block or config.num_experts else "",
        unknowns=(*_useful(layout.unknowns, block), *unknowns),
        notes=(
            *notes,
            *layer_notes(kept),
            *source_notes(config, quant),
            *_leftovers(unplaced, layout),
        ),
    )


def _shape(config: ModelConfig, name: str) -> CheckpointProfile:
    """What does not depend on quantization."""
    return CheckpointProfile(
        name=name,
        architectures=config.architectures,
        model_type=config.model_type,
        quant_method="",
        formats=(),
        activation_dtype=config.dtype or "bfloat16",
        hidden_act=config.hidden_act,
        head_dim=config.head_dim,
        num_layers=config.num_layers or len(config.layer_types) or len(config.hybrid_pattern),
        num_experts=config.num_experts,
        draft_layers=config.draft_layers,
        routing=config.routing if config.num_experts else {},
        own_classes=config.own_classes,
        index_topk=config.index_topk,
        reconstructed="; ".join(config.origin.sources) if config.origin else "",
        assumed=config.origin.assumed if config.origin else (),
    )


def _entries(block: QuantDeclaration | None, quant: QuantDeclaration | None) -> Iterable[str]:
    for each in (block, quant):
        if each is not None:
            yield from each.ignore
            yield from each.layers
            for group in each.groups:
                yield from group.targets


def _tied(config: ModelConfig, module: Module) -> Declared | None:
    if not config.tied_embeddings or module.layer_class is not LayerClass.LM_HEAD:
        return None
    evidence = Evidence(f"{config.where}: tie_word_embeddings", "true")
    return Declared(
        QuantScheme.UNQUANTIZED, DeclaredBy.NOT_LISTED, evidence, detail="shares the embedding"
    )


def _kept(
    readings: Sequence[Reading], layout: Layout, unplaced: tuple[Listed, ...]
) -> list[Reading]:
    """Without a known architecture only what something covers is told; see `_elsewhere`.

    Where not even the number of layers is known, that is what an entry names.
    """
    if not layout.family:
        told = _COVERED if layout.counted else _PLACED
        return [pair for pair in readings if pair[1].by in told or _plain_experts(pair)]
    if unplaced and not layout.counted:
        return [pair for pair in readings if pair[1].by is not DeclaredBy.NOT_LISTED]
    return list(readings)


def _plain_experts(reading: Reading) -> bool:
    """Unlike other layers, experts go to a backend of vLLM's choice without quantization too."""
    module, said = reading
    return module.layer_class is LayerClass.EXPERTS and said.by is DeclaredBy.NOTHING


def _grouped(readings: Sequence[Reading], layout: Layout) -> Iterable[LayerFormat]:
    classes: dict[LayerClass, list[Reading]] = {}
    for reading in readings:
        classes.setdefault(reading[0].layer_class, []).append(reading)
    for layer_class, members in classes.items():
        groups: dict[tuple[str, ...], list[Reading]] = {}
        for module, said in members:
            key = (said.scheme, said.activations, said.detail, said.variant)
            groups.setdefault(key, []).append((module, said))
        everyone = [module for module, _ in members]
        for group in groups.values():
            words = say_layers([m for m, _ in group], everyone, counted=layout.counted)
            yield _format(layer_class, [said for _, said in group], words)


def _format(layer_class: LayerClass, said: Sequence[Declared], layers: str) -> LayerFormat:
    evidence = dict.fromkeys(each.evidence for each in said if each.evidence)
    first = said[0]
    return LayerFormat(
        layer_class=layer_class,
        scheme=first.scheme,
        layers=layers,
        detail=first.detail,
        evidence=tuple(evidence)[:_SHOWN_EVIDENCE],
        activations=first.activations,
        declared_by=first.by,
        variant=first.variant,
    )


def _elsewhere(readings: Sequence[Reading], layout: Layout) -> Iterable[LayerFormat]:
    """What covers layers by class or by default, where it is not known which layers exist."""
    if layout.family:
        return
    seen: dict[tuple[str, ...], Declared] = {}
    for _, said in readings:
        if said.by in (DeclaredBy.CLASS, DeclaredBy.DEFAULT, DeclaredBy.NOTHING):
            seen.setdefault((said.scheme, said.detail, said.variant), said)
    for said in seen.values():
        everything = said.by is DeclaredBy.NOTHING
        if everything and layout.counted:
            continue
        words = "" if everything else "every linear layer that no other line covers"
        yield _format(LayerClass.OTHER, [said], words)


def _from_entries(unplaced: tuple[Listed, ...]) -> Iterable[LayerFormat]:
    """Map entries of layers that are not in the layout, by what their names speak of."""
    groups: dict[tuple[str, ...], list[Listed]] = {}
    for listed in unplaced:
        said = listed.declared
        key = (listed.layer_class, said.scheme, said.activations, said.detail)
        groups.setdefault(key, []).append(listed)
    for group in groups.values():
        names = ", ".join(shown(listed.entry) for listed in group[:2])
        more = f" and {len(group) - 2} more" if len(group) > 2 else ""
        first = [listed.declared for listed in group[:_SHOWN_EVIDENCE]]
        yield _format(group[0].layer_class, first, f"{names}{more}")


def _leftovers(unplaced: tuple[Listed, ...], layout: Layout) -> tuple[Note, ...]:
    if not unplaced or not layout.family:
        return ()
    evidence = tuple(item.declared.evidence for item in unplaced[:2] if item.declared.evidence)
    what = f"{len(unplaced)} entries of quantized_layers name no module known here"
    return (Note("no-such-module", what, evidence=evidence),)


def _useful(unknowns: tuple[Unknown, ...], block: QuantDeclaration | None) -> tuple[Unknown, ...]:
    """Without a quantization block it does not matter which layers exist."""
    return unknowns if block else ()


def kv_words(block: QuantDeclaration | None) -> str:
    """The declared KV-cache format, e.g. ``fp8 static tensor``."""
    if block is None:
        return ""
    if block.kv_bits:
        kind = f"fp{block.kv_bits}" if block.kv_kind == "float" else f"int{block.kv_bits}"
        pace = "dynamic" if block.kv_dynamic == "true" else "static"
        return " ".join(filter(None, (kind, pace, shown(block.kv_strategy))))
    return shown(block.kv_algo).lower()
