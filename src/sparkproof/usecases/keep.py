"""Put a report into the store of receipts, and take a result out of it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
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


def read_kept(
    store: ReceiptStore, reference: str, command: str, kind: type[T]
) -> tuple[str, T | None]:
    """The name of a command's receipt and the result in it, if one was reached.

    Raises:
        UsageError: there is no such receipt, or it is another command's.
        FormatError: what it holds is no result of that kind.
    """
    name, receipt = store.find(reference)
    if receipt.command != command:
        raise UsageError(
            f"{name} is a receipt of {receipt.command}, not of {command}",
            hint="`sparkproof receipt list` shows what there is",
        )
    shape: Any = Report[kind]  # type: ignore[valid-type]
    try:
        report: Report[T] = msgspec.json.decode(receipt.report, type=shape)
    except msgspec.DecodeError as error:
        raise FormatError(f"no {command} result in it: {error}", where=name) from error
    return name, report.result
