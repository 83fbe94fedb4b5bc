"""A log's report as it may leave the house: no secrets, home folders or addresses."""

from __future__ import annotations

import msgspec

from sparkproof.core.redaction import redact, redact_addresses
from sparkproof.core.report import Report
from sparkproof.core.results.log import LogResult


def redact_report(report: Report[LogResult]) -> Report[LogResult]:
    """The report without secrets, home folders and addresses."""
    masked = msgspec.json.encode(redact(report))
    return msgspec.json.decode(redact_addresses(masked.decode()), type=Report[LogResult])
