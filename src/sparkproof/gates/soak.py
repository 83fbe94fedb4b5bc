"""Judges a soak: did the server hold, and what was it really put through."""

from __future__ import annotations

from collections.abc import Callable

from sparkproof.core.finding import Finding
from sparkproof.core.observations.soak_run import WRONG_TEXT, Ending, Outcome
from sparkproof.core.results.soak import FailureSeen, SoakResult
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.gates.pages import make_finding
from sparkproof.gates.soak_death import judge_alive
from sparkproof.gates.soak_pressure import judge_pressure

_One = tuple[Criterion, Finding | None]
_FEW_PROBES = 4
Judged = tuple[tuple[Criterion, ...], tuple[Finding, ...]]


def judge_soak(result: SoakResult) -> Judged:
    """One criterion a question; the findings of those that were not simply passed."""
    parts = [judge(result) for judge in _JUDGES] + judge_pressure(result)
    return (
        tuple(criterion for criterion, _ in parts),
        tuple(finding for _, finding in parts if finding),
    )


def _answered(result: SoakResult) -> _One:
    name = "soak/answered"
    failed = sum(f.count for f in result.failures if f.outcome not in WRONG_TEXT)
    if not result.requests:
        return Criterion(name, Verdict.INCONCLUSIVE, "nothing was asked"), None
    if not failed:
        return Criterion(name, Verdict.PASS, f"all {result.requests} requests were answered"), None
    parts = ", ".join(
        f"{f.count} {f.outcome.value}" for f in result.failures if f.outcome not in WRONG_TEXT
    )
    first = next(f for f in result.failures if f.outcome not in WRONG_TEXT)
    message = f"{failed} of {result.requests} requests failed: {parts}"
    began = f"request {first.n} ({first.kind.value}), {first.into_s:.1f} s in: {first.detail}"
    finding = make_finding("soak/failed-requests", message, where=result.records, what=began)
    return Criterion(name, Verdict.FAIL, message), finding


def _text(result: SoakResult) -> _One:
    """Cheap questions: quality is what `ab` is for."""
    name = "soak/text"
    wrong = next((f for f in result.failures if f.outcome in WRONG_TEXT), None)
    if wrong:
        rule, message = _wrong_words(wrong)
        finding = make_finding(rule, message, where=result.records, what=wrong.detail)
        return Criterion(name, Verdict.FAIL, message), finding
    if not result.ok:
        return Criterion(name, Verdict.SKIPPED, "nothing was answered"), None
    asked = result.plan.alone - len(result.not_taken)
    unsound = asked - len(result.sound_alone)
    if not result.sound_alone or 2 * unsound > asked:
        message = (
            f"{unsound} of {asked} answers did not look like text even when asked alone, "
            "so nothing like them was judged"
        )
        unclear = Criterion(name, Verdict.INCONCLUSIVE, message)
        return unclear, make_finding("soak/not-text-alone", message)
    if result.probes > result.held:
        return _changed(result)
    probes = _probes_alone(result)
    if probes and not result.probes and not result.held_alone and result.requests >= asked:
        message = f"none of {probes} known continuations came even when asked alone"
        unclear = Criterion(name, Verdict.INCONCLUSIVE, message)
        return unclear, make_finding("soak/none-right-alone", message)
    told = f", {result.probes} probes as when asked alone" if result.probes else ""
    return Criterion(name, Verdict.PASS, f"answers look like text{told}"), None


def _probes_alone(result: SoakResult) -> int:
    """How many probes were asked alone, without those that the server declines."""
    kinds = [kind.value for kind in result.plan.kinds]
    declined = sum(name not in kinds for name in result.not_taken)
    return result.plan.alone - len(kinds) - declined


def _wrong_words(wrong: FailureSeen) -> tuple[str, str]:
    if wrong.outcome is Outcome.GARBAGE:
        return "soak/garbage", (
            f"{wrong.count} answers were garbage under load, the first to request {wrong.n}; "
            "alone the server wrote text"
        )
    return "soak/corrupted", (
        f"{wrong.count} probes, right when asked alone, were wrong under load from a token on that "
        f"the model was sure of, the first at request {wrong.n}"
    )


def _changed(result: SoakResult) -> _One:
    """Probes that are wrong now, and that rounding may explain: not where it is all of them."""
    name, lost = "soak/text", result.probes - result.held
    message = f"{lost} of {result.probes} probes were answered otherwise than alone"
    odd = lost - result.ties
    if not result.held and odd >= max(_FEW_PROBES, lost / 2) and len(result.held_alone) > 1:
        message = f"none of {lost} probes was answered as alone, where all of them were right"
        finding = make_finding("soak/probes-lost", message, where=result.records, what=message)
        return Criterion(name, Verdict.FAIL, message), finding
    finding = make_finding("soak/probe-changed", message, where=result.records, what=message)
    return Criterion(name, Verdict.PASS, message, warning=True), finding


def _whole(result: SoakResult) -> _One:
    name, plan = "soak/whole", result.plan
    if result.ending is Ending.DONE:
        breaks = len(result.sessions) - 1
        told = f", in {breaks + 1} stretches" if breaks else ""
        message = f"{result.requests} requests in {result.seconds:.0f} s{told}"
        return Criterion(name, Verdict.PASS, message), None
    whole = f"{plan.last} requests" if plan.last else f"{plan.duration_s:.0f} s"
    words = {
        Ending.INTERRUPTED: "interrupted",
        Ending.GONE: "stopped, since nothing answers any more,",
        Ending.STUCK: "stopped after too many failures in a row",
    }.get(result.ending, "ended")
    message = f"{words} after {result.requests} requests and {result.seconds:.0f} s of {whole}"
    return Criterion(name, Verdict.INCONCLUSIVE, message), None


def _alone(result: SoakResult) -> _One:
    name = "soak/alone"
    if not result.loaded and result.pressure.running_peak is None:
        return Criterion(name, Verdict.SKIPPED, "the server does not tell"), None
    if not result.loaded:
        return Criterion(name, Verdict.PASS, "no other traffic seen"), None
    seen = next((s.others for s in result.sessions if s.others), "")
    message = f"loaded: {seen or f'{result.others:.0f} requests of others were served beside'}"
    finding = make_finding("soak/loaded", message)
    return Criterion(name, Verdict.PASS, message, warning=True), finding


def _taken(result: SoakResult) -> _One:
    name = "soak/kinds"
    asked = [k.kind.value for k in result.kinds if k.kind.value not in result.not_taken]
    if not result.not_taken:
        return Criterion(name, Verdict.PASS, f"asked: {', '.join(asked)}"), None
    kind, why = next(iter(result.not_taken.items()))
    message = f"{', '.join(result.not_taken)} not exercised: the server declines it ({kind})"
    finding = make_finding("soak/not-taken", message, where=kind, what=why)
    return Criterion(name, Verdict.PASS, message, warning=True), finding


def _log(result: SoakResult) -> _One:
    name, log = "soak/log", result.log
    if log is None:
        return Criterion(name, Verdict.SKIPPED, "no log was given"), None
    if not log.followed:
        return Criterion(name, Verdict.SKIPPED, f"{log.name} is read when something fails"), None
    if not log.errors:
        return Criterion(name, Verdict.PASS, f"{log.name}: {log.new_bytes} bytes, no errors"), None
    message = f"{log.errors} lines of {log.name} tell of errors"
    finding = make_finding("soak/log-errors", message, where=log.name, what=log.first_error)
    return Criterion(name, Verdict.PASS, message, warning=True), finding


_JUDGES: tuple[Callable[[SoakResult], _One], ...] = (
    judge_alive,
    _answered,
    _text,
    _whole,
    _alone,
    _taken,
    _log,
)
