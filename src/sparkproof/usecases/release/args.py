"""Put an argument list to a release's own parser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.ports import Progress
from sparkproof.core.report import Report
from sparkproof.core.serve_line import Complaint, ServeLine, Trouble
from sparkproof.core.target import Target
from sparkproof.core.units import plural
from sparkproof.core.verdict import Verdict
from sparkproof.facts.surfaces import life_of, say_life
from sparkproof.release.serve_line import parse_serve_line
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.line_findings import find_in_parsed
from sparkproof.usecases.release.command import find_surface

if TYPE_CHECKING:
    from sparkproof.adapters.cache import ArtifactCache


def check_arguments(
    reference: str,
    arguments: Sequence[str],
    *,
    vllm: str = "",
    target: Target | None = None,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Report[ServeLine]:
    """Read what follows ``vllm serve`` as the release would; its refusals are findings.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    surface, subject = find_surface(
        reference, target=target, cache=cache, offline=offline, progress=progress, vllm=vllm
    )
    line = parse_serve_line(surface, arguments)
    unread = tuple(item for item in surface.unknowns if item.topic == "release/options")
    together = () if unread else find_in_parsed(surface, line)
    refused = sum(item.trouble.refuses for item in line.complaints)
    clashes = sum(item.severity is Severity.ERROR for item in together)
    verdict = (
        Verdict.FAIL if refused or clashes else Verdict.INCONCLUSIVE if unread else Verdict.PASS
    )
    said = f"refuses {plural(refused, 'word')}" if refused else "takes them all"
    if clashes:
        said = f"{said if refused else 'takes each word'} and ends on {together[0].subject}"
    return make_report(
        "release args",
        line,
        verdict=verdict,
        summary=f"vllm {surface.version} {said}; {plural(len(line.given), 'option')} given",
        subjects=(subject,) if subject else (),
        findings=(*map(_finding, line.complaints), *together),
        unknowns=unread,
    )


def _finding(item: Complaint) -> Finding:
    severity = Severity.ERROR if item.trouble.refuses else Severity.WARNING
    near = f"perhaps {' or '.join(item.near)}" if item.near else ""
    said = say_life(life_of("options", item.flag)) if item.trouble is Trouble.UNKNOWN else ""
    message = f"{item.message} ({said})" if said else item.message
    return Finding(
        rule=f"release/{item.trouble.value}",
        severity=severity if item.trouble is not Trouble.REPEATED else Severity.INFO,
        confidence=Confidence.SHOWN,
        message=message,
        subject=item.flag,
        evidence=(item.source.evidence(item.flag),) if item.source is not None else (),
        remedy=near,
    )
