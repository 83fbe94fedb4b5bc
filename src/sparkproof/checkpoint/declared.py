"""What one module is declared to be, and how each quantization method says it."""

from __future__ import annotations

from typing import Protocol

import msgspec

from sparkproof.checkpoint.layout import Module
from sparkproof.checkpoint.matching import Hit, shown
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    DeclaredBy,
    LayerClass,
    Note,
    QuantScheme,
)
from sparkproof.core.unknown import Unknown


class Declared(msgspec.Struct, frozen=True):
    """One module's declaration.

    Attributes:
        evidence: the field and entry it rests on.
        loose: the entry names a parent, not the module itself.
        one_name: the entry does not match both the checkpoint's and vLLM's name of the module.
    """

    scheme: QuantScheme
    by: DeclaredBy
    evidence: Evidence | None = None
    activations: Activations = Activations.UNQUANTIZED
    detail: str = ""
    variant: str = ""
    loose: bool = False
    one_name: bool = False


class Listed(msgspec.Struct, frozen=True):
    """A map entry that no module of the layout has, placed by its name as far as it tells."""

    layer_class: LayerClass
    declared: Declared
    entry: str


class Declarer(Protocol):
    """One quantization method's reading of a declaration."""

    def declare(self, module: Module) -> Declared:
        """What the declaration says of one module."""
        ...

    def unplaced(self) -> tuple[Listed, ...]:
        """Entries that named no module so far."""
        ...

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        """What could not be read, and peculiarities, of the declaration as a whole."""
        ...


def unreadable(hit: Hit, where: str) -> Declared:
    """A module that an entry covers or not, which can't be told."""
    return Declared(
        QuantScheme.UNKNOWN,
        DeclaredBy.PATTERN,
        Evidence(where, f"`{shown(hit.entry)}`: {hit.unreadable[:200]}"),
        Activations.UNKNOWN,
        detail="an entry that may cover it can't be evaluated",
    )


def ignored(hit: Hit, where: str, *, matters: bool = True) -> Declared:
    """A module that an ignore entry leaves out; `matters` where something else would cover it."""
    return Declared(
        QuantScheme.UNQUANTIZED,
        DeclaredBy.EXCLUDED,
        Evidence(where, f"entry `{shown(hit.entry)}`"),
        loose=hit.loose and matters,
        one_name=hit.one_name and matters,
    )


NOT_LISTED = Declared(QuantScheme.UNQUANTIZED, DeclaredBy.NOT_LISTED)
NOTHING = Declared(QuantScheme.UNQUANTIZED, DeclaredBy.NOTHING)
