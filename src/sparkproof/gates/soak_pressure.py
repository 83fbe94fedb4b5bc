"""What a soak really put the server through: a pass says what it exercised, and what it did not."""

from __future__ import annotations

from sparkproof.core.finding import Finding
from sparkproof.core.observations.soak_run import Ending
from sparkproof.core.results.soak import SoakResult
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.gates.pages import make_finding

_ASK_ITSELF = (
    "ask the server itself rather than what stands in front, and start it without "
    "--disable-log-stats"
)
_One = tuple[Criterion, Finding | None]


def judge_pressure(result: SoakResult) -> list[_One]:
    """Preemption, streams, pool, prefixes, drafts, lengths."""
    return [
        _preempted(result),
        _streams(result),
        _pool(result),
        _prefix(result),
        _drafts(result),
    ]


def pressure_words(result: SoakResult) -> str:
    """``8 at once, KV peak 100 %, 80 preemptions``: what the last line of a soak has to say."""
    seen = result.pressure
    parts = [f"{seen.in_flight_peak} at once"]
    if seen.kv_peak is not None:
        parts.append(f"KV peak {seen.kv_peak:.0%}")
    if seen.preemptions is None:
        parts.append("preemptions not told")
    else:
        count = f"{seen.preemptions:.0f}" if seen.preemptions else "no"
        parts.append(f"{count} preemption{'' if seen.preemptions == 1 else 's'}")
    return ", ".join(parts)


def _preempted(result: SoakResult) -> _One:
    name, seen, asked = "soak/preemption", result.pressure, result.plan.preempt
    if seen.preemptions:
        return Criterion(name, Verdict.PASS, f"{seen.preemptions:.0f} preemptions happened"), None
    if seen.preemptions is None:
        message = "the server does not tell of preemptions, so none is shown"
    elif asked:
        message = f"asked for, and none happened{_why_not(result)}"
    else:
        message = f"none happened, so nothing is shown about it{_peak(seen.kv_peak)}"
    if not _finished(result):
        return Criterion(name, Verdict.SKIPPED, "none until it stopped"), None
    remedy = _ASK_ITSELF if seen.preemptions is None else ""
    finding = make_finding("soak/no-preemption", f"preemption: {message}", remedy=remedy)
    if asked:
        return Criterion(name, Verdict.INCONCLUSIVE, message), finding
    return Criterion(name, Verdict.PASS, message, warning=True), finding


def _finished(result: SoakResult) -> bool:
    """What a soak that broke off did not show is not news."""
    return result.ending is Ending.DONE and bool(result.ok)


def _peak(kv_peak: float | None) -> str:
    return "" if kv_peak is None else f": at most {kv_peak:.0%} of the KV pool was in use"


def _why_not(result: SoakResult) -> str:
    running = result.pressure.running_peak
    if running is not None and running < result.plan.concurrency:
        return (
            f": the server never ran more than {running:.0f} of {result.plan.concurrency} at once "
            "(--max-num-seqs?)"
        )
    return _peak(result.pressure.kv_peak)


def _streams(result: SoakResult) -> _One:
    name, seen, wanted = "soak/streams", result.pressure, result.plan.concurrency
    if seen.running_peak is None:
        return Criterion(name, Verdict.SKIPPED, "the server does not tell"), None
    running, waiting = seen.running_peak, seen.waiting_peak or 0.0
    message = f"{running:.0f} running at once, {waiting:.0f} waiting; {wanted} asked for"
    if running >= min(wanted, 2) and running + waiting >= 0.75 * wanted:
        return Criterion(name, Verdict.PASS, message), None
    if not _finished(result):
        return Criterion(name, Verdict.SKIPPED, f"{message}, until it stopped"), None
    finding = make_finding("soak/few-streams", message)
    return Criterion(name, Verdict.PASS, message, warning=True), finding


def _pool(result: SoakResult) -> _One:
    name, seen = "soak/pool", result.pressure
    longest = f"longest request {max(0, seen.longest_tokens)} tokens"
    if result.plan.max_model_len:
        longest += f" of {result.plan.max_model_len}"
    if seen.kv_peak is None:
        return Criterion(name, Verdict.SKIPPED, f"KV use not told; {longest}"), None
    return Criterion(name, Verdict.PASS, f"KV peak {seen.kv_peak:.0%}; {longest}"), None


def _prefix(result: SoakResult) -> _One:
    name, seen = "soak/prefix", result.pressure
    if not seen.prefix_queries:
        return Criterion(name, Verdict.SKIPPED, "no prefix was looked up"), None
    hits = seen.prefix_hits or 0.0
    message = f"{hits:.0f} of {seen.prefix_queries:.0f} prompt tokens came from the prefix cache"
    if hits or not result.plan.shared_prefix:
        return Criterion(name, Verdict.PASS, message), None
    finding = make_finding("soak/no-prefix-hits", message)
    return Criterion(name, Verdict.PASS, message, warning=True), finding


def _drafts(result: SoakResult) -> _One:
    name, seen = "soak/drafts", result.pressure
    if not seen.drafts or seen.accepted is None or not seen.drafted:
        return Criterion(name, Verdict.SKIPPED, "no drafting seen"), None
    message = (
        f"{seen.drafted:.0f} tokens drafted, {seen.accepted / seen.drafted:.0%} accepted, "
        f"{1 + seen.accepted / seen.drafts:.2f} tokens a step"
    )
    return Criterion(name, Verdict.PASS, message), None
