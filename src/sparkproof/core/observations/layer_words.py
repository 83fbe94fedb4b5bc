"""The words that a checkpoint's declaration and its tensors share."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.finding import Evidence


class LayerClass(StrEnum):
    """Layers that one selection covers together."""

    ATTENTION = "attention"
    LINEAR_ATTENTION = "linear-attention"
    """Gated DeltaNet and Mamba projections."""
    MLP = "mlp"
    EXPERTS = "experts"
    SHARED_EXPERT = "shared-expert"
    ROUTER = "router"
    LM_HEAD = "lm-head"
    EMBEDDING = "embedding"
    DRAFT = "draft"
    VISION = "vision"
    OTHER = "other"
    """Named or covered by the declaration, but not placed: the architecture is not known here."""


class QuantScheme(StrEnum):
    """Weights and activations as the kernels see them."""

    UNQUANTIZED = "unquantized"
    NVFP4_W4A4 = "nvfp4-w4a4"
    NVFP4_W4A16 = "nvfp4-w4a16"
    FP8_TENSOR = "fp8-tensor"
    FP8_CHANNEL = "fp8-channel"
    FP8_BLOCK = "fp8-block"
    FP8_W8A16 = "fp8-w8a16"
    MXFP4 = "mxfp4"
    """Activations as declared, or as the kernel likes them where nothing is."""
    MXFP8 = "mxfp8"
    INT4_W4A16 = "int4-w4a16"
    INT4_W4A8 = "int4-w4a8"
    INT8_W8A16 = "int8-w8a16"
    INT8_W8A8 = "int8-w8a8"
    UNKNOWN = "unknown"


class Activations(StrEnum):
    """What the activations that meet the weights look like."""

    UNQUANTIZED = "unquantized"
    FP4 = "fp4"
    """Blocks of 16 quantized on the fly, under one static scale per tensor."""
    FP8_STATIC_TENSOR = "fp8-static-tensor"
    FP8_DYNAMIC_TENSOR = "fp8-dynamic-tensor"
    FP8_DYNAMIC_TOKEN = "fp8-dynamic-token"  # noqa: S105
    FP8_DYNAMIC_BLOCK = "fp8-dynamic-block"
    MXFP4 = "mxfp4"
    MXFP8 = "mxfp8"
    INT8_STATIC_TENSOR = "int8-static-tensor"
    INT8_DYNAMIC_TOKEN = "int8-dynamic-token"  # noqa: S105
    UNKNOWN = "unknown"


class DeclaredBy(StrEnum):
    """What in the declaration decided for a layer."""

    NAME = "name"
    """A target or map entry that names it, or one of its parts."""
    PATTERN = "pattern"
    """A regular expression or wildcard that matches its name."""
    CLASS = "class"
    """A target that names its module class, e.g. ``Linear``."""
    DEFAULT = "default"
    """The method quantizes everything that is not excluded."""
    EXCLUDED = "excluded"
    """An ignore or exclude entry."""
    NOT_LISTED = "not-listed"
    """Nothing covers it."""
    NOTHING = "nothing"
    """The checkpoint declares no quantization at all."""


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A peculiarity of the declaration: seen, not judged.

    Attributes:
        kind: slug; the rule ``checkpoint/<kind>`` judges it.
        subject: layer class it is about ("" for the whole).
        what: one line.
    """

    kind: str
    what: str
    subject: str = ""
    evidence: tuple[Evidence, ...] = ()
