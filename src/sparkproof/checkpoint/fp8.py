"""Reading ``quant_method: fp8``: serialized FP8 weights, per tensor or in blocks."""

from __future__ import annotations

from sparkproof.checkpoint.declared import NOT_LISTED, Declared, Listed, ignored, unreadable
from sparkproof.checkpoint.layout import TOPIC, Module
from sparkproof.checkpoint.matching import TargetList, Work, shown
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    DeclaredBy,
    LayerClass,
    Note,
    QuantScheme,
)
from sparkproof.core.unknown import Unknown
from sparkproof.formats.hf_config import QuantDeclaration

_NEVER = frozenset({LayerClass.LM_HEAD, LayerClass.EMBEDDING})


class Fp8:
    """A `Declarer` for ``quant_method: fp8``; output layer and embedding stay as they are."""

    def __init__(self, block: QuantDeclaration, work: Work, expert_dtype: str = "") -> None:
        self._where = f"{block.where}.{block.ignore_field}"
        self._skip = TargetList(block.ignore, work)
        self._declared = _read(block)
        self._block = block
        self._experts = _read_experts(block, block.store_dtype or expert_dtype)
        self._asked = False

    def declare(self, module: Module) -> Declared:
        """What the declaration says of one module."""
        module = module.gather()
        skip = self._skip.find(module)
        if skip and skip.unreadable:
            return unreadable(skip, self._where)
        if skip and not skip.of_class:
            return ignored(skip, self._where)
        if module.layer_class in _NEVER or "Linear" not in module.classes:
            return NOT_LISTED
        if self._experts and module.layer_class is LayerClass.EXPERTS:
            self._asked = True
            return self._experts
        return self._declared

    def unplaced(self) -> tuple[Listed, ...]:
        """Experts of another type, where no layer is known to have them."""
        if self._experts is None or self._asked:
            return ()
        return (Listed(LayerClass.EXPERTS, self._experts, "every expert"),)

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        """An activation scheme or block that is not known."""
        odd = [d for d in (self._declared, self._experts) if d and d.scheme == "unknown"]
        return tuple(Unknown(self._block.where, d.detail, TOPIC) for d in odd), ()


def _read(block: QuantDeclaration) -> Declared:
    sides, activation = block.weight_block_size, block.activation_scheme
    if (sides and len(sides) != 2) or activation not in ("dynamic", "static", ""):
        return _unknown(block, "weight_block_size or activation_scheme is not read yet")
    if not sides:
        static = activation == "static"
        kind = Activations.FP8_STATIC_TENSOR if static else Activations.FP8_DYNAMIC_TOKEN
        detail = f"one scale per tensor; activations {activation or 'dynamic'}"
        return _known(block, QuantScheme.FP8_TENSOR, kind, detail)
    if activation == "static":
        return _unknown(block, "blocks of weights with static activations")
    detail = f"blocks of {sides[0]}x{sides[1]}; activations dynamic"
    return _known(block, QuantScheme.FP8_BLOCK, Activations.FP8_DYNAMIC_BLOCK, detail)


def _read_experts(block: QuantDeclaration, dtype: str) -> Declared | None:
    if dtype in ("", "fp8"):
        return None
    if dtype in ("fp4", "mxfp4"):
        detail = f"experts stored as {dtype}, groups of 32"
        return _known(block, QuantScheme.MXFP4, Activations.UNQUANTIZED, detail)
    return _unknown(block, f"experts stored as {shown(dtype)}, which is not read yet")


def _known(
    block: QuantDeclaration, scheme: QuantScheme, kind: Activations, detail: str
) -> Declared:
    evidence = Evidence(block.where, f"fp8, {detail}")
    return Declared(scheme, DeclaredBy.DEFAULT, evidence, kind, detail)


def _unknown(block: QuantDeclaration, why: str) -> Declared:
    evidence = Evidence(block.where, f"fp8, {why}")
    return Declared(QuantScheme.UNKNOWN, DeclaredBy.DEFAULT, evidence, Activations.UNKNOWN, why)
