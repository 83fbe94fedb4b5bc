"""What a release's own parser has against a deployment's arguments. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.redaction import redact_arguments
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.serve_line import Complaint, ServeLine, Trouble
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.release.line_judge import NOTHING_KNOWN, Surroundings
from sparkproof.release.serve_line import parse_serve_line
from sparkproof.upgrade.view import FLAG_REFUSED
from sparkproof.usecases.line_findings import find_in_parsed

_STOPS = (Trouble.UNKNOWN, Trouble.MISSING, Trouble.VALUE, Trouble.FIELD, Trouble.EXTRA)
_TWICE = {Trouble.REPEATED: Severity.INFO, Trouble.OVERRULED: Severity.WARNING}
_MODEL = "MODEL"


def selection_args(surface: ReleaseSurface, args: Sequence[str]) -> SelectionArgs:
    """What decides about kernels, as the release's own parser takes the arguments.

    Raises:
        UsageError: a flag without its value, or a value that is no JSON where JSON is due.
    """
    line = parse_serve_line(surface, (_MODEL, *args)) if surface.options else None
    return parse_selection_args(args, line)


def find_refused_arguments(
    surface: ReleaseSurface,
    args: Sequence[str],
    told: Sequence[Finding] = (),
    beside: Surroundings = NOTHING_KNOWN,
) -> tuple[Finding, ...]:
    """Arguments with which ``vllm serve`` of this release ends before it loads anything.

    What a selection flag names is left to the selection, which says more about it.

    Args:
        told: findings already made; a flag that they name is not reported again.
        beside: the model, the box and the variables that the arguments are for.
    """
    if _is_unread(surface):
        return ()
    asked = {oracle.flag for oracle in surface.oracles}
    line = _line(surface, args)
    refused = tuple(
        _finding(item)
        for item in line.complaints
        if item.trouble in _STOPS
        and not (item.trouble is Trouble.VALUE and item.flag in asked)
        and not _is_told(item.flag, told)
    )
    together = (i for i in find_in_parsed(surface, line, beside) if i.severity is Severity.ERROR)
    return (*refused, *(i for i in together if not _is_told(i.subject, (*told, *refused))))


def find_overruled_arguments(surface: ReleaseSurface, args: Sequence[str]) -> tuple[Finding, ...]:
    """Flags that are given twice, and flags over which another wins; the server takes them all."""
    if _is_unread(surface):
        return ()
    line = _line(surface, args)
    twice = (_finding(i, _TWICE[i.trouble]) for i in line.complaints if i.trouble in _TWICE)
    beside = (i for i in find_in_parsed(surface, line) if i.severity is not Severity.ERROR)
    return (*twice, *beside)


def _is_unread(surface: ReleaseSurface) -> bool:
    unread = any(item.topic == "release/options" for item in surface.unknowns)
    return unread or not surface.options


def _line(surface: ReleaseSurface, args: Sequence[str]) -> ServeLine:
    return parse_serve_line(surface, (_MODEL, *redact_arguments(tuple(args))))


def _is_told(flag: str, findings: Sequence[Finding]) -> bool:
    return bool(flag) and any(flag in finding.message for finding in findings)


def is_told(refusal: Finding, refused: Sequence[Finding]) -> bool:
    """Whether a refusal that the memory plan found is told of the same flag already."""
    same = (item.subject for item in refused if item.subject.startswith("--"))
    return refusal.rule == FLAG_REFUSED and any(flag in refusal.message for flag in same)


def as_criterion(finding: Finding) -> Criterion:
    """A finding that alone decides: nothing starts."""
    return Criterion(finding.rule, Verdict.FAIL, finding.message)


def _finding(item: Complaint, severity: Severity = Severity.ERROR) -> Finding:
    near = " or ".join(f"`{name}`" for name in item.near)
    return Finding(
        rule=f"release/{item.trouble.value}",
        severity=severity,
        confidence=Confidence.SHOWN,
        message=item.message,
        subject="arguments",
        evidence=(item.source.evidence(item.flag),) if item.source is not None else (),
        remedy=f"perhaps {near}" if near else "",
    )
