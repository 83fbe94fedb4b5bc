"""Verdicts and the one way they combine."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from sparkproof.core.errors import ExitCode
from sparkproof.core.finding import Evidence, Finding, Severity


class Verdict(StrEnum):
    """The answer to one question."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"
    ERROR = "error"


_RANK = {
    Verdict.SKIPPED: 0,
    Verdict.PASS: 1,
    Verdict.INCONCLUSIVE: 2,
    Verdict.FAIL: 3,
    Verdict.ERROR: 4,
}

_EXIT = {
    Verdict.PASS: ExitCode.PASS,
    Verdict.SKIPPED: ExitCode.PASS,
    Verdict.FAIL: ExitCode.FAIL,
    Verdict.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
    Verdict.ERROR: ExitCode.COULD_NOT_LOOK,
}


def fold(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine: error > fail > inconclusive > pass; skipped is neutral, and so is nothing.

    The fold is associative and commutative with `SKIPPED` as its unit.
    """
    return max(verdicts, key=_RANK.__getitem__, default=Verdict.SKIPPED)


def exit_code(verdict: Verdict) -> ExitCode:
    """The exit code a command ends in."""
    return _EXIT[verdict]


class Criterion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question of a verdict, with its own answer.

    Attributes:
        name: stable slug, e.g. ``deliver/moe``.
        verdict: the answer.
        reason: one line, lower case.
        warning: passes, yet costs something (PTX JIT on the route, say).
    """

    name: str
    verdict: Verdict
    reason: str
    warning: bool = False
    evidence: tuple[Evidence, ...] = ()


def criteria_of_errors(findings: Iterable[Finding]) -> tuple[Criterion, ...]:
    """One failed criterion for each finding of severity error: what is wrong does not pass."""
    return tuple(
        Criterion(
            item.rule,
            Verdict.FAIL,
            f"{item.subject}: {item.message}" if item.subject else item.message,
            evidence=item.evidence,
        )
        for item in findings
        if item.severity is Severity.ERROR
    )
