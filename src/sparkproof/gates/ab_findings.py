"""The criteria and findings of an A/B run, from what was derived of it."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.ab import DivergenceClass
from sparkproof.core.finding import Finding
from sparkproof.core.results.ab import AbOutcome, AbPair, AbResult, Treatment
from sparkproof.core.text import parting, shorten
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.gates.ab import percent
from sparkproof.gates.ab_death import dies_words
from sparkproof.gates.ab_judge import none_right, quality_words, sound_control
from sparkproof.gates.fingerprint import DRIFT_NATS
from sparkproof.gates.pages import make_finding

_VERDICTS = {
    AbOutcome.NO_DIFFERENCE: Verdict.PASS,
    AbOutcome.HARMLESS: Verdict.PASS,
    AbOutcome.CORRUPTS: Verdict.FAIL,
    AbOutcome.DIES: Verdict.FAIL,
    AbOutcome.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}
_HIT_SHARE = 0.01
_SHOWN = 40
_OF_DEATH = frozenset({"ab/failed-requests", "ab/few-pairs"})
"""What follows from a death, and needs no line of its own."""
_AA_REMEDY = (
    "the server answers one question in two ways: run sparkproof soak on it, and ask it again "
    "without its newest feature"
)
Judged = tuple[tuple[Criterion, ...], tuple[Finding, ...]]


def judge_ab(result: AbResult) -> Judged:
    """Every criterion and finding; works on a stored result as on a fresh one.

    Args:
        result: as `derive` leaves it.
    """
    if result.refusals:
        found = tuple(make_finding(rule, message) for rule, message in result.refusals)
        return (Criterion("ab/arms", Verdict.INCONCLUSIVE, result.refusals[0][1]),), found
    criteria = [_arms(result), _noise(result)]
    findings: list[Finding] = []
    for treatment in result.treatments:
        name = result.arms[treatment.arm].name
        verdict = _VERDICTS[treatment.outcome]
        criteria.append(Criterion(f"ab/{name.replace(' ', '-')}", verdict, treatment.sentence))
        findings += _findings(result, treatment, name)
    for criterion, finding in _prefix(result):
        criteria.append(criterion)
        findings += [finding] if finding else []
    return tuple(criteria), tuple(dict.fromkeys(findings))


def _arms(result: AbResult) -> Criterion:
    if result.plan.aa:
        return Criterion("ab/arms", Verdict.PASS, "one server asked twice, as was meant")
    told = "one tokenizer" if result.arms[0].token_ids else "tokenizers not told"
    nats = [t.fingerprint.mean_nats for t in result.treatments if t.fingerprint]
    apart = f", fingerprints at most {max(nats):.3f} nats apart" if nats else ""
    meant = f"; meant to differ in {', '.join(result.plan.differ)}" if result.plan.differ else ""
    return Criterion("ab/arms", Verdict.PASS, f"{told}{apart}{meant}")


def _noise(result: AbResult) -> Criterion:
    """The control against itself."""
    name = "ab/noise"
    if not result.noise:
        return Criterion(name, Verdict.SKIPPED, "the control was not asked twice")
    parts = [
        f"{cell.of(DivergenceClass.IDENTICAL)} of {cell.pairs - cell.failed} the same at "
        f"{result.plan.cells[cell.cell].batch}"
        for cell in result.noise
        if cell.classes
    ]
    if not parts:
        flipped = sum(cell.broke + cell.mended for cell in result.noise)
        parts = [f"{flipped} scores changed between two answers"]
    verdict = Verdict.PASS if sound_control(result) else Verdict.INCONCLUSIVE
    return Criterion(name, verdict, f"the control against itself: {', '.join(parts)}")


def _findings(result: AbResult, treatment: Treatment, name: str) -> Iterator[Finding]:
    if treatment.outcome is AbOutcome.CORRUPTS:
        example = _example(result, treatment)
        yield make_finding(
            "ab/corrupts",
            quality_words(treatment, result.plan),
            subject=name,
            where=example[0],
            what=example[1],
            remedy=_AA_REMEDY if result.plan.aa else "",
        )
    death = treatment.death
    if death is not None:
        message = f"died {dies_words(death, result.plan)}"
        yield make_finding(
            "ab/died",
            message,
            subject=name,
            where=result.records,
            what=death.said or death.seen,
            remedy=death.remedy,
        )
    for rule, message in treatment.doubts:
        if death is not None and rule in _OF_DEATH:
            continue
        yield make_finding(rule, message, subject=name)
    if result.plan.aa and none_right(treatment.accuracy):
        yield make_finding("ab/none-right", subject=name)
    if treatment.speed_doubts:
        yield make_finding("ab/speed-doubtful", "; ".join(treatment.speed_doubts), subject=name)
    print_ = treatment.fingerprint
    if not result.plan.differ and print_ is not None and print_.mean_nats > DRIFT_NATS:
        message = f"{name} lies {print_.mean_nats:.2f} nats a token from the control"
        yield make_finding("ab/fingerprint-apart", message, subject=name)
    seen, wanted = treatment.detectable, result.plan.detect
    if treatment.outcome in (AbOutcome.NO_DIFFERENCE, AbOutcome.HARMLESS) and (
        seen is None or seen > wanted * 1.005
    ):
        could = "nothing" if seen is None else percent(seen)
        message = f"could have seen {could}, {percent(wanted)} was asked for"
        yield make_finding("ab/little-power", message, subject=name)


def _example(result: AbResult, treatment: Treatment) -> tuple[str, str]:
    """The task and the answers of the clearest corrupted pair."""
    pairs = [p for p in result.pairs if p.arm == treatment.arm and not p.failed]
    sure = [p for p in pairs if p.divergence and p.divergence.kind is DivergenceClass.CORRUPTION]
    broke = [p for p in pairs if p.first and p.second and p.first.exact and not p.second.exact]
    both = [p for p in sure if p in broke]
    pair = next(iter(both or sure or broke), None)
    if pair is None:
        return "", ""
    where = f"{pair.task}, {result.plan.cells[pair.cell].name}"
    why = pair.second.detail if pair.second and pair in broke else ""
    if not why and pair.divergence:
        why = f"from token {pair.divergence.at}: {pair.divergence.why}"
    return where, f"{why}; {replaced(pair)}"


def replaced(pair: AbPair) -> str:
    """What the treatment wrote where the control wrote something else."""
    old, new = parting(pair.first_text, pair.second_text)
    return f"{shorten(new, _SHOWN)!r} in place of {shorten(old, _SHOWN)!r}"


def _prefix(result: AbResult) -> Iterator[tuple[Criterion, Finding | None]]:
    """Cold was cold, and warm was warm: a pass says what it exercised."""
    for warm, name in ((False, "ab/cold"), (True, "ab/warm")):
        windows = [
            p.window
            for p in result.passes
            if p.window and not p.again and result.plan.cells[p.cell].warm is warm
        ]
        asked = sum(w.prefix_queries or 0 for w in windows)
        hits = sum(w.prefix_hits or 0 for w in windows)
        if not windows or not asked:
            reason = "the server does not count prefix hits" if windows else "not asked"
            yield Criterion(name, Verdict.SKIPPED, reason), None
            continue
        share = hits / asked
        reason = f"{percent(share)} of the prompts' tokens came from the prefix cache"
        wrong = share < _HIT_SHARE if warm else share > _HIT_SHARE
        rule = "ab/no-hits" if warm else "ab/not-cold"
        yield (
            Criterion(name, Verdict.PASS, reason, warning=wrong),
            make_finding(rule, reason) if wrong else None,
        )
