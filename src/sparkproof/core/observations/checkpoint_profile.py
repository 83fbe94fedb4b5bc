"""What a checkpoint says it is, layer class by layer class."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.finding import Evidence
from sparkproof.core.unknown import Unknown


class LayerClass(StrEnum):
    """Layers that one selection covers together."""

    ATTENTION = "attention"
    LINEAR_ATTENTION = "linear-attention"
    MLP = "mlp"
    EXPERTS = "experts"
    SHARED_EXPERT = "shared-expert"
    ROUTER = "router"
    LM_HEAD = "lm-head"
    EMBEDDING = "embedding"
    DRAFT = "draft"
    VISION = "vision"


class QuantScheme(StrEnum):
    """Weights and activations as the kernels see them."""

    UNQUANTIZED = "unquantized"
    NVFP4_W4A4 = "nvfp4-w4a4"
    NVFP4_W4A16 = "nvfp4-w4a16"
    FP8_TENSOR = "fp8-tensor"
    FP8_CHANNEL = "fp8-channel"
    FP8_BLOCK = "fp8-block"
    UNKNOWN = "unknown"


class LayerFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scheme of one layer class; a class has several where its layers differ.

    Attributes:
        layers: which of the class's layers, in words ("" for all of them).
        detail: what the scheme's name leaves out, e.g. ``group 16, activations dynamic local``.
    """

    layer_class: LayerClass
    scheme: QuantScheme
    layers: str = ""
    detail: str = ""
    evidence: tuple[Evidence, ...] = ()


class CheckpointProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint's declaration, as read from its metadata alone.

    Attributes:
        name: what the user calls it.
        architectures: ``architectures`` of config.json.
        quant_method: as declared, e.g. ``compressed-tensors`` ("" for none).
        activation_dtype: ``bfloat16`` unless declared otherwise.
        kv_cache_scheme: declared KV-cache format ("" for none).
        reconstructed: where the metadata was rebuilt from described facts, the sources;
            "" for a real one.
    """

    name: str
    architectures: tuple[str, ...]
    model_type: str
    quant_method: str
    formats: tuple[LayerFormat, ...]
    activation_dtype: str = "bfloat16"
    kv_cache_scheme: str = ""
    hidden_act: str = ""
    head_dim: int = 0
    num_layers: int = 0
    num_experts: int = 0
    reconstructed: str = ""
    unknowns: tuple[Unknown, ...] = ()
