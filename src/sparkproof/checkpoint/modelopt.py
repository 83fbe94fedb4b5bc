"""Reading ModelOpt's declarations: one algorithm for all layers, or a map of layers."""

from __future__ import annotations

import msgspec

from sparkproof.checkpoint.declared import NOT_LISTED, Declared, Listed, ignored, unreadable
from sparkproof.checkpoint.layout import TOPIC, Module
from sparkproof.checkpoint.matching import ExcludeList, Work, parents, shown
from sparkproof.checkpoint.places import place
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    DeclaredBy,
    Note,
    QuantScheme,
)
from sparkproof.core.unknown import Unknown
from sparkproof.facts.quant_schemes import modelopt_algorithms
from sparkproof.formats.hf_config import QuantDeclaration

MIXED = "MIXED_PRECISION"
_UNREAD = (QuantScheme.UNKNOWN, Activations.UNKNOWN)


class ModelOptUniform:
    """A `Declarer` for one ``quant_algo`` on every layer that is not excluded."""

    def __init__(self, block: QuantDeclaration, work: Work) -> None:
        self._block = block
        self._exclude = _Excluder(block, work)
        self._declared = _read_algorithm(block)

    def declare(self, module: Module) -> Declared:
        """What the declaration says of one module."""
        if skip := self._exclude.look(module):
            return skip
        # Embeddings and routers with a class of their own are no Linear: never quantized.
        return self._declared if "Linear" in module.classes else NOT_LISTED

    def unplaced(self) -> tuple[Listed, ...]:
        """There is no map."""
        return ()

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        """An algorithm that is not known."""
        if self._declared.scheme is not QuantScheme.UNKNOWN:
            return (), ()
        algo = shown(self._block.algo) or "none"
        return (Unknown(self._block.where, f"quant_algo {algo} is not read yet", TOPIC),), ()


class ModelOptMixed:
    """A `Declarer` for ``MIXED_PRECISION``: what the map does not list is not quantized."""

    def __init__(self, block: QuantDeclaration, work: Work) -> None:
        self._block = block
        self._exclude = _Excluder(block, work)
        self._below: dict[str, str] = {}
        self._used: set[str] = set()
        self._borrowed: dict[str, str] = {}
        self._shared: dict[str, tuple[str, str]] = {}
        for name in block.layers:
            for parent in parents(name):
                self._below.setdefault(parent, name)

    def declare(self, module: Module) -> Declared:
        """What the declaration says of one module."""
        if skip := self._exclude.look(module):
            return skip
        entry = self._entry(module)
        if entry is None:
            return NOT_LISTED
        return self._read(entry)

    def _entry(self, module: Module) -> str | None:
        routed = ".experts" in module.name
        fused = module.names[len(module.own_names) :]
        for name in module.own_names if routed else (*fused, *module.own_names):
            if found := self._listed(name, routed=routed):
                self._used.add(found)
                return found
        return self._borrow(module) if routed else self._share(module)

    def _share(self, module: Module) -> str | None:
        """What vLLM loads into one layer has the algorithm of those parts that are listed.

        Parts that are listed with several stop it: then each keeps its own, which is noted.
        """
        layers = self._block.layers
        listed = [name for name in module.shard_names if name in layers]
        if len({layers[name].algo for name in listed}) != 1:
            return None
        self._shared.setdefault(module.layer_class, (module.name, listed[0]))
        return listed[0]

    def _listed(self, name: str, *, routed: bool) -> str | None:
        """The entry of a module itself; for routed experts that of all, or of any part."""
        candidates = [name]
        if routed:
            experts = name.rpartition(".experts")[0] + ".experts"
            candidates = [experts, self._below.get(experts, "")]
        return next((entry for entry in candidates if entry in self._block.layers), None)

    def _borrow(self, module: Module) -> str | None:
        """For experts that no entry names vLLM takes the first entry beside them."""
        for name in module.own_names:
            entry = self._below.get(name.rpartition(".experts")[0])
            if entry:
                self._borrowed.setdefault(module.layer_class, entry)
                return entry
        return None

    def _read(self, entry: str) -> Declared:
        layer = self._block.layers[entry]
        scheme, activations = modelopt_algorithms().get(layer.algo, _UNREAD)
        size = layer.group_size or self._block.group_size
        detail = shown(layer.algo) + (f" group {size}" if size and "4" in layer.algo else "")
        where = f"{self._block.where}.quantized_layers"
        evidence = Evidence(where, f"`{shown(entry)}`: {detail}")
        return Declared(scheme, DeclaredBy.NAME, evidence, activations, detail)

    def unplaced(self) -> tuple[Listed, ...]:
        """Map entries that no module asked for, placed by their names."""
        placed_parents = {parent for name in self._used for parent in parents(name)}
        left = [
            name
            for name in self._block.layers
            if name not in self._used and not _sibling(name, placed_parents)
        ]
        return tuple(Listed(place(name), self._read(name), name) for name in left)

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        """Algorithms of the map that are not known, and an empty map."""
        notes = tuple(
            Note("experts-borrowed", f"experts are not listed, `{shown(entry)}` is", layer_class)
            for layer_class, entry in self._borrowed.items()
        ) + tuple(
            Note("shards-borrowed", f"{shown(name)} is not listed, `{shown(entry)}` is", layer)
            for layer, (name, entry) in self._shared.items()
        )
        if not self._block.layers:
            return (
                Unknown(
                    self._block.where,
                    "MIXED_PRECISION without quantized_layers",
                    TOPIC,
                    "ModelOpt writes the map into hf_quant_config.json too",
                ),
            ), ()
        odd = sorted({q.algo for q in self._block.layers.values()} - set(modelopt_algorithms()))
        return tuple(
            Unknown(
                f"{self._block.where}.quantized_layers",
                f"quant_algo {shown(algo) or 'none'} is not read yet",
                TOPIC,
            )
            for algo in odd[:8]
        ), notes


def _sibling(name: str, placed: set[str]) -> bool:
    """Another expert of a placed layer: expert 0 stands for all of them."""
    experts, found, _ = name.rpartition(".experts.")
    return bool(found) and f"{experts}.experts" in placed


class _Excluder:
    def __init__(self, block: QuantDeclaration, work: Work) -> None:
        self._list = ExcludeList(block.ignore, work)
        self._where = f"{block.where}.{block.ignore_field}"

    def look(self, module: Module) -> Declared | None:
        hit = self._list.find(module.gather())
        if hit is None:
            return None
        return unreadable(hit, self._where) if hit.unreadable else ignored(hit, self._where)


def _read_algorithm(block: QuantDeclaration) -> Declared:
    scheme, activations = modelopt_algorithms().get(block.algo, _UNREAD)
    variant = ""
    silent = block.groups and all(group.input_activations is None for group in block.groups)
    if scheme is QuantScheme.NVFP4_W4A4 and silent:
        scheme, activations = QuantScheme.NVFP4_W4A16, Activations.UNQUANTIZED
        variant = "null-activations"
    size = block.group_size or next(
        (g.weights.group_size for g in block.groups if g.weights and g.weights.group_size), 0
    )
    detail = shown(block.algo) + (f" group {size}" if size and "4" in block.algo else "")
    what = f"quant_algo {detail}" + ("; no group quantizes activations" if variant else "")
    return Declared(
        scheme, DeclaredBy.DEFAULT, Evidence(block.where, what), activations, detail, variant
    )


def with_layers(block: QuantDeclaration, file: QuantDeclaration | None) -> QuantDeclaration:
    """A config.json block whose map stands in ``hf_quant_config.json`` only, as vLLM fills it."""
    if block.layers or file is None or block.algo != MIXED:
        return block
    return msgspec.structs.replace(block, layers=file.layers, where=file.where)
