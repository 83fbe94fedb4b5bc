"""Compare receipts: read them, take their figures, and say what may be said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.finding import Evidence, Finding
from sparkproof.core.receipt import Receipt
from sparkproof.core.report import Report
from sparkproof.core.results.bench import BenchResult, CellSummary
from sparkproof.core.results.compare import Comparison, Figure, Measured, Pair, Relation
from sparkproof.core.verdict import Criterion, Verdict, fold
from sparkproof.gates.bench import derive
from sparkproof.gates.pages import make_finding
from sparkproof.receipts.compare import compare
from sparkproof.usecases.envelope import make_report

_VERDICTS = {
    Relation.BECAUSE: Verdict.PASS,
    Relation.NO_DIFFERENCE: Verdict.PASS,
}
_FIGURES = (
    ("ttft_s", "TTFT", "s", False),
    ("prefill_tokens_per_s", "prefill", "t/s", True),
    ("decode_tokens_per_s", "decode", "t/s", True),
    ("output_tokens_per_s", "all streams", "t/s", True),
    ("itl_p99_ms", "ITL p99", "ms", False),
)


def compare_receipts(store: ReceiptStore, references: Sequence[str]) -> Report[Comparison]:
    """Each receipt against the first one.

    Raises:
        UsageError: fewer than two, or one that holds no measurement.
        FormatError: one is no receipt.
    """
    if len(references) < 2:
        raise UsageError(
            "comparing takes two receipts or more", hint="`sparkproof receipt list` shows them"
        )
    return report_comparison(compare([measured_of(*store.find(item)) for item in references]))


def measured_of(name: str, receipt: Receipt) -> Measured:
    """A receipt's result as comparison sees it.

    Raises:
        UsageError: it is of a command that measures nothing.
        FormatError: the report in it is not what that command writes.
    """
    if receipt.command != "bench":
        raise UsageError(
            f"{name} is a receipt of {receipt.command}, which measures nothing to compare",
            hint="`sparkproof bench` writes receipts that can be compared",
        )
    try:
        report = msgspec.json.decode(receipt.report, type=Report[BenchResult])
    except msgspec.DecodeError as error:
        raise FormatError(f"no bench result in it: {error}", where=name) from error
    if report.result is None:
        raise FormatError("no bench result in it", where=name)
    result = derive(report.result)
    return Measured(
        receipt=receipt.hash.removeprefix("sha256:")[:12],
        command=receipt.command,
        created_at=receipt.created_at,
        sound=report.verdict is Verdict.PASS,
        loaded=result.loaded,
        identities=result.identities,
        figures=tuple(_figures(result)),
    )


def _figures(result: BenchResult) -> Iterator[Figure]:
    for summary in result.cells:
        for field, name, unit, higher in _FIGURES:
            spread = getattr(summary, field)
            if spread is not None:
                yield Figure(
                    where=_where(result, summary),
                    name=name,
                    spread=spread,
                    unit=unit,
                    higher_is_better=higher,
                )


def _where(result: BenchResult, summary: CellSummary) -> str:
    cell = result.plan.cells[summary.cell]
    return f"{cell.mode}, {cell.depth} deep, {cell.load}"


def report_comparison(result: Comparison) -> Report[Comparison]:
    """The report: what may be said passes, what may not is inconclusive."""
    criteria = tuple(
        Criterion(
            f"compare/{pair.second}",
            _VERDICTS.get(pair.relation, Verdict.INCONCLUSIVE),
            pair.reason,
        )
        for pair in result.pairs
    )
    steps = dict.fromkeys(step for pair in result.pairs for step in pair.experiments)
    return make_report(
        "compare",
        result,
        verdict=fold(c.verdict for c in criteria),
        summary="; ".join(dict.fromkeys(pair.reason for pair in result.pairs)),
        criteria=criteria,
        findings=tuple(_finding(pair) for pair in result.pairs),
        next_steps=tuple(steps),
    )


def _finding(pair: Pair) -> Finding:
    finding = make_finding(
        f"compare/{pair.relation.value}", pair.reason, subject=f"{pair.first} and {pair.second}"
    )
    evidence = tuple(
        Evidence(d.role, f"{d.first or 'not stated'} / {d.second or 'not stated'}")
        for d in (*pair.chosen, *pair.derived)
    )
    return msgspec.structs.replace(finding, evidence=evidence)
