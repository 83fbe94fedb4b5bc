"""Which reading belongs to which quantization method."""

from __future__ import annotations

from sparkproof.checkpoint.compressed_tensors import CompressedTensors
from sparkproof.checkpoint.declared import NOTHING, Declared, Declarer, Listed
from sparkproof.checkpoint.fp8 import Fp8
from sparkproof.checkpoint.layout import TOPIC, Module
from sparkproof.checkpoint.matching import Work, shown
from sparkproof.checkpoint.modelopt import MIXED, ModelOptMixed, ModelOptUniform, with_layers
from sparkproof.checkpoint.mxfp4 import METHODS as MXFP4_METHODS
from sparkproof.checkpoint.mxfp4 import Mxfp4
from sparkproof.checkpoint.weight_only import WeightOnlyMethod, reads
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    DeclaredBy,
    Note,
    QuantScheme,
)
from sparkproof.core.unknown import Unknown
from sparkproof.facts.model_families import find_family
from sparkproof.formats.hf_config import ModelConfig, QuantDeclaration


class _Unread:
    """A `Declarer` for a method that this version does not read: it never guesses."""

    def __init__(self, block: QuantDeclaration) -> None:
        self._block = block
        self._declared = Declared(
            QuantScheme.UNKNOWN,
            DeclaredBy.DEFAULT,
            Evidence(block.where, f"quant_method {shown(block.method) or 'missing'}"),
            Activations.UNKNOWN,
            detail=shown(block.method),
        )

    def declare(self, module: Module) -> Declared:
        return self._declared

    def unplaced(self) -> tuple[Listed, ...]:
        return ()

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        method = shown(self._block.method)
        why = f"quant_method {method} is not read yet" if method else "quant_method is missing"
        return (Unknown(self._block.where, why, TOPIC),), ()


class _Nothing(_Unread):
    """A `Declarer` for a checkpoint without a quantization block."""

    def __init__(self) -> None:
        super().__init__(QuantDeclaration(where=""))

    def declare(self, module: Module) -> Declared:
        return NOTHING

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        return (), ()


def _expert_dtype(config: ModelConfig) -> str:
    family = find_family(config.architectures, config.model_type)
    return config.expert_dtype or (family.expert_dtype if family else "")


class _AsBuilt:
    """A `Declarer` that leaves out what vLLM builds without the quantization config."""

    def __init__(self, inner: Declarer, method: str) -> None:
        self._inner = inner
        self._method = method

    def declare(self, module: Module) -> Declared:
        if module.without_config and self._method.startswith(module.without_config):
            return _LEFT_OUT
        return self._inner.declare(module)

    def unplaced(self) -> tuple[Listed, ...]:
        return self._inner.unplaced()

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        return self._inner.remarks()


_LEFT_OUT = Declared(
    QuantScheme.UNQUANTIZED,
    DeclaredBy.NOT_LISTED,
    detail="built without a quantization config, whatever is declared",
)


def declarer_for(
    config: ModelConfig, block: QuantDeclaration | None, quant: QuantDeclaration | None
) -> Declarer:
    """The reading of a block; one that reads nothing where the method is not known."""
    if block is None:
        return _Nothing()
    return _AsBuilt(_reader_of(config, block, quant), block.method)


def _reader_of(
    config: ModelConfig, block: QuantDeclaration, quant: QuantDeclaration | None
) -> Declarer:
    work = Work()
    if block.method == "compressed-tensors":
        return CompressedTensors(block, work)
    if block.method == "fp8":
        return Fp8(block, work, _expert_dtype(config))
    if block.method in MXFP4_METHODS:
        return Mxfp4(block, work)
    if reads(block.method):
        return WeightOnlyMethod(block, work)
    if block.method.startswith("modelopt") and block.algo == MIXED:
        return ModelOptMixed(with_layers(block, quant), work)
    if block.method.startswith("modelopt"):
        return ModelOptUniform(block, work)
    return _Unread(block)
