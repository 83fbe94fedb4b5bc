"""List, show and verify receipts."""

from __future__ import annotations

import re

import msgspec

from sparkproof.adapters.receipt_index import ReceiptIndex
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.receipt import Receipt
from sparkproof.core.report import Report
from sparkproof.core.results.receipts import ReceiptList, ReceiptView, Verification
from sparkproof.core.units import plural
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict
from sparkproof.receipts.receipt import Problem, Trouble, verify_chain, verify_one
from sparkproof.usecases.envelope import make_report

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def list_receipts(store: ReceiptStore, command: str = "") -> Report[ReceiptList]:
    """Every receipt of the store, or those of one command; unreadable ones are unknowns."""
    with ReceiptIndex(store) as index:
        rows, broken = index.rows(command)
    return make_report(
        "receipt list",
        ReceiptList(store.name, store.head(), rows),
        verdict=Verdict.PASS,
        summary=f"{plural(len(rows), 'receipt')} in {store.name}",
        unknowns=tuple(Unknown.from_error(error, "receipt") for error in broken),
    )


def _summary(receipt: Receipt) -> str:
    report = msgspec.json.decode(receipt.report)
    return str(report.get("summary", "")) if isinstance(report, dict) else ""


def show_receipt(store: ReceiptStore, reference: str) -> Report[ReceiptView]:
    """One receipt by path, digest prefix, number or ``latest``.

    Raises:
        UsageError: none or several match.
        FormatError: the file is no receipt.
    """
    name, receipt = store.find(reference)
    problems = verify_one(receipt, name)
    return make_report(
        "receipt show",
        ReceiptView(name, not problems, receipt),
        verdict=Verdict.FAIL if problems else Verdict.PASS,
        summary=f"{receipt.command} of {receipt.created_at}: {_summary(receipt)}",
        findings=tuple(map(_finding, problems)),
    )


def verify_receipts(
    store: ReceiptStore, *, reference: str = "", noted_head: str = ""
) -> Report[Verification]:
    """Check one receipt, or the whole chain of the store.

    Args:
        reference: one receipt; "" for the chain.
        noted_head: a digest noted earlier, elsewhere, that must still be in the chain.

    Raises:
        UsageError: `reference` matches nothing, or `noted_head` is no whole digest or comes
            with a reference.
        UnreachableError: the store can't be read.
    """
    noted_head = _whole_digest(noted_head)
    if reference and noted_head:
        raise UsageError(
            "a noted head belongs to the chain, not to one receipt",
            hint="leave the receipt or --head away",
        )
    head = store.head()
    if reference:
        problems, checked = _check_one(store, reference), 1
    else:
        problems, checked = _check_chain(store, head, noted_head)
    verdict = Verdict.FAIL if problems else (Verdict.PASS if checked else Verdict.SKIPPED)
    return make_report(
        "receipt verify",
        Verification(store.name, checked, head, noted_head),
        verdict=verdict,
        summary=_verify_summary(checked, problems),
        findings=tuple(map(_finding, problems)),
        next_steps=(f"note this head elsewhere: {head}",) if verdict is Verdict.PASS else (),
    )


def _whole_digest(text: str) -> str:
    wanted = text.strip().lower().removeprefix("sha256:")
    if wanted and not _DIGEST.match(wanted):
        raise UsageError(
            f"`{text}` is no whole digest", hint="64 hex digits, as verify prints them"
        )
    return f"sha256:{wanted}" if wanted else ""


def _check_one(store: ReceiptStore, reference: str) -> tuple[Problem, ...]:
    try:
        name, receipt = store.find(reference)
    except FormatError as error:
        return (Problem(Trouble.UNREADABLE, error.where, error.reason),)
    return verify_one(receipt, name)


def _check_chain(
    store: ReceiptStore, head: str, noted_head: str
) -> tuple[tuple[Problem, ...], int]:
    chain: list[tuple[str, Receipt]] = []
    unreadable: list[Problem] = []
    for file, item in store.read_all():
        if isinstance(item, FormatError):
            unreadable.append(Problem(Trouble.UNREADABLE, file, item.reason))
        else:
            chain.append((file, item))
    found = verify_chain(chain, recorded_head=head, noted_head=noted_head)
    return (*unreadable, *found), len(chain) + len(unreadable)


def _verify_summary(checked: int, problems: tuple[Problem, ...]) -> str:
    if not checked and not problems:
        return "no receipts to verify"
    if problems:
        return f"{plural(len(problems), 'problem')} in {plural(checked, 'receipt')}"
    return f"{plural(checked, 'receipt')} rehash; this shows edits, not who wrote them"


def _finding(problem: Problem) -> Finding:
    return Finding(
        rule=f"receipt/{problem.trouble.value}",
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=problem.message,
        subject=problem.where,
        evidence=(Evidence(problem.where, problem.message),),
        remedy="restore the receipts from a copy, or treat what they say as unproven",
    )
