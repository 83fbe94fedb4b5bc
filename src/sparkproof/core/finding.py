"""Evidence, findings and how sure they are."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """How bad it is if true; how sure it is, is `Confidence`."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return (Severity.ERROR, Severity.WARNING, Severity.INFO).index(self)


class Confidence(StrEnum):
    """What a statement rests on, strongest first."""

    SHOWN = "shown"
    """Read from the artifact itself: bytes, symbols, source."""
    DOCUMENTED = "documented"
    """The vendor's word."""
    REPORTED = "reported"
    """Dated field reports."""
    INFERRED = "inferred"
    """Follows from the above by a rule that could be wrong."""


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing seen, with its coordinates.

    Attributes:
        where: file, member or config field; `line` is 1-based, `offset` in bytes.
        what: what stands there, in one line.
    """

    where: str
    what: str
    line: int = 0
    offset: int = -1

    @property
    def place(self) -> str:
        """``file:line`` or ``file@0xoffset``."""
        if self.line:
            return f"{self.where}:{self.line}"
        return f"{self.where}@{self.offset:#x}" if self.offset >= 0 else self.where


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that fired. The rule's id (``family/slug``) is for ever.

    Attributes:
        rule: id in the rule registry.
        message: one line, lower case, no full stop.
        subject: layer class, library or field it is about ("" for the whole).
        remedy: what to type or change ("" where nothing helps).
        facts: ids of the facts it rests on.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    message: str
    subject: str = ""
    evidence: tuple[Evidence, ...] = ()
    remedy: str = ""
    facts: tuple[str, ...] = ()


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By severity; equally bad ones keep their order."""
    return tuple(sorted(findings, key=lambda finding: finding.severity.rank))
