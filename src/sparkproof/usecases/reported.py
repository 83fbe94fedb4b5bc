"""Field reports as findings: what was reported of the very picks, by class of device. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkproof.core.field_report import DeviceClass, Effect, FieldRecord
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.results.proof import Branch
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.usecases.outcomes import reports_of
from sparkproof.usecases.prove.branch import Look

DEVICE_WORDS = {
    DeviceClass.GB10: "GB10",
    DeviceClass.SM12X: "other 12.x GPUs",
    DeviceClass.OTHER: "other GPUs",
}


def find_reports(
    look: Look, branches: Iterable[Branch], arguments: SelectionArgs, device: DeviceClass
) -> tuple[Finding, ...]:
    """One finding a record; trouble reported on this class of device is a warning."""
    subjects: dict[FieldRecord, list[str]] = {}
    for branch in branches:
        for layer in branch.layers:
            for record in reports_of(look, layer, arguments, device):
                subjects.setdefault(record, []).append(layer.subject)
    found = [_finding(record, named, device) for record, named in subjects.items()]
    return tuple(sorted(found, key=lambda item: item.severity is Severity.INFO))


def _finding(record: FieldRecord, subjects: Sequence[str], device: DeviceClass) -> Finding:
    here = record.count(device)
    rule = _rule(record, here=bool(here))
    return Finding(
        rule=rule,
        severity=Severity.WARNING if rule == "select/reported-here" else Severity.INFO,
        confidence=Confidence.REPORTED,
        message=f"{record.title} ({count_by_device(record)}"
        + ("" if record.certain or record.effect is Effect.WORKS else ", not settled")
        + ")",
        subject=", ".join(dict.fromkeys(subjects)),
        evidence=tuple(_evidence(record)),
        remedy=" ".join(record.remedy.split()) if rule == "select/reported-here" else "",
        facts=(f"known_issues/{record.id}",),
    )


def reported_criterion(finding: Finding) -> Criterion:
    """A report in the verdict: told apart from what was shown, and neutral in the fold."""
    return Criterion(
        name=f"reported/{finding.subject}",
        verdict=Verdict.SKIPPED,
        reason=finding.message,
        warning=finding.severity is Severity.WARNING,
        evidence=finding.evidence,
    )


def _rule(record: FieldRecord, *, here: bool) -> str:
    if not here:
        return "select/reported-elsewhere"
    return "select/reported-here" if record.bad else "select/reported-working"


def count_by_device(record: FieldRecord) -> str:
    """``reports: GB10 2, other GPUs 1``: how often, by class of device, never added up."""
    told = [
        f"{DEVICE_WORDS[kind]} {record.count(kind)}" for kind in DeviceClass if record.count(kind)
    ]
    return "reports: " + ", ".join(told)


def _evidence(record: FieldRecord) -> Iterator[Evidence]:
    for report in record.reports:
        where = f"{DEVICE_WORDS[report.device]}, {report.date}"
        yield Evidence(where, f"{report.source}: {report.seen}")
