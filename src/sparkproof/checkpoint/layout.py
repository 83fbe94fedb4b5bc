"""Which modules a model has, by class, layer and name: generated from its config."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from sparkproof.checkpoint.layer_pattern import Part as LayerPart
from sparkproof.checkpoint.layer_pattern import attends, part_named
from sparkproof.core.observations.checkpoint_profile import LayerClass
from sparkproof.core.unknown import Unknown
from sparkproof.facts.model_families import ModelFamily, On, Part, find_family, generic_family
from sparkproof.formats.hf_config import ModelConfig

PROBED_LAYERS = 128
"""Layers tried where the config does not say how many there are."""
TOPIC = "declare"
_ROUTED = ".experts."
_NESTED_BODY = "model.language_model."
_OF_PART = {
    LayerPart.FULL: frozenset({On.ATTENTION}),
    LayerPart.SLIDING: frozenset({On.ATTENTION}),
    LayerPart.CHUNKED: frozenset({On.ATTENTION}),
    LayerPart.RECURRENT: frozenset({On.LINEAR}),
    LayerPart.BOTH: frozenset({On.ATTENTION, On.LINEAR}),
}
_FEEDS = {"-": On.MLP, "mlp": On.MLP, "E": On.MOE, "moe": On.MOE}
_FED = frozenset({On.MLP, On.MOE})
_TYPE_WORDS = (
    ("linear", On.LINEAR),
    ("mamba", On.LINEAR),
    ("attention", On.ATTENTION),
    ("moe", On.MOE),
    ("mlp", On.MLP),
)
_HINTS = {
    On.MOE: ("expert",),
    On.LINEAR: ("linear_attn", "mamba", "in_proj"),
    On.DRAFT: ("mtp", "draft"),
    On.VISION: ("vis",),
}


class Module(msgspec.Struct, frozen=True):
    """One linear layer, embedding or expert projection.

    Attributes:
        name: as checkpoints name it.
        runtime_name: as vLLM names it.
        layer: decoder layer, -1 outside of them.
        projection: the name without what tells layers apart.
        fusion: name of the layer that vLLM loads it into with others ("" for none).
        shards: last parts of the names of all that are loaded into that layer.
        gathered: stands for all projections of all routed experts of its layer.
        without_config: see `sparkproof.facts.model_families.Part`.
    """

    layer_class: LayerClass
    name: str
    runtime_name: str
    projection: str
    classes: tuple[str, ...]
    layer: int = -1
    fusion: str = ""
    shards: tuple[str, ...] = ()
    gathered: bool = False
    without_config: tuple[str, ...] = ()

    @property
    def routed(self) -> str:
        """Name of the one module that vLLM makes of a layer's routed experts, "" outside."""
        return _gathered(self.runtime_name) or _gathered(self.name)

    def gather(self) -> Module:
        """The one module that vLLM makes of all routed experts; itself outside of them."""
        if not self.routed:
            return self
        name = _gathered(self.name) or self.routed
        return msgspec.structs.replace(
            self, name=name, runtime_name=self.routed, fusion="", shards=(), gathered=True
        )

    @property
    def own_names(self) -> tuple[str, ...]:
        """The checkpoint's name and, where it differs, vLLM's."""
        return (self.name,) if self.name == self.runtime_name else (self.name, self.runtime_name)

    @property
    def shard_names(self) -> tuple[str, ...]:
        """Every name of all modules that are loaded into the same layer; none outside of one."""
        before = [name.rpartition(".")[0] for name in self.own_names]
        return tuple(f"{prefix}.{leaf}" for prefix in before for leaf in self.shards)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name an entry may use, the module's own first."""
        if not self.fusion:
            return self.own_names
        leaf = self.fusion.rpartition(".")[2]
        fused = (f"{name.rpartition('.')[0]}.{leaf}" for name in self.own_names)
        return (*self.own_names, *fused)


def _gathered(name: str) -> str:
    before, found, _ = name.rpartition(_ROUTED)
    return f"{before}{_ROUTED[:-1]}" if found else ""


class Layout(msgspec.Struct, frozen=True):
    """All modules of one model.

    Attributes:
        family: id ("" where the architecture is not in the book).
        counted: the number of layers is known; otherwise `PROBED_LAYERS` stand for them.
        guess: why the modules have usual names, which nobody looked up ("" where they are known).
    """

    modules: tuple[Module, ...]
    family: str
    counted: bool
    guess: str = ""
    unknowns: tuple[Unknown, ...] = ()


def lay_out(config: ModelConfig, hints: Iterable[str]) -> Layout:
    """Generate a model's modules.

    Args:
        config: what is known of its shape.
        hints: the declaration's own entries; where the architecture is not known they tell
            which kinds of layer are worth probing.
    """
    family = find_family(config.architectures, config.model_type)
    unknowns: list[Unknown] = []
    kinds = _layer_kinds(config, unknowns)
    if family is None:
        unknowns.append(_no_family(config))
        found = _usual(config, kinds, _hinted(hints, config), unknowns)
        return msgspec.structs.replace(found, guess=unknowns[-1].why)
    body = family.body(config.architectures, nested=config.nested)
    if not kinds:
        unknowns.append(Unknown(config.where, "num_hidden_layers is not declared", TOPIC))
    outside = _outside(config)
    every = frozenset(part.on for part in family.parts) | {On.LAYER}
    per_layer = [_fit(kind, family) for kind in kinds] or [every] * PROBED_LAYERS
    modules = _Builder(family, body, config).build(per_layer, outside if kinds else every)
    return Layout(tuple(modules), family.id, counted=bool(kinds), unknowns=tuple(unknowns))


def _usual(
    config: ModelConfig, kinds: list[frozenset[On]], hinted: frozenset[On], unknowns: list[Unknown]
) -> Layout:
    """Usual names for an architecture that is not in the book, in the shape the config gives."""
    outside = _outside(config) | hinted if kinds else hinted
    builder = _Builder(generic_family(), _NESTED_BODY if config.nested else "model.", config)
    modules = builder.build(kinds or [hinted] * PROBED_LAYERS, outside)
    return Layout(tuple(modules), "", counted=bool(kinds), unknowns=tuple(unknowns))


def _no_family(config: ModelConfig) -> Unknown:
    what = ", ".join(config.architectures) or config.model_type
    if not what:
        return Unknown(config.where, "no architecture is declared", TOPIC)
    told = "".join(char if char.isprintable() else "?" for char in what[:120])
    return Unknown(config.where, f"{told} is not in the book of families", TOPIC)


def _outside(config: ModelConfig) -> frozenset[On]:
    found = {On.TOP}
    if config.vision:
        found.add(On.VISION)
    if config.draft_layers:
        found.add(On.DRAFT)
    return frozenset(found)


def _hinted(hints: Iterable[str], config: ModelConfig) -> frozenset[On]:
    text = "\n".join(hints).lower()
    found = {kind for kind, words in _HINTS.items() if any(word in text for word in words)}
    if config.num_experts:
        found.add(On.MOE)
    if On.MOE not in found:
        found.add(On.MLP)
    return frozenset(found | {On.ATTENTION, On.LAYER, On.TOP})


def _fit(kinds: frozenset[On], family: ModelFamily) -> frozenset[On]:
    """A mixture of experts without the word in its config, and the reverse, keep what exists."""
    has = {part.on for part in family.parts}
    if On.MOE in kinds and On.MOE not in has:
        return kinds - {On.MOE} | {On.MLP}
    dense = any(part.layer_class is LayerClass.MLP for part in family.parts)
    if On.MLP in kinds and not dense and On.MOE in has:
        return kinds - {On.MLP} | {On.MOE}
    return kinds


def _layer_kinds(config: ModelConfig, unknowns: list[Unknown]) -> list[frozenset[On]]:
    """What each decoder layer is made of; empty where their number is not known."""
    if config.hybrid_pattern:
        return [_one_letter(config, at, unknowns) for at in range(len(config.hybrid_pattern))]
    count = config.num_layers or len(config.layer_types)
    if config.layer_types and len(config.layer_types) != count:
        unknowns.append(
            Unknown(
                config.where,
                f"layer_types has {len(config.layer_types)} entries for {count} layers",
                TOPIC,
            )
        )
    apart = config.feedless or any(_kinds_named(t.lower()) & _FED for t in config.layer_types)
    return [_one_layer(config, at, unknowns, apart=apart) for at in range(count)]


def _one_letter(config: ModelConfig, at: int, unknowns: list[Unknown]) -> frozenset[On]:
    letter = config.hybrid_pattern[at]
    kinds = _kinds_named(letter)
    if not kinds:
        unknowns.append(
            Unknown(
                f"{config.where}: hybrid_override_pattern",
                f"layer {at} is of kind {letter!r}",
                TOPIC,
            )
        )
    return kinds | {On.LAYER}


def _kinds_named(name: str) -> frozenset[On]:
    """What a layer of a named kind is made of; empty where the name is not known."""
    part = part_named(name)
    if part in _OF_PART:
        return _OF_PART[part]
    return frozenset({_FEEDS[name]}) if name in _FEEDS else frozenset()


def _one_layer(
    config: ModelConfig, at: int, unknowns: list[Unknown], *, apart: bool
) -> frozenset[On]:
    """`apart`: an MLP or experts are a layer of their own, so that no other has them."""
    feed = On.MOE if _is_sparse(config, at) else On.MLP
    if at >= len(config.layer_types):
        interval = config.full_attention_interval
        linear = interval > 0 and not attends(at, interval)
        return frozenset({On.LINEAR if linear else On.ATTENTION, feed, On.LAYER})
    stated = config.layer_types[at].lower()
    kinds = _kinds_named(stated) or frozenset(
        [kind for word, kind in _TYPE_WORDS if word in stated][:1]
    )
    if not kinds:
        unknowns.append(
            Unknown(f"{config.where}: layer_types", f"layer {at} is of kind {stated[:40]!r}", TOPIC)
        )
        return frozenset({feed, On.LAYER})
    return kinds | ({On.LAYER} if apart else {feed, On.LAYER})


def _is_sparse(config: ModelConfig, at: int) -> bool:
    return config.num_experts > 0 and config.expert_layers.has(at)


class _Builder:
    def __init__(self, family: ModelFamily, body: str, config: ModelConfig) -> None:
        self._family = family
        self._body = body
        self._config = config
        self._fused = {leaf: name for name, group in family.fused.items() for leaf in group}

    def build(self, per_layer: list[frozenset[On]], outside: frozenset[On]) -> Iterator[Module]:
        layered = [p for p in self._family.parts if p.on not in (On.TOP, On.VISION, On.DRAFT)]
        for at, kinds in enumerate(per_layer):
            for part in layered:
                if part.on in kinds and self._exists(part):
                    yield from self._in_layer(part, at)
        for part in self._family.parts:
            if part in layered or part.on not in outside:
                continue
            for draft in range(max(self._config.draft_layers, 1) if part.on is On.DRAFT else 1):
                yield from self._alone(part, draft)

    def _exists(self, part: Part) -> bool:
        shared = part.layer_class is LayerClass.SHARED_EXPERT
        told = self._config.shared_expert or not self._config.num_experts
        return part.always or not shared or told

    def _in_layer(self, part: Part, at: int) -> Iterator[Module]:
        for module in part.modules:
            yield self._module(part, f"{self._body}layers.{at}.{module}", module, at)

    def _alone(self, part: Part, draft: int) -> Iterator[Module]:
        after = self._config.num_layers + draft
        for template in part.modules:
            name = template.format(body=self._body, draft=draft, after=after)
            yield self._module(part, name, name, -1)

    def _module(self, part: Part, name: str, projection: str, layer: int) -> Module:
        prefix, _, leaf = name.rpartition(".")
        fused = self._fused.get(leaf)
        return Module(
            layer_class=part.layer_class,
            name=name,
            runtime_name=self._family.runtime_name(name, self._body),
            projection=projection.rpartition(".")[2] if layer >= 0 else projection,
            classes=part.classes,
            layer=layer,
            fusion=f"{prefix}.{fused}" if fused else "",
            shards=self._family.fused[fused] if fused else (),
            without_config=part.without_config,
        )
