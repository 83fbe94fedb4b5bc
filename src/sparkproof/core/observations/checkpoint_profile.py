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


class LayerFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scheme of one layer class; a class has several where its layers differ.

    Attributes:
        layers: which of the class's layers, in words ("" for all of them).
        detail: what the scheme's name leaves out, e.g. ``group 16, activations dynamic local``.
        variant: slug of a declared oddity that loaders treat apart ("" for none), e.g.
            ``strategy-group`` (FP4 blocks written as plain groups) or ``null-activations``
            (algorithm NVFP4, yet no config group quantizes activations).
    """

    layer_class: LayerClass
    scheme: QuantScheme
    layers: str = ""
    detail: str = ""
    evidence: tuple[Evidence, ...] = ()
    activations: Activations = Activations.UNQUANTIZED
    declared_by: DeclaredBy = DeclaredBy.NOT_LISTED
    variant: str = ""


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A peculiarity of the declaration: seen, not judged.

    Attributes:
        kind: slug, one of ``split-fusion``, ``entry-not-exact``, ``names-differ``,
            ``no-such-module``, ``experts-borrowed``, ``sources-disagree``; the rule of that
            name judges it.
        subject: layer class it is about ("" for the whole).
        what: one line.
    """

    kind: str
    what: str
    subject: str = ""
    evidence: tuple[Evidence, ...] = ()


class CheckpointProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint's declaration, as read from its metadata alone.

    Attributes:
        name: what the user calls it.
        architectures: ``architectures`` of config.json.
        family: id in the book of model families ("" for an architecture it does not have).
        quant_method: as declared, e.g. ``compressed-tensors`` ("" for none).
        quant_algo: ModelOpt's ``quant_algo`` or compressed-tensors' ``format``, as declared.
        activation_dtype: ``bfloat16`` unless declared otherwise.
        kv_cache_scheme: declared KV-cache format, e.g. ``fp8 static tensor`` ("" for none).
        num_layers, num_experts, head_dim: 0 where not declared.
        draft_layers: multi-token-prediction layers that the config declares.
        reconstructed: where the metadata was rebuilt from described facts, the sources;
            "" for a real one.
        assumed: what such a reconstruction adds without a source, one line each.
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
    family: str = ""
    quant_algo: str = ""
    draft_layers: int = 0
    assumed: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def of(self, layer_class: LayerClass) -> tuple[LayerFormat, ...]:
        """The formats of one layer class, in the order of `formats`."""
        return tuple(item for item in self.formats if item.layer_class is layer_class)
