"""How vLLM's compiled operators answer "do you support this device?"."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.facts.book import load_file


class GateOperator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operator.

    Attributes:
        min_capability: below it the answer is no.
        family: kernel family that must have been compiled for the device's generation; "" where
            the operator asks for no kernel.
    """

    name: str
    min_capability: str
    family: str = ""

    def old_enough(self, device: ComputeCapability) -> bool:
        """Whether the device is at or above the operator's floor."""
        return device >= ComputeCapability.parse(self.min_capability)


class GateOperators(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table, and where it was read."""

    source: str
    checked: date
    holds_for: str
    operators: tuple[GateOperator, ...]


@cache
def gate_operators() -> GateOperators:
    """The table as shipped."""
    return load_file("gates/operators.toml", GateOperators)
