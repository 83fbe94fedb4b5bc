"""Did the server live through it; if not, at which request it went, and what its log says."""

from __future__ import annotations

import re

from sparkproof.core.finding import Finding
from sparkproof.core.observations.soak_run import WRONG_TEXT, Ending, Outcome
from sparkproof.core.results.soak import FailureSeen, LogSeen, SoakResult
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.gates.pages import make_finding

_NAME = "soak/alive"
_ILLEGAL = re.compile(r"illegal memory access|illegal address", re.IGNORECASE)
_HEALTHY = 200
_NO_SUCH_PAGE = (404, 405, 501)
"""A gateway that has no `/health` says nothing of the engine; the answers do."""
_GENERIC = ("ERROR", "CRITICAL", "FATAL")
_FATAL = frozenset({Outcome.ENGINE_DEAD, Outcome.ILLEGAL_ACCESS})


def judge_alive(result: SoakResult) -> tuple[Criterion, Finding | None]:
    """Alive, restarted, stuck or dead."""
    if is_dead(result):
        return _dead(result)
    if any(session.restarted for session in result.sessions):
        return _failed("soak/restarted", "the server began anew while it was asked", result)
    if result.ending is Ending.STUCK:
        message = f"nothing but failures in the end, while /health answers {result.health}"
        return _failed("soak/stuck", message, result)
    if not result.health and not result.sessions:
        return Criterion(_NAME, Verdict.INCONCLUSIVE, "nobody looked"), None
    if result.health != _HEALTHY and result.health not in _NO_SUCH_PAGE:
        said = f"answers {result.health}" if result.health else "never answered"
        message = f"/health {said}, so it is not shown that the engine lives"
        return Criterion(_NAME, Verdict.INCONCLUSIVE, message), None
    if any(session.anew for session in result.sessions):
        message = "the server was started anew between two stretches: this is not one long run"
        finding = make_finding("soak/started-anew", message)
        return Criterion(_NAME, Verdict.PASS, message, warning=True), finding
    return Criterion(_NAME, Verdict.PASS, "the engine lived to the end"), None


def is_dead(result: SoakResult) -> bool:
    """Whether the engine died, or the whole server."""
    if any(f.outcome in _FATAL for f in result.failures) or result.ending is Ending.GONE:
        return True
    if result.process is not None and result.process.gone:
        return True
    looked = result.ending in (Ending.DONE, Ending.STUCK)
    return looked and result.snapshot.healthy == _HEALTHY and result.health != _HEALTHY


def death_began(result: SoakResult) -> FailureSeen | None:
    """The first request that failed of it."""
    told = [f for f in result.failures if f.outcome in _FATAL]
    rest = [f for f in result.failures if f.outcome not in WRONG_TEXT]
    return next(iter(told), None) or next(iter(rest), None)


def cause_words(log: LogSeen | None) -> str:
    """``; the log says: ...``; "" where there is no log, or it says nothing."""
    if log is None:
        return ""
    exception = "" if says_little(log.saw) else log.saw
    said = (log.cause.title if log.cause else "") or exception or log.first_error
    return f"; the log says: {said}" if said else ""


def says_little(line: str) -> bool:
    """A log line that tells of an error without naming an exception."""
    return line.startswith(_GENERIC)


def _dead(result: SoakResult) -> tuple[Criterion, Finding | None]:
    began = death_began(result)
    place = f" at request {began.n} ({began.kind.value}), {began.into_s:.1f} s in" if began else ""
    illegal = _is_illegal(result)
    what = "illegal memory access: the engine died" if illegal else "engine dead"
    rule = "soak/illegal-access" if illegal else "soak/engine-dead"
    return _failed(rule, f"{what}{place}{cause_words(result.log)}", result)


def _failed(rule: str, message: str, result: SoakResult) -> tuple[Criterion, Finding]:
    began = death_began(result)
    what = f"request {began.n}: {began.detail}" if began else message
    cause = result.log.cause if result.log else None
    remedy = "; ".join(" ".join(line.split()) for line in cause.remedy[:2]) if cause else ""
    finding = make_finding(rule, message, where=result.records, what=what, remedy=remedy)
    return Criterion(_NAME, Verdict.FAIL, message), finding


def _is_illegal(result: SoakResult) -> bool:
    if any(f.outcome is Outcome.ILLEGAL_ACCESS for f in result.failures):
        return True
    log = result.log
    if log is None:
        return False
    cause = log.cause
    words = [log.saw, log.first_error]
    words += [cause.title, *(e.what for e in cause.evidence)] if cause else []
    return any(_ILLEGAL.search(text) for text in words)
