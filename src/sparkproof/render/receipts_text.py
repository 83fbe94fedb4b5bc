"""Receipts as text."""

from __future__ import annotations

import msgspec

from sparkproof.core.results.receipts import ReceiptList, ReceiptView, Verification
from sparkproof.core.verdict import Verdict
from sparkproof.render.lines import Line, Span, Style, heading, line, table
from sparkproof.render.report_text import VERDICT_STYLE


def render_list(result: ReceiptList) -> list[Line]:
    """One row a receipt."""
    return table(
        (
            Span(row.hash.removeprefix("sha256:")[:12], Style.STRONG),
            row.created_at,
            row.command,
            Span(row.verdict, VERDICT_STYLE[Verdict(row.verdict)]),
            row.summary,
        )
        for row in result.receipts
    )


def render_view(result: ReceiptView) -> list[Line]:
    """The receipt's identities, then the report in it."""
    receipt = result.receipt
    rows = [
        ("hash", receipt.hash + ("" if result.intact else "  (does not rehash)")),
        ("previous", receipt.previous or "none: first of its store"),
        ("tool", f"sparkproof {receipt.tool_version}"),
        *((f"input {name}", value) for name, value in receipt.inputs.items()),
        *(("parent", parent) for parent in receipt.parents),
    ]
    text = msgspec.json.format(receipt.report).decode()
    return [
        heading("receipt", result.file),
        *table(rows),
        heading("report"),
        *(line(f"  {row}") for row in text.splitlines()),
    ]


def render_verification(result: Verification) -> list[Line]:
    """What was checked."""
    return table([("store", result.store), ("head", result.head or "none")])
