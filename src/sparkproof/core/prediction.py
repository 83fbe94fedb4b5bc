"""What an oracle will pick, as an ordered walk; the explanation is the product."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.finding import Confidence, Evidence


class Outcome(StrEnum):
    """What happened to one candidate of the walk."""

    TAKEN = "taken"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    """Hangs on a gate that could not be settled: see `Step.gates`."""
    BYPASSED = "bypassed"
    """Never asked: the scheme or a flag forced another one."""
    NOT_REACHED = "not-reached"
    """Stands after the one taken."""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One candidate, in the order it is tried.

    Attributes:
        backend: name as the boot log prints it (enum member, or class for dense kernels).
        implementation: Python class behind it ("" if the artifact does not tell).
        reason: why, in one line.
        gates: names of the unresolved questions it hangs on.
    """

    backend: str
    outcome: Outcome
    reason: str
    implementation: str = ""
    gates: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class How(StrEnum):
    """Why the selected one was selected."""

    AUTO = "auto"
    FLAG = "flag"
    SCHEME = "scheme"
    """The quantization scheme forces it without a walk."""
    NONE = "none"
    """Nothing is selected: vLLM refuses to start, or could not be predicted."""


class Prediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The pick of one oracle for one layer class.

    Attributes:
        subject: layer class, e.g. ``experts`` or ``attention``.
        scheme: quantization scheme that was asked for.
        oracle: id, e.g. ``moe/nvfp4`` or ``dense/nvfp4``.
        selected: backend taken ("" for none or undecided).
        implementation: its Python class.
        error: what vLLM raises where nothing can be taken ("" otherwise).
    """

    subject: str
    scheme: str
    oracle: str
    steps: tuple[Step, ...]
    selected: str
    how: How
    reason: str
    confidence: Confidence
    implementation: str = ""
    error: str = ""
    evidence: tuple[Evidence, ...] = ()
    facts: tuple[str, ...] = ()
