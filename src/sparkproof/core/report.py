"""The envelope around every command's answer, on success and on failure alike."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from sparkproof.core.finding import Finding
from sparkproof.core.subject import Subject
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict

T = TypeVar("T")

SCHEMA_VERSION = 1


class ErrorInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why there is no answer."""

    code: str
    message: str
    hint: str = ""


class Report(msgspec.Struct, Generic[T], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One document of one command.

    Attributes:
        schema: ``sparkproof/<command>/<version>``; published in ``schemas/``.
        generated_at: RFC 3339, UTC.
        summary: the verdict's one line, what an operator needs at night.
        next_steps: commands or changes, most useful first.
        result: the command's own payload; null where it failed.
        facts: ids of the dated facts that the answer rests on.
    """

    schema: str
    command: str
    tool_version: str
    generated_at: str
    verdict: Verdict
    summary: str
    subjects: tuple[Subject, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    next_steps: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    result: T | None = None
    error: ErrorInfo | None = None
    receipt: str = ""
    """Digest of the receipt that was written ("" for none)."""


def schema_name(command: str) -> str:
    """``sparkproof/wheel/1``."""
    return f"sparkproof/{command.replace(' ', '-')}/{SCHEMA_VERSION}"
