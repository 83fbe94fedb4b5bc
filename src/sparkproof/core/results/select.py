"""Payload of ``select``: which kernel every layer class of one or more checkpoints gets."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.field_report import FieldRecord
from sparkproof.core.finding import Confidence
from sparkproof.core.results.proof import Alternative, LayerProof, Shown
from sparkproof.core.verdict import Verdict


class Fate(StrEnum):
    """What an operator will see of a layer class: trouble first, then the kind, then the price."""

    REFUSES = "will refuse to start"
    CRASHES = "will crash: no kernel image"
    REPORTED = "reported wrong or crashing here"
    UNDECIDED = "can't be told"
    GUESSED = "a guess"
    SLOW = "emulation or fallback (slow)"
    NATIVE_FP4 = "native FP4"
    NATIVE_FP8 = "native FP8"
    NATIVE_INT8 = "native INT8"
    WEIGHT_ONLY = "weight-only"
    TRITON = "Triton"
    UNQUANTIZED = "unquantized"
    ATTENTION = "attention"
    JIT = "JIT at first request"
    NOT_LOADED = "not loaded"


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One word of the outcome.

    Attributes:
        detail: what stands after the colon ("" for nothing).
        facts: ids of the facts it rests on.
    """

    fate: Fate
    confidence: Confidence
    detail: str = ""
    facts: tuple[str, ...] = ()


class LayerSelection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One layer class of one checkpoint.

    Attributes:
        proof: the walk, the pick and what it needs; its verdict counts delivery where the
            artifact was at hand.
        told: the outcome, worst word first.
        reports: dated field reports that speak of this pick, those of the same device first.
    """

    proof: LayerProof
    told: tuple[Told, ...]
    reports: tuple[FieldRecord, ...] = ()


class SelectionBranch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All layer classes under one set of assumptions about what was not stated."""

    assumptions: dict[str, str]
    verdict: Verdict
    layers: tuple[LayerSelection, ...]


class FlagChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One value of a backend flag, tried.

    Attributes:
        change: what to type.
        accepted: the release's command line takes it.
        leads_to: what the layer classes get that the flag reaches, in words.
        reason: what decides the verdict where it is no pass ("" otherwise).
        error: what is raised instead ("" for nothing).
        against: what is known against it and not against the present pick.
        half: other quantized layers of the checkpoint are left as they are.
        idle: it has no kernel for any layer that it reaches.
    """

    flag: str
    value: str
    accepted: bool
    verdict: Verdict
    leads_to: str
    reason: str = ""
    error: str = ""
    against: tuple[str, ...] = ()
    half: bool = False
    idle: bool = False


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One checkpoint with one artifact: a column of the answer.

    Attributes:
        name: the checkpoint's.
        method: quantization method that it declares ("" for none).
        release: vLLM version; `source` is the artifact or the shipped surface it was read from.
        delivery_known: the artifact's device code was looked at.
        args: vLLM arguments, secrets taken out.
        choices: values of the backend flags that lead elsewhere, or nowhere.
        changes: other images and whole changes, each proven.
        shown: what a server showed before, newest first; None where no store was asked.
    """

    name: str
    architectures: tuple[str, ...]
    method: str
    release: str
    source: str
    delivery_known: bool
    args: tuple[str, ...]
    branches: tuple[SelectionBranch, ...]
    choices: tuple[FlagChoice, ...] = ()
    changes: tuple[Alternative, ...] = ()
    shown: tuple[Shown, ...] | None = None


class SelectResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column a checkpoint, on one device."""

    device: str
    capability: str
    columns: tuple[Selection, ...]


DOCUMENTS = {"select": SelectResult}
