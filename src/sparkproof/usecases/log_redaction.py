"""A log's report as it may leave the house: no secrets, home folders or addresses."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from sparkproof.core.redaction import redact, redact_addresses, redact_text
from sparkproof.core.report import Report
from sparkproof.core.results.log import LogResult

T = TypeVar("T")


def redact_report(report: Report[LogResult]) -> Report[LogResult]:
    """The report without secrets, home folders and addresses."""
    assert report.result is not None
    return msgspec.structs.replace(
        report,
        result=_masked(report.result),
        findings=tuple(_masked(item) for item in report.findings),
        next_steps=tuple(redact_addresses(redact_text(item)) for item in report.next_steps),
        summary=redact_addresses(redact_text(report.summary)),
    )


def _masked(value: T) -> T:
    text = redact_addresses(msgspec.json.encode(redact(value)).decode())
    return msgspec.json.decode(text, type=type(value))
