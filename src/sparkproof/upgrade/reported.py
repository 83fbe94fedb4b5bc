"""Kernels that are reported to fail on this device: what the new release picks of them."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.field_report import FieldRecord
from sparkproof.core.finding import Confidence, Evidence
from sparkproof.core.results.upgrade import Bite, Change
from sparkproof.upgrade.view import Case, Reported

REPORTS = "field report"


def compare_reports(case: Case) -> Iterator[tuple[bool, Change]]:
    """Picks with reports against them on this class of device.

    Yields:
        Whether the old release does not pick them, and the change.
    """
    before = {item.record.id for item in case.before.reported}
    for item in case.after.reported:
        yield item.record.id not in before, _change(item)


def _change(item: Reported) -> Change:
    record = item.record
    settled = "" if record.certain else ", not settled"
    remedy = " ".join(record.remedy.split())
    otherwise = f"; {remedy}" if remedy and not item.edits else ""
    return Change(
        bite=Bite.KERNEL,
        subject=record.id,
        message=f"{', '.join(item.subjects)}: {record.title} "
        f"(reported of this kind of device{settled}){otherwise}",
        rests_on=REPORTS,
        after=item.backends,
        edits=item.edits,
        confidence=Confidence.REPORTED,
        evidence=tuple(_evidence(record)),
    )


def _evidence(record: FieldRecord) -> Iterator[Evidence]:
    for report in record.reports:
        yield Evidence(f"{report.source}, {report.date}", report.seen)
