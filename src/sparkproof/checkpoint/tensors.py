"""Declared against stored: every tensor of a checkpoint held against its config."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sparkproof.checkpoint.declarers import declarer_for
from sparkproof.checkpoint.held import Held
from sparkproof.checkpoint.layout import Layout, Module, lay_out
from sparkproof.checkpoint.places import place
from sparkproof.checkpoint.stored_notes import stored_notes
from sparkproof.checkpoint.stored_scheme import Stored, stored_scheme
from sparkproof.checkpoint.stored_shapes import shape_notes
from sparkproof.checkpoint.stored_units import Sorted, Unit
from sparkproof.checkpoint.words import say_layers
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import LayerClass, QuantScheme
from sparkproof.core.observations.state_layout import StateLayout
from sparkproof.core.observations.stored_tensors import StoredFormat, StoredTensors
from sparkproof.core.unknown import Unknown
from sparkproof.facts.model_families import ModelFamily, find_family
from sparkproof.facts.tensor_leaves import Role
from sparkproof.formats.hf_config import ModelConfig, QuantDeclaration

_LAYER = re.compile(r"(?:^|\.)(?:layers|blocks|h)\.(\d+)\.")
_TOPIC = "declare"
_ORDER = tuple(LayerClass)
_SCALES = (Role.SCALE, Role.GLOBAL_SCALE, Role.INPUT_SCALE, Role.ZERO_POINT, Role.ORDER)
_NO_LINEAR = frozenset({LayerClass.ROUTER, LayerClass.EMBEDDING})
_OUTSIDE = frozenset({LayerClass.VISION, LayerClass.DRAFT})


def read_stored(
    config: ModelConfig,
    quant: QuantDeclaration | None,
    found: Sorted,
    shards: int,
    state: StateLayout | None = None,
) -> StoredTensors:
    """Hold every tensor against the declaration.

    Args:
        config: of ``config.json``.
        quant: of ``hf_quant_config.json``, where there is one.
        found: the tensors of every shard that could be read.
        shards: how many those are.
        state: counts experts and those that a token meets.
    """
    block = config.quantization or quant
    declarer = declarer_for(config, block, quant)
    modules = _Modules(config, lay_out(config, ()))
    cache: dict[tuple[object, ...], Stored] = {}
    held = []
    for unit in found.units:
        module = modules.of(unit)
        held.append(Held(unit, module, declarer.declare(module), _scheme(unit, cache)))
    formats = tuple(_formats(held, _Reads(config, state, held)))
    reads = [item.read_bytes for item in formats]
    whole = sum(reads) + found.rest_bytes if -1 not in reads else -1
    return StoredTensors(
        shards=shards,
        tensors=found.tensors,
        bytes=found.size_bytes,
        parameters=sum(item.parameters for item in formats),
        formats=formats,
        rest_tensors=found.rest_tensors,
        rest_bytes=found.rest_bytes,
        read_bytes=whole,
        draft_bytes=sum(f.bytes for f in formats if f.layer_class is LayerClass.DRAFT),
        kv_scales=found.kv_scales,
        notes=(
            *stored_notes(config, found, held),
            *shape_notes(held, state.hidden_size if state and modules.in_book else 0),
        ),
        unknowns=tuple(_unknowns(found, held, whole)),
    )


def _scheme(unit: Unit, cache: dict[tuple[object, ...], Stored]) -> Stored:
    """Units of the same types and shapes amount to the same."""
    key = tuple(
        (role, part.name.rpartition(".")[2], part.dtype, part.shape, part.count)
        for role, part in unit.parts.items()
    )
    found = cache.get(key)
    if found is None:
        found = cache[key] = stored_scheme(unit)
    return found


class _Modules:
    """A `Module` for every unit: the layout's where it has the name, else one by its name."""

    def __init__(self, config: ModelConfig, layout: Layout) -> None:
        self._known = {module.name: module for module in layout.modules}
        self._without = {m.layer_class: m.without_config for m in layout.modules}
        self._family: ModelFamily | None = find_family(config.architectures, config.model_type)
        self._body = (
            self._family.body(config.architectures, nested=config.nested) if self._family else ""
        )
        self._layers = config.num_layers or len(config.layer_types) or len(config.hybrid_pattern)
        self._drafts = config.draft_layers
        self._expert = next(
            (m.classes for m in layout.modules if m.layer_class is LayerClass.EXPERTS), ("Linear",)
        )

    @property
    def in_book(self) -> bool:
        """The family's names are known, not guessed."""
        return self._family is not None

    def of(self, unit: Unit) -> Module:
        known = self._known.get(unit.module)
        if known is not None:
            return known
        name = unit.module
        numbered = _LAYER.search(name)
        at = int(numbered[1]) if numbered and len(numbered[1]) < 6 else -1
        layer_class = place(name)
        if layer_class not in _OUTSIDE and 0 < self._layers <= at and self._drafts:
            layer_class = LayerClass.DRAFT
        at = -1 if layer_class in _OUTSIDE else at
        runtime = self._family.runtime_name(name, self._body) if self._family else name
        classes: tuple[str, ...] = () if layer_class in _NO_LINEAR else ("Linear",)
        if layer_class is LayerClass.EXPERTS:
            classes = self._expert
        leaf = name.rpartition(".")[2]
        return Module(
            layer_class,
            name,
            runtime,
            leaf if at >= 0 else name,
            classes,
            at,
            without_config=self._without.get(layer_class, ()),
        )


class _Reads:
    """How much of a unit one decoded token reads."""

    def __init__(
        self, config: ModelConfig, state: StateLayout | None, held: Sequence[Held]
    ) -> None:
        self._experts = config.num_experts or (state.num_experts if state else 0)
        self._active = state.experts_per_token if state else 0
        head = any(item.module.layer_class is LayerClass.LM_HEAD for item in held)
        self._tied = config.tied_embeddings or not head

    def of(self, item: Held) -> int:
        size = _bytes(item.unit)
        layer_class = item.module.layer_class
        if layer_class in _OUTSIDE:
            return 0
        if layer_class is LayerClass.EMBEDDING and not self._tied:
            weight = item.unit.weight
            return size // weight.shape[0] if weight and weight.shape[0] else 0
        if layer_class is LayerClass.EXPERTS:
            if not self._active or not self._experts:
                return -1
            return size * min(self._active, self._experts) // self._experts
        return size


def _bytes(unit: Unit) -> int:
    return sum(part.size_bytes for part in unit.parts.values())


def _formats(held: Sequence[Held], reads: _Reads) -> Iterable[StoredFormat]:
    classes: dict[LayerClass, list[Held]] = {}
    for item in held:
        classes.setdefault(item.module.layer_class, []).append(item)
    for layer_class in sorted(classes, key=_ORDER.index):
        members = classes[layer_class]
        groups: dict[tuple[QuantScheme, QuantScheme], list[Held]] = {}
        for item in members:
            groups.setdefault((item.scheme, item.said.scheme), []).append(item)
        everyone = [item.module for item in members]
        for (scheme, declared), group in groups.items():
            words = say_layers([item.module for item in group], everyone, counted=True)
            yield _format(layer_class, scheme, declared, words, group, reads)


def _format(
    layer_class: LayerClass,
    scheme: QuantScheme,
    declared: QuantScheme,
    words: str,
    group: Sequence[Held],
    reads: _Reads,
) -> StoredFormat:
    read = [reads.of(item) for item in group]
    first = group[0]
    parts = [part for item in group for part in item.unit.parts.values()]
    scales = [item.unit.parts[r] for item in group for r in _SCALES if r in item.unit.parts]
    return StoredFormat(
        layer_class=layer_class,
        scheme=scheme,
        declared=declared,
        layers=words,
        modules=sum(item.unit.weight.count for item in group if item.unit.weight),
        tensors=sum(part.count for part in parts),
        parameters=sum(_parameters(item, scheme) for item in group),
        bytes=sum(part.size_bytes for part in parts),
        scale_bytes=sum(part.size_bytes for part in scales),
        read_bytes=-1 if -1 in read else sum(read),
        evidence=(Evidence(first.unit.module, first.stored.layout),),
    )


def _parameters(item: Held, scheme: QuantScheme) -> int:
    weight = item.unit.weight
    if weight is None:
        return 0
    values = item.stored.values_per_element
    if weight.dtype == "I32" and values == 1:  # the width of packed integers follows the scheme
        values = 4 if scheme is QuantScheme.INT8_W8A16 else 8
    return weight.elements * values * weight.count


def _unknowns(found: Sorted, held: Sequence[Held], whole: int) -> Iterable[Unknown]:
    odd = [item for item in held if not item.stored.fits and not item.stored.missing]
    for item in odd[:4]:
        why = f"its tensors amount to no scheme known here: {item.stored.layout}"
        yield Unknown(item.unit.module, why, _TOPIC)
    if len(odd) > 4:
        yield Unknown("safetensors headers", f"{len(odd) - 4} more modules like these", _TOPIC)
    if found.lonely:
        why = f"{len(found.lonely)} scales without a weight"
        yield Unknown(found.lonely[0], why, _TOPIC)
    if whole < 0:
        yield Unknown(
            "config.json", "how many experts a token meets is not declared", "declare/reads"
        )
