"""Seal a report into a receipt, and find out whether receipts are still what was sealed.

A receipt's hash covers everything in it but the hash itself; `previous` links it to the one
written before it in the same store, so that replacing one needs rewriting all that follow,
which a chain head noted elsewhere shows. None of this says *who* wrote it: there is no
signature, and verification claims no authenticity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.receipt import RECEIPT_SCHEMA, Receipt, content_hash
from sparkproof.core.redaction import redact, redact_text
from sparkproof.core.report import Report


class Trouble(StrEnum):
    """What verification can find."""

    EDITED = "edited"
    BROKEN_LINK = "broken-link"
    HEAD_MISSING = "head-missing"
    HEAD_BEHIND = "head-behind"
    UNREADABLE = "unreadable"


class Problem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that does not hold."""

    trouble: Trouble
    where: str
    message: str


def seal(
    report: Report[Any],
    *,
    inputs: dict[str, str],
    previous: str,
    parents: tuple[str, ...] = (),
    homes: Iterable[str] = (),
) -> Receipt:
    """Make the receipt of a report; secrets and home paths are taken out first.

    Args:
        report: what to seal.
        inputs: digest of every input by role.
        previous: digest of the receipt before it ("" for a store's first).
        parents: digests of the receipts it builds on.
        homes: the user's home folders, where they lie in an unusual place.
    """
    plain = msgspec.json.encode(redact(msgspec.structs.replace(report, receipt=""), homes=homes))
    open_receipt = Receipt(
        schema=RECEIPT_SCHEMA,
        command=report.command,
        created_at=report.generated_at,
        tool_version=report.tool_version,
        inputs={role: redact_text(value) for role, value in sorted(inputs.items())},
        verdict=report.verdict,
        report=msgspec.Raw(plain),
        parents=parents,
        previous=previous,
    )
    return msgspec.structs.replace(open_receipt, hash=content_hash(open_receipt))


def verify_one(receipt: Receipt, where: str) -> tuple[Problem, ...]:
    """Does the content still give the hash it was sealed with?"""
    try:
        actual = content_hash(receipt)
    except FormatError as error:
        return (Problem(Trouble.EDITED, where, error.message),)
    if actual == receipt.hash:
        return ()
    message = f"content gives {actual[:19]}…, sealed as {receipt.hash[:19]}…"
    return (Problem(Trouble.EDITED, where, message),)


def verify_chain(
    chain: Sequence[tuple[str, Receipt]], *, recorded_head: str, noted_head: str = ""
) -> tuple[Problem, ...]:
    """Check a store's receipts in the order they were written.

    Args:
        chain: (file name, receipt), oldest first.
        recorded_head: what the store's own head file says ("" where there is none).
        noted_head: a head that somebody wrote down earlier, elsewhere ("" for none).
    """
    problems: list[Problem] = []
    previous = ""
    for where, receipt in chain:
        problems += verify_one(receipt, where)
        if receipt.previous != previous:
            message = f"follows {receipt.previous[:19] or 'nothing'}, the one before it is "
            problems.append(
                Problem(Trouble.BROKEN_LINK, where, message + (previous[:19] or "missing"))
            )
        previous = receipt.hash
    if recorded_head != previous:
        message = f"the store's head is {recorded_head[:19] or 'missing'}, its last receipt is "
        problems.append(Problem(Trouble.HEAD_BEHIND, "HEAD", message + (previous[:19] or "none")))
    if noted_head and all(receipt.hash != noted_head for _, receipt in chain):
        message = f"{noted_head[:19]}… is not in this store: it was replaced or removed"
        problems.append(Problem(Trouble.HEAD_MISSING, "noted head", message))
    return tuple(problems)
