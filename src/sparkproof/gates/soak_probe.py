"""A probe under load against the same one asked alone: rounding, or a fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparkproof.core.ab import DivergenceClass
from sparkproof.core.digest import sha256_hex
from sparkproof.core.observations.ab_run import Token
from sparkproof.core.observations.soak_run import Outcome, SoakRecord
from sparkproof.gates.ab_divergence import compare_answers

_DIGITS = 16


class Compared(NamedTuple):
    """What an answer is; `tie` where it parts at two tokens that were nearly as likely."""

    outcome: Outcome = Outcome.OK
    why: str = ""
    tie: bool = False


def said_digest(text: str) -> str:
    """What a record keeps of an answer's text, to know it again."""
    return sha256_hex(text.encode("utf-8", "backslashreplace"))[:_DIGITS]


def compare_probe(alone: SoakRecord, text: str, tokens: Sequence[Token], *, held: bool) -> Compared:
    """Corrupted where the same tokens became another text, or where it is wrong now from a token
    on that the model was sure of (as `gates.ab_divergence` means it).

    Args:
        alone: the record of the probe when nothing else ran; it was right then.
        held: it is right now.
    """
    apart = compare_answers(alone.tokens, tokens)
    if apart.kind is DivergenceClass.IDENTICAL:
        if said_digest(text) == alone.said:
            return Compared()
        return Compared(Outcome.CORRUPTED, "the same tokens became another text than alone")
    if held:
        return Compared()
    why = f"answered otherwise than alone, from token {apart.at}: {apart.why}"
    corrupted = apart.kind is DivergenceClass.CORRUPTION
    tie = apart.kind is DivergenceClass.NEAR_TIE
    return Compared(Outcome.CORRUPTED if corrupted else Outcome.OK, why, tie)
