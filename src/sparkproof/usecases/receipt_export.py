"""Write a receipt as something that other people and programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from sparkproof.adapters.files import write_file
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.receipt import Receipt
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbResult
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.results.proof import ProofResult
from sparkproof.core.results.receipts import ReceiptExport
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.results.soak import SoakResult
from sparkproof.core.units import format_bytes
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.envelope import make_report

_TYPED: dict[str, Any] = {
    "smoke": Report[SmokeResult],
    "soak": Report[SoakResult],
    "ab": Report[AbResult],
    "bench": Report[BenchResult],
    "prove": Report[ProofResult],
}
"""Reports that have a page of their own."""


def read_report(store: ReceiptStore, reference: str, *, rows: bool) -> tuple[str, Report[Any]]:
    """The file's name and the report in one receipt, with its own type where it has a page.

    Args:
        rows: a table of requests is wanted, which only a benchmark has.

    Raises:
        UsageError: there is no such receipt, or it has no requests.
        FormatError: it is none.
    """
    name, receipt = store.find(reference)
    if rows and receipt.command != "bench":
        raise UsageError(
            f"{name} is a receipt of {receipt.command}: it has no table of requests",
            hint="--html writes a page of any receipt",
        )
    return name, _report(receipt, name)


def write_export(name: str, receipt: str, out: Path, kind: str, text: str) -> Report[ReceiptExport]:
    """Write what was rendered.

    Raises:
        UnreachableError: the file can't be written.
    """
    write_file(out, text)
    size = len(text.encode())
    return make_report(
        "receipt export",
        ReceiptExport(receipt, out.name, kind, size),
        verdict=Verdict.PASS,
        summary=f"{name} written to {out} ({format_bytes(size)})",
    )


def _report(receipt: Receipt, name: str) -> Report[Any]:
    kind = _TYPED.get(receipt.command, Report[Any])
    try:
        report: Report[Any] = msgspec.json.decode(receipt.report, type=kind)
    except msgspec.DecodeError as error:
        raise FormatError(f"no report in it: {error}", where=name) from error
    return msgspec.structs.replace(report, receipt=receipt.hash)
