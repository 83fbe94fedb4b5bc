"""A soak's report: judged afresh from its totals, now or from a receipt."""

from __future__ import annotations

from sparkproof.core.finding import Finding, Severity, worst_first
from sparkproof.core.observations.soak_run import Ending
from sparkproof.core.report import Report
from sparkproof.core.results.soak import SoakResult
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict, fold
from sparkproof.gates.soak import judge_soak
from sparkproof.gates.soak_death import is_dead
from sparkproof.gates.soak_pressure import pressure_words
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.live import subject_of


def report_soak(result: SoakResult) -> Report[SoakResult]:
    """Judge a result, fresh or stored."""
    criteria, findings = judge_soak(result)
    verdict = fold(c.verdict for c in criteria)
    ordered = worst_first(findings)
    return make_report(
        "soak",
        result,
        verdict=verdict,
        summary=_summary(result, verdict, criteria, ordered),
        subjects=(subject_of(result.snapshot),),
        criteria=criteria,
        findings=ordered,
        unknowns=(*result.snapshot.unknowns, *_unseen(result)),
        next_steps=_next_steps(result, ordered, verdict),
    )


def _summary(
    result: SoakResult,
    verdict: Verdict,
    criteria: tuple[Criterion, ...],
    findings: tuple[Finding, ...],
) -> str:
    if verdict is Verdict.FAIL:
        return findings[0].message
    if result.interrupted:
        return f"interrupted after {result.requests} requests; the records are kept"
    if verdict is Verdict.PASS:
        state = ", loaded" if result.loaded else ""
        return f"{result.requests} requests answered: {pressure_words(result)}{state}"
    return "; ".join(c.reason for c in criteria if c.verdict is verdict)


def _unseen(result: SoakResult) -> tuple[Unknown, ...]:
    found = []
    if not result.pressure.scrapes:
        found.append(
            Unknown("/metrics", "no counters: pressure is what we sent, not what was seen", "soak")
        )
    if result.process is None:
        found.append(
            Unknown("process", "not seen from here", "soak", "run it on the box, or pass --pid")
        )
    return tuple(found)


def _next_steps(
    result: SoakResult, findings: tuple[Finding, ...], verdict: Verdict
) -> tuple[str, ...]:
    address = result.snapshot.address
    steps = [f"sparkproof explain {f.rule}" for f in findings if f.severity is Severity.ERROR][:1]
    if is_dead(result) and (result.log is None or result.log.cause is None):
        steps.append("sparkproof log FILE")
    if result.ending is not Ending.DONE:
        steps.append(f"sparkproof soak {address} --resume {result.records}")
    elif verdict is Verdict.PASS and result.pressure.preemptions == 0 and not result.plan.preempt:
        steps.append(f"sparkproof soak {address} --preempt")
    elif verdict is Verdict.PASS:
        steps.append(f"sparkproof bench {address}")
    return tuple(steps)
