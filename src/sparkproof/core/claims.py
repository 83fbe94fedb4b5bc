"""What a probe saw, and what that says of a claim."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.condition import Tri
from sparkproof.core.finding import Evidence


class ClaimAnswer(StrEnum):
    """What an artifact says of a claim."""

    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    CANNOT_BE_TOLD = "cannot be told"


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of one probe.

    Attributes:
        as_claimed: whether what was seen is what the claim expects.
        seen: what the artifact says, or why it can't tell, in one line.
    """

    as_claimed: Tri
    seen: str
    evidence: tuple[Evidence, ...] = ()

    @property
    def answer(self) -> ClaimAnswer:
        """The same as an answer about the claim."""
        return {
            Tri.YES: ClaimAnswer.HOLDS,
            Tri.NO: ClaimAnswer.DOES_NOT_HOLD,
            Tri.UNKNOWN: ClaimAnswer.CANNOT_BE_TOLD,
        }[self.as_claimed]
