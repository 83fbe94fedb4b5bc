"""Tensors sorted into the modules that they make up; the experts of a layer are one unit."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from sparkproof.facts.tensor_leaves import Role, leaf_book
from sparkproof.formats.safetensors import ShardHeader, StoredTensor

_EXPERTS = ".experts."
FLOAT_TYPES = frozenset({"BF16", "F16", "F32", "F64"})


class Part:
    """All tensors of one role in a unit.

    Attributes:
        count: how many.
        size_bytes: of all together.
        name: the first of them.
        odd: another one of the same role has another type or shape.
    """

    __slots__ = ("count", "dtype", "name", "odd", "shape", "size_bytes")

    def __init__(self, name: str, tensor: StoredTensor) -> None:
        self.name = name
        self.dtype = tensor.dtype
        self.shape = tensor.shape
        self.count = 1
        self.size_bytes = tensor.size_bytes
        self.odd = ""

    def add(self, name: str, tensor: StoredTensor) -> None:
        """One more of the kind."""
        self.count += 1
        self.size_bytes += tensor.size_bytes
        if tensor.dtype != self.dtype or tensor.shape != self.shape:
            self.odd = self.odd or name

    @property
    def elements(self) -> int:
        """Numbers in one of them, as stored."""
        return prod(self.shape)


class Unit:
    """One module of one layer, or the same projection of all experts of a layer.

    Attributes:
        module: its name; expert 0 stands for all.
        parts: by role; `Role.ASIDE` is left out (see `Sorted.rest_bytes`).
    """

    __slots__ = ("module", "parts")

    def __init__(self, module: str) -> None:
        self.module = module
        self.parts: dict[Role, Part] = {}

    @property
    def weight(self) -> Part | None:
        """Its weight."""
        return self.parts.get(Role.WEIGHT)

    @property
    def is_matrix(self) -> bool:
        """Something that is multiplied with, not a norm, a bias or a convolution."""
        weight = self.weight
        if weight is None:
            return False
        sides = [side for side in weight.shape if side != 1]
        return len(sides) > 1 and not self.module.endswith("conv1d")

    @property
    def is_plain(self) -> bool:
        """A matrix in a type that is not quantized."""
        weight = self.weight
        return self.is_matrix and weight is not None and weight.dtype in FLOAT_TYPES


class Sorted:
    """All units of a checkpoint, and what belongs to none.

    Attributes:
        twice: names that stand in two shards.
        lonely: units without a weight, by the name of their first tensor.
    """

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.tensors = 0
        self.size_bytes = 0
        self.rest_tensors = 0
        self.rest_bytes = 0
        self.kv_scales = 0
        self.twice: list[str] = []
        self.lonely: list[str] = []


def sort_tensors(headers: Iterable[ShardHeader]) -> Sorted:
    """Sort the tensors of all shards; time grows with their number alone."""
    found = Sorted()
    raw: dict[str, dict[str, Part]] = {}
    seen: set[str] = set()
    for header in headers:
        for name, tensor in header.tensors.items():
            module, _, leaf = name.rpartition(".")
            before, experts, after = module.partition(_EXPERTS)
            if experts:
                number, dot, rest = after.partition(".")
                if dot and number.isdecimal():
                    module = f"{before}.experts.0.{rest}"
            parts = raw.get(module)
            if parts is None:
                parts = raw[module] = {}
            part = parts.get(leaf)
            if part is None:
                parts[leaf] = Part(name, tensor)
            else:
                part.add(name, tensor)
        found.twice += sorted(seen & header.tensors.keys())
        seen |= header.tensors.keys()
        found.tensors += len(header.tensors)
    _gather(raw, found)
    return found


def _gather(raw: dict[str, dict[str, Part]], found: Sorted) -> None:
    book = leaf_book()
    units: dict[str, Unit] = {}
    for module, leaves in raw.items():
        for leaf, part in leaves.items():
            found.size_bytes += part.size_bytes
            stem, role = book.split(leaf)
            name = f"{module}.{stem}".lstrip(".") if stem else module
            if role is Role.KV_SCALE:
                found.kv_scales += part.count
            if role in (Role.ASIDE, Role.KV_SCALE):
                _set_aside(found, part)
                continue
            unit = units.get(name)
            if unit is None:
                unit = units[name] = Unit(name)
            unit.parts.setdefault(role or Role.WEIGHT, part)
    for unit in units.values():
        if unit.is_matrix:
            found.units.append(unit)
            continue
        if unit.weight is None:
            found.lonely.append(next(iter(unit.parts.values())).name)
        for part in unit.parts.values():
            _set_aside(found, part)


def _set_aside(found: Sorted, part: Part) -> None:
    found.rest_tensors += part.count
    found.rest_bytes += part.size_bytes
