"""Judge what a stored receipt holds by the rules of today: nothing is asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.receipt import Receipt
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbResult
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.results.receipts import ReceiptJudgement
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.results.soak import SoakResult
from sparkproof.core.verdict import Criterion
from sparkproof.gates.ab_judge import derive as derive_ab
from sparkproof.gates.bench import derive as derive_bench
from sparkproof.receipts.receipt import verify_one
from sparkproof.usecases.ab.cause import attribute
from sparkproof.usecases.ab.report import report_ab
from sparkproof.usecases.bench.command import report_bench
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.smoke import report_smoke
from sparkproof.usecases.soak.report import report_soak


def _bench(result: BenchResult) -> Report[BenchResult]:
    return report_bench(derive_bench(result))


def _ab(result: AbResult) -> Report[AbResult]:
    return report_ab(attribute(derive_ab(result)))


_GATES: dict[str, tuple[Any, Callable[[Any], Report[Any]]]] = {
    "smoke": (Report[SmokeResult], report_smoke),
    "soak": (Report[SoakResult], report_soak),
    "ab": (Report[AbResult], _ab),
    "bench": (Report[BenchResult], _bench),
}


def judge_receipt(
    store: ReceiptStore, reference: str
) -> tuple[Report[ReceiptJudgement], Report[Any]]:
    """The new verdict beside the sealed one, and the gate's own report as it would be today.

    Raises:
        UsageError: there is no such receipt, or it is of no gate.
        FormatError: it is none, was changed since it was sealed, or is another version's.
    """
    name, receipt = store.find(reference)
    gate = _GATES.get(receipt.command)
    if gate is None:
        raise UsageError(
            f"{name} is a receipt of {receipt.command}, which holds nothing to judge again",
            hint=f"receipts of {', '.join(_GATES)} do",
        )
    if problems := verify_one(receipt, name):
        hint = "restore it from a copy: `sparkproof receipt verify`"
        raise FormatError(problems[0].message, where=name, hint=hint)
    kind, judge = gate
    old = _report(receipt, name, kind)
    new = judge(old.result)
    judgement = ReceiptJudgement(
        file=name,
        receipt=receipt.hash,
        command=receipt.command,
        created_at=receipt.created_at,
        tool_version=receipt.tool_version,
        sealed=old.verdict,
        sealed_summary=old.summary,
        changed=_changed(old.criteria, new.criteria),
    )
    parts = {
        part: getattr(new, part)
        for part in ("subjects", "criteria", "findings", "unknowns", "next_steps")
    }
    report = make_report(
        "receipt judge", judgement, verdict=new.verdict, summary=new.summary, **parts
    )
    return report, new


def _report(receipt: Receipt, name: str, kind: Any) -> Report[Any]:
    try:
        report: Report[Any] = msgspec.json.decode(receipt.report, type=kind)
    except msgspec.DecodeError as error:
        raise FormatError(f"no report in it: {error}", where=name) from error
    if report.result is None:
        raise FormatError("no result in it", where=name)
    return report


def _changed(old: tuple[Criterion, ...], new: tuple[Criterion, ...]) -> tuple[str, ...]:
    """``soak/text: pass, now fail``, one a criterion."""
    was = {item.name: item.verdict.value for item in old}
    now = {item.name: item.verdict.value for item in new}
    return tuple(
        f"{name}: {was.get(name, 'not asked')}, now {now.get(name, 'not asked')}"
        for name in {**was, **now}
        if was.get(name) != now.get(name)
    )
