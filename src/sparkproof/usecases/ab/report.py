"""The report of an A/B run, fresh or stored."""

from __future__ import annotations

from sparkproof.core.finding import worst_first
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbOutcome, AbResult
from sparkproof.core.results.compare import Relation
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict, fold
from sparkproof.gates.ab_findings import judge_ab
from sparkproof.gates.ab_judge import none_right
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.live import subject_of

_RULES = {AbOutcome.CORRUPTS: "ab/corrupts", AbOutcome.DIES: "ab/died"}


def report_ab(result: AbResult) -> Report[AbResult]:
    """Judge a result.

    Args:
        result: as `gates.ab_judge.derive` leaves it.
    """
    criteria, findings = judge_ab(result)
    verdict = fold(c.verdict for c in criteria)
    if result.interrupted:
        verdict = fold((verdict, Verdict.INCONCLUSIVE))
    return make_report(
        "ab",
        result,
        verdict=verdict,
        summary=_summary(result),
        subjects=tuple(subject_of(arm.snapshot) for arm in result.arms),
        criteria=criteria,
        findings=worst_first(findings),
        unknowns=_unknowns(result),
        next_steps=_next_steps(result, verdict),
    )


def _summary(result: AbResult) -> str:
    if result.interrupted:
        return f"interrupted after {result.answered} answers, which are kept"
    if result.refusals:
        return f"not compared: {'; '.join(message for _, message in result.refusals)}"
    if result.plan.aa:
        return f"one server against itself: {result.treatments[0].sentence}"
    if len(result.treatments) > 1:
        return "; ".join(f"{result.arms[t.arm].name}: {t.sentence}" for t in result.treatments)
    only = result.treatments[0]
    because = f", {only.reason}" if only.relation is Relation.BECAUSE else ""
    return f"{only.sentence}{because}"


def _unknowns(result: AbResult) -> tuple[Unknown, ...]:
    found = [unknown for arm in result.arms for unknown in arm.snapshot.unknowns]
    for arm in result.arms:
        if not arm.token_ids:
            why = f"the {arm.name} does not tell how it cuts texts into tokens"
            found.append(Unknown("/tokenize", why, "tokenizer"))
        if arm.fingerprint is None:
            why = f"the {arm.name} gives no log-probabilities of prompts"
            found.append(Unknown("/v1/completions", why, "fingerprint"))
    return tuple(dict.fromkeys(found))


def _next_steps(result: AbResult, verdict: Verdict) -> tuple[str, ...]:
    if result.interrupted:
        return (f"the same command with --resume {result.records}",)
    wrong = [_RULES[t.outcome] for t in result.treatments if t.outcome in _RULES]
    steps = [f"sparkproof explain {rule}" for rule in wrong]
    steps += [step for item in result.treatments for step in item.experiments]
    if any(t.death and not t.death.said for t in result.treatments):
        steps.append("sparkproof log FILE")
    if any(none_right(t.accuracy) for t in result.treatments):
        steps.append(f"sparkproof smoke {result.arms[0].snapshot.address}")
    if verdict is Verdict.PASS and not result.plan.aa and len(result.arms) > 1:
        soak = f"sparkproof soak {result.arms[1].snapshot.address}"
        steps.append(f"bring the treatment up again, then {soak}" if result.plan.one_url else soak)
    return tuple(dict.fromkeys(steps))
