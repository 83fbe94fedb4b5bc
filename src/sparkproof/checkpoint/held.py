"""One unit of a checkpoint's tensors beside its declaration."""

from __future__ import annotations

import msgspec

from sparkproof.checkpoint.declared import Declared
from sparkproof.checkpoint.layout import Module
from sparkproof.checkpoint.stored_scheme import Stored
from sparkproof.checkpoint.stored_units import Unit
from sparkproof.core.observations.checkpoint_profile import QuantScheme


class Held(msgspec.Struct, frozen=True):
    """One unit with what it is declared and what it amounts to."""

    unit: Unit
    module: Module
    said: Declared
    stored: Stored

    @property
    def scheme(self) -> QuantScheme:
        """As stored."""
        return self.stored.scheme(self.said.scheme)
