"""How vLLM's compiled operators answer "do you support this device?"."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import cache

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.facts.book import load_file
from sparkproof.facts.releases import holds


class GateOperator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operator, as some releases compile it.

    Attributes:
        min_capability: below it the answer is no.
        below: from this capability on the answer is no ("" for no such bound).
        family: kernel family that must have been compiled for the device's generation; "" where
            the operator asks for no kernel.
        holds_for: releases it was read in, as a PEP 440 specifier.
    """

    name: str
    min_capability: str
    holds_for: str
    below: str = ""
    family: str = ""

    def in_range(self, device: ComputeCapability) -> bool:
        """Whether the operator has a yes for devices of that capability at all."""
        if device < ComputeCapability.parse(self.min_capability):
            return False
        return not self.below or device < ComputeCapability.parse(self.below)

    @property
    def range(self) -> str:
        """``9.0 and newer`` or ``9.0 up to, not including, 12.0``."""
        if self.below:
            return f"{self.min_capability} up to, not including, {self.below}"
        return f"{self.min_capability} and newer"


class GateOperators(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table, and where it was read."""

    source: str
    checked: date
    operators: tuple[GateOperator, ...]

    def of(self, release: str) -> Iterator[GateOperator]:
        """Each operator once: as that release has it, else as the last one that was read."""
        last = {item.name: item for item in self.operators}
        fitting = {item.name: item for item in self.operators if holds(item.holds_for, release)}
        yield from {**last, **fitting}.values()


@cache
def gate_operators() -> GateOperators:
    """The table as shipped."""
    return load_file("gates/operators.toml", GateOperators)
