"""What a checkpoint says it is, layer class by layer class."""

from __future__ import annotations

import msgspec

from sparkproof.core.finding import Evidence
from sparkproof.core.observations.layer_words import (
    Activations,
    DeclaredBy,
    LayerClass,
    Note,
    QuantScheme,
)
from sparkproof.core.observations.state_layout import StateLayout
from sparkproof.core.observations.stored_tensors import StoredTensors
from sparkproof.core.unknown import Unknown

__all__ = [
    "Activations",
    "CheckpointProfile",
    "DeclaredBy",
    "LayerClass",
    "LayerFormat",
    "Note",
    "QuantScheme",
]


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
        max_position: longest context that the config declares, tokens.
        state: what each layer keeps per token or request; None where it can't be told.
        state_unknowns: why not; they matter to memory arithmetic alone.
        stored: what the tensors are; None where no header was read.
        routing: how tokens are sent to experts, key by key as the config declares it.
        index_topk: how many tokens an indexer picks for attention; 0 where none is declared.
        guess: why it is guessed which layers there are and what they are called, where that
            decides what runs ("" where it is known).
        own_classes: model classes in code that comes with the checkpoint; it is never run here.
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
    max_position: int = 0
    state: StateLayout | None = None
    state_unknowns: tuple[Unknown, ...] = ()
    stored: StoredTensors | None = None
    routing: dict[str, str | int | float | bool] = {}
    index_topk: int = 0
    guess: str = ""
    own_classes: tuple[str, ...] = ()

    def of(self, layer_class: LayerClass) -> tuple[LayerFormat, ...]:
        """The formats of one layer class, in the order of `formats`."""
        return tuple(item for item in self.formats if item.layer_class is layer_class)
