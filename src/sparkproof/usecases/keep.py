"""Put a report into the store of receipts, as every command does that leaves one."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import UnreachableError
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.receipt import Receipt
from sparkproof.core.report import Report
from sparkproof.receipts.receipt import seal

T = TypeVar("T")


def keep(
    report: Report[T],
    store: ReceiptStore | None,
    inputs: dict[str, str],
    parents: tuple[str, ...] = (),
) -> Report[T]:
    """The report with its receipt's digest; a receipt that can't be written costs no answer.

    Args:
        parents: digests of the receipts that it builds on.
    """
    if store is None:
        return report

    def seal_on(previous: str) -> Receipt:
        homes = (str(Path.home()),)
        return seal(report, inputs=inputs, previous=previous, parents=parents, homes=homes)

    try:
        receipt, _ = store.append(seal_on)
    except UnreachableError as error:
        finding = Finding(
            rule="receipt/not-written",
            severity=Severity.WARNING,
            confidence=Confidence.SHOWN,
            message=error.message,
            subject="receipt",
            remedy=error.hint,
        )
        return msgspec.structs.replace(report, findings=(*report.findings, finding))
    return msgspec.structs.replace(report, receipt=receipt.hash)
