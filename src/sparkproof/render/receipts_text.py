"""Receipts as text."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sparkproof.core.results.receipts import ReceiptList, ReceiptView, Verification
from sparkproof.core.text import shorten
from sparkproof.core.verdict import Verdict
from sparkproof.render.lines import Cell, Line, Span, Style, Verbatim, heading, line, table
from sparkproof.render.page import page_width
from sparkproof.render.report_text import VERDICT_STYLE

_FIXED_COLUMNS, _LEAST_COLUMNS, _SUBJECT_COLUMNS = 12 + 20 + 7 * 2, 24, 22
"""Of the page: digest, moment and gaps; what a summary gets at least, and a subject at most."""


def render_list(result: ReceiptList) -> list[Line]:
    """One row a receipt, its number first; `receipt show` has the rest of a long summary."""
    named = max((len(row.command) + len(row.verdict) for row in result.receipts), default=0)
    numbered = len(str(len(result.receipts)))
    subjects = [shorten(row.subject, _SUBJECT_COLUMNS) for row in result.receipts]
    named += max(map(len, subjects), default=0)
    room = max(page_width() - named - numbered - _FIXED_COLUMNS, _LEAST_COLUMNS)
    rows: list[Sequence[Cell]] = [
        (
            row.file.partition("-")[0].lstrip("0"),
            Span(row.hash.removeprefix("sha256:")[:12], Style.STRONG),
            row.created_at,
            row.command,
            Span(row.verdict, VERDICT_STYLE[Verdict(row.verdict)]),
            subject,
            shorten(row.summary, room),
        )
        for row, subject in zip(result.receipts, subjects, strict=True)
    ]
    return table(rows, right=frozenset({0}))


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
        *(line(Verbatim(f"  {row}")) for row in text.splitlines()),
    ]


def render_verification(result: Verification) -> list[Line]:
    """What was checked."""
    return table([("store", result.store), ("head", result.head or "none")])
