"""The shape of a fact, a device, a rule and a word."""

from __future__ import annotations

from datetime import date
from enum import StrEnum

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.field_report import DeviceClass
from sparkproof.core.finding import Severity


class Method(StrEnum):
    """How a fact came to be known."""

    MEASURED = "measured"
    READ_IN_SOURCE = "read-in-source"
    VENDOR_DOCUMENT = "vendor-document"
    REPORTED = "reported"
    GIVEN = "given"
    """By the user, just now."""


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value that knows where it is from.

    Attributes:
        value: text or number; the unit stands in the fact's key.
        source: document, file or thread, precise enough to look it up again.
        checked: the day somebody last looked.
        holds_for: the vLLM versions it was checked for, as a PEP 440 specifier ("" for all).
    """

    value: str | int | float | bool
    source: str
    checked: date
    method: Method
    holds_for: str = ""


class Hardware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One device. Every number is a fact with its own source.

    Attributes:
        id: what ``--device`` takes; `aliases` work too.
        capability: key of `facts`, as are ``memory_gb``, ``bandwidth_gb_per_s`` and, where every
            box with the device has the same, ``cpu_architecture`` as wheels name it and
            ``gpus_per_box``.
    """

    id: str
    title: str
    device_class: DeviceClass
    unified_memory: bool
    facts: dict[str, Fact]
    aliases: tuple[str, ...] = ()

    @property
    def capability(self) -> ComputeCapability:
        """Its compute capability."""
        return ComputeCapability.parse(str(self.facts["capability"].value))


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The page behind a finding's rule id.

    Attributes:
        id: ``family/slug``, for ever.
        explain: what it means and why it matters on GB10, in a few sentences.
        remedy: what to do.
    """

    id: str
    title: str
    severity: Severity
    explain: str
    remedy: str
    source: str
    checked: date


class Word(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One word of the glossary."""

    word: str
    meaning: str
    see: tuple[str, ...] = ()


class Glossary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The glossary file."""

    words: tuple[Word, ...]
