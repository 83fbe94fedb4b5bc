"""What ``checkpoint`` answers."""

from __future__ import annotations

import msgspec

from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    CheckpointProfile,
    LayerClass,
    QuantScheme,
)


class CheckpointLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Layers of one class that are declared and stored alike.

    Attributes:
        layers: which of the class's layers, in words ("" for all of them).
        stored: null where no tensor of them was read.
        run_as: what the release asked about makes of them; null where none was asked about,
            or where it can't be told (see `doubt`).
        detail: what the scheme's name leaves out.
        refusal: what that release does instead of serving ("" where it serves).
        read_bytes: of `bytes`, what one decoded token reads; -1 where it can't be told.
    """

    layer_class: LayerClass
    declared: QuantScheme
    layers: str = ""
    stored: QuantScheme | None = None
    run_as: QuantScheme | None = None
    activations: Activations = Activations.UNQUANTIZED
    detail: str = ""
    refusal: str = ""
    doubt: str = ""
    tensors: int = 0
    parameters: int = 0
    bytes: int = 0
    scale_bytes: int = 0
    read_bytes: int = 0
    evidence: tuple[Evidence, ...] = ()

    @property
    def differs(self) -> bool:
        """Stored otherwise than declared."""
        return self.stored is not None and self.stored is not self.declared


class CheckpointResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint, layer class by layer class.

    Attributes:
        label: the whole in a phrase, e.g. ``mixed: W4A4 + FP8``.
        release: vLLM version asked about ("" for none).
        read_bytes: what one decoded token reads of the weights; -1 where it can't be told.
    """

    label: str
    profile: CheckpointProfile
    lines: tuple[CheckpointLine, ...]
    release: str = ""
    read_bytes: int = -1


DOCUMENTS = {"checkpoint": CheckpointResult}
