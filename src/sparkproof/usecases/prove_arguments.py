"""What a release's own parser has against a deployment's arguments. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.redaction import redact_arguments
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.serve_line import Complaint, Trouble
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.release.serve_line import parse_serve_line

_STOPS = (Trouble.UNKNOWN, Trouble.MISSING, Trouble.VALUE, Trouble.FIELD)
_MODEL = "MODEL"


def selection_args(surface: ReleaseSurface, args: Sequence[str]) -> SelectionArgs:
    """What decides about kernels, as the release's own parser takes the arguments.

    Raises:
        UsageError: a flag without its value, or a value that is no JSON where JSON is due.
    """
    line = parse_serve_line(surface, (_MODEL, *args)) if surface.options else None
    return parse_selection_args(args, line)


def find_refused_arguments(
    surface: ReleaseSurface, args: Sequence[str], told: Sequence[Finding] = ()
) -> tuple[Finding, ...]:
    """Arguments with which ``vllm serve`` of this release ends before it loads anything.

    What a selection flag names is left to the selection, which says more about it.

    Args:
        told: findings already made; a flag that they name is not reported again.
    """
    unread = any(item.topic == "release/options" for item in surface.unknowns)
    if not surface.options or unread:
        return ()
    asked = {oracle.flag for oracle in surface.oracles}
    complaints = parse_serve_line(surface, (_MODEL, *redact_arguments(tuple(args)))).complaints
    return tuple(
        _finding(item)
        for item in complaints
        if item.trouble in _STOPS
        and not (item.trouble is Trouble.VALUE and item.flag in asked)
        and not any(item.flag in finding.message for finding in told)
    )


def as_criterion(finding: Finding) -> Criterion:
    """A finding that alone decides: nothing starts."""
    return Criterion(finding.rule, Verdict.FAIL, finding.message)


def _finding(item: Complaint) -> Finding:
    near = " or ".join(f"`{name}`" for name in item.near)
    return Finding(
        rule=f"release/{item.trouble.value}",
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=item.message,
        subject="arguments",
        evidence=(item.source.evidence(item.flag),) if item.source is not None else (),
        remedy=f"perhaps {near}" if near else "",
    )
