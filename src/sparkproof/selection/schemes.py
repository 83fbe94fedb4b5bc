"""What decides for a quantization scheme, and what the release's own objects call it."""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.condition import Scalar
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    LayerClass,
    LayerFormat,
    QuantScheme,
)

_S = QuantScheme
_GROUP = re.compile(r"\bgroup(?: size)? (\d+|row)")


class SchemeWords(msgspec.Struct, frozen=True):
    """One scheme, as selection functions speak of it.

    Attributes:
        experts, dense: ids of the oracles that decide ("" for none).
        weight, activation: names of the release's constants (None for unquantized).
        kind: key of ``linear_backend_per_quant``.
    """

    experts: str = ""
    dense: str = ""
    weight: str | None = None
    activation: str | None = None
    kind: str = ""


_FP8_MOE, _INT_MOE, _NVFP4 = "moe/fp8", "moe/int-wna16", "moe/nvfp4"
_MIXED = "dense/mixed-precision"
WORDS: dict[QuantScheme, SchemeWords] = {
    _S.UNQUANTIZED: SchemeWords("moe/unquantized"),
    _S.NVFP4_W4A4: SchemeWords(
        _NVFP4, "dense/nvfp4", "kNvfp4Static", "kNvfp4Dynamic", "nvfp4_w4a4"
    ),
    _S.NVFP4_W4A16: SchemeWords(_NVFP4, "dense/nvfp4", "kNvfp4Static", None, "nvfp4_w4a16"),
    _S.FP8_TENSOR: SchemeWords(
        _FP8_MOE, "dense/fp8", "kFp8StaticTensorSym", "kFp8StaticTensorSym", "fp8_w8a8"
    ),
    _S.FP8_CHANNEL: SchemeWords(
        _FP8_MOE, "dense/fp8", "kFp8StaticChannelSym", "kFp8DynamicTokenSym", "fp8_w8a8"
    ),
    _S.FP8_BLOCK: SchemeWords(
        _FP8_MOE,
        "dense/fp8-block",
        "kFp8Static128BlockSym",
        "kFp8Dynamic128Sym",
        "fp8_block_w8a8",
    ),
    _S.FP8_W8A16: SchemeWords("", "dense/fp8-w8a16", "kFp8StaticChannelSym", None, "w8a16_fp8"),
    _S.MXFP4: SchemeWords("moe/mxfp4", "dense/mxfp4", "kMxfp4Static", None, "mxfp4"),
    _S.MXFP8: SchemeWords("moe/mxfp8", "dense/mxfp8", "kMxfp8Static", "kMxfp8Dynamic", "mxfp8"),
    _S.INT4_W4A16: SchemeWords(_INT_MOE, _MIXED, "kInt4Static", None, "mixed_precision"),
    _S.INT8_W8A16: SchemeWords(_INT_MOE, _MIXED, "kInt8Static", None, "mixed_precision"),
    _S.INT8_W8A8: SchemeWords(
        "moe/int8", "dense/int8", "kInt8StaticChannelSym", "kInt8DynamicTokenSym", "int8_w8a8"
    ),
}
_NO_WORDS = SchemeWords()
_BY_ACTIVATIONS = {
    Activations.FP8_STATIC_TENSOR: "kFp8StaticTensorSym",
    Activations.FP8_DYNAMIC_TENSOR: "kFp8DynamicTensorSym",
    Activations.FP8_DYNAMIC_TOKEN: "kFp8DynamicTokenSym",
    Activations.FP8_DYNAMIC_BLOCK: "kFp8Dynamic128Sym",
    Activations.MXFP4: "kMxfp4Dynamic",
    Activations.MXFP8: "kMxfp8Dynamic",
}
_BY_LAYER = (_S.FP8_TENSOR, _S.FP8_CHANNEL, _S.FP8_BLOCK, _S.MXFP4)
"""Schemes whose activations differ from checkpoint to checkpoint."""
_INTEGERS = {_S.INT4_W4A16: (4, 8), _S.INT8_W8A16: (8, 128)}
"""Bits, and the bias of the symmetric type: ``uint4b8`` and ``uint8b128``."""


def oracle_of(layer: LayerFormat) -> str:
    """Id of the oracle that decides for a layer format, "" where none does."""
    words = WORDS.get(layer.scheme, _NO_WORDS)
    return words.experts if layer.layer_class is LayerClass.EXPERTS else words.dense


def kind_of(layer: LayerFormat) -> str:
    """What ``linear_backend_per_quant`` calls the layer's scheme."""
    return WORDS.get(layer.scheme, _NO_WORDS).kind


def weight_and_activation(layer: LayerFormat) -> tuple[str | None, str | None]:
    """Names of the release's constants for the layer's weights and activations."""
    words = WORDS.get(layer.scheme, _NO_WORDS)
    weight, activation = words.weight, words.activation
    if layer.scheme in _BY_LAYER and layer.activations is not Activations.UNQUANTIZED:
        activation = _BY_ACTIVATIONS.get(layer.activations, activation or "")
    if layer.scheme in _INTEGERS and _asymmetric(layer):
        weight = f"{weight}Asym"
    return weight, activation


def integer_settings(layer: LayerFormat) -> dict[str, Scalar]:
    """What a selection of integer kernels asks; nothing for other schemes."""
    if layer.scheme not in _INTEGERS:
        return {}
    bits, bias = _INTEGERS[layer.scheme]
    asymmetric = _asymmetric(layer)
    found: dict[str, Scalar] = {
        "linear.weight_type": f"ScalarType(0, {bits}, False, {0 if asymmetric else bias})",
        "linear.weight_type.size_bits": bits,
        "linear.zero_points": asymmetric,
        "linear.act_type": "torch.bfloat16",
        "linear.act_type.itemsize": 2,
        "linear.out_type": "torch.bfloat16",
        "linear.has_g_idx": False,
        "weight_key.dtype.size_bits": bits,
        "weight_key.dtype.is_integer()": True,
        "weight_key.dtype.is_signed()": False,
        "may_have_zp": asymmetric,
    }
    group = _GROUP.search(layer.detail)
    if group:
        found["linear.group_size"] = -1 if group[1] == "row" else int(group[1])
    return found


def _asymmetric(layer: LayerFormat) -> bool:
    return layer.variant == "asymmetric" or "asymmetric" in layer.detail
