"""Payloads of the verbs of ``receipt``."""

from __future__ import annotations

import msgspec

from sparkproof.core.receipt import Receipt
from sparkproof.core.verdict import Verdict


class ReceiptRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the list.

    Attributes:
        subject: what it is of: a deployment's name, else that of what was looked at ("" for
            nothing named).
    """

    file: str
    hash: str
    command: str
    created_at: str
    verdict: str
    summary: str
    subject: str = ""


class ReceiptList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a store holds, oldest first."""

    store: str
    head: str
    receipts: tuple[ReceiptRow, ...]


class ReceiptView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One receipt with the file it came from, and whether it still rehashes."""

    file: str
    intact: bool
    receipt: Receipt


class Verification(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was checked; problems are the report's findings."""

    store: str
    checked: int
    head: str
    noted_head: str


class ReceiptExport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was written out of a receipt.

    Attributes:
        file: it was written to.
        kind: ``html`` or ``csv``.
        size_bytes: of the file.
    """

    receipt: str
    file: str
    kind: str
    size_bytes: int


class ReceiptJudgement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What today's rules make of a stored result; verdict and findings are the report's.

    Attributes:
        command: the gate that it is of.
        created_at, tool_version: when and by which release it was sealed.
        sealed: the verdict it was sealed with, and its summary.
        changed: criteria that come out otherwise now, one line each.
    """

    file: str
    receipt: str
    command: str
    created_at: str
    tool_version: str
    sealed: Verdict
    sealed_summary: str
    changed: tuple[str, ...] = ()


DOCUMENTS = {
    "receipt list": ReceiptList,
    "receipt show": ReceiptView,
    "receipt verify": Verification,
    "receipt export": ReceiptExport,
    "receipt judge": ReceiptJudgement,
}
