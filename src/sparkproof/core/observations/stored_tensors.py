"""What a checkpoint's safetensors headers hold, layer class by layer class."""

from __future__ import annotations

import msgspec

from sparkproof.core.finding import Evidence
from sparkproof.core.observations.layer_words import LayerClass, Note, QuantScheme
from sparkproof.core.unknown import Unknown


class StoredFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Layers of one class that are stored and declared alike.

    Attributes:
        scheme: what types, shapes and names of the tensors amount to.
        declared: what the config says of the same layers.
        layers: which of the class's layers, in words ("" for all of them).
        modules: projections; each expert counts.
        tensors: their weights and all that belongs to them.
        parameters: weights, unpacked.
        bytes: of all tensors, scales included.
        scale_bytes: of scales, zero points and orders alone.
        read_bytes: of them, what one decoded token reads: of the experts those it meets, of
            the embedding its row; -1 where it can't be told.
    """

    layer_class: LayerClass
    scheme: QuantScheme
    declared: QuantScheme
    layers: str = ""
    modules: int = 0
    tensors: int = 0
    parameters: int = 0
    bytes: int = 0
    scale_bytes: int = 0
    read_bytes: int = 0
    evidence: tuple[Evidence, ...] = ()

    @property
    def agrees(self) -> bool:
        """Stored as declared."""
        return self.scheme is self.declared


class StoredTensors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All tensors of a checkpoint.

    Attributes:
        formats: one line per layer class, scheme and declaration.
        rest_tensors, rest_bytes: norms, biases, convolutions and other small tensors.
        read_bytes: what one decoded token reads of everything; -1 where it can't be told.
        draft_bytes: of the draft layers, which `read_bytes` leaves out.
        kv_scales: scales of keys and values.
        notes: what differs from the declaration; the rule of the note's kind judges it.
    """

    shards: int
    tensors: int
    bytes: int
    parameters: int
    formats: tuple[StoredFormat, ...] = ()
    rest_tensors: int = 0
    rest_bytes: int = 0
    read_bytes: int = 0
    draft_bytes: int = 0
    kv_scales: int = 0
    notes: tuple[Note, ...] = ()
    unknowns: tuple[Unknown, ...] = ()

    def of(self, layer_class: LayerClass) -> tuple[StoredFormat, ...]:
        """The lines of one layer class."""
        return tuple(item for item in self.formats if item.layer_class is layer_class)
