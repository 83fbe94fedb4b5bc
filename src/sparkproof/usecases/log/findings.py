"""From a boot's diagnosis to findings, verdict and the next thing to type."""

from __future__ import annotations

from sparkproof.bootlog.derive import NOT_WORKING
from sparkproof.bootlog.diagnosis import CONTAINER, KERNEL
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.observations.boot_log import BootLog, Judgement, Outcome, WarningSeen
from sparkproof.core.results.log import BootView, Cause, Derived
from sparkproof.core.text import shorten
from sparkproof.core.verdict import Verdict

_QUOTED_CHARS = 300
_ASK_A_RUNNING_ONE = (
    "sparkproof why http://HOST:PORT   # what the server answers now",
    "py-spy dump --pid PID   # of the EngineCore process, twice",
)
_DOWN = (Outcome.FAILED, Outcome.DIED)


def judge_boot(view: BootView, where: str) -> tuple[Verdict, tuple[Finding, ...]]:
    """Fail with a cause, inconclusive without one, pass where it came up."""
    diagnosis = view.diagnosis
    findings: list[Finding] = []
    if diagnosis.cause:
        findings.append(_cause_finding(diagnosis.cause, Severity.ERROR))
    findings += [_cause_finding(c, Severity.WARNING) for c in diagnosis.rivals]
    if diagnosis.rivals:
        findings.insert(0, _conflict(diagnosis.rivals))
    if diagnosis.troubled and not diagnosis.cause:
        findings += [_cause_finding(c, Severity.WARNING) for c in diagnosis.kinds]
        if not diagnosis.rivals:
            findings.append(_no_cause(view, where))
    findings += [_cause_finding(c, Severity.WARNING) for c in diagnosis.requests]
    findings += [_number_finding(item) for item in view.derived if item.suspicious]
    findings += [
        _warning_finding(w, where) for w in view.boot.warnings if w.judgement is Judgement.MATTERS
    ]
    if view.boot.absent:
        findings.append(_absent(view.boot))
    return _verdict(view), tuple(findings)


def _verdict(view: BootView) -> Verdict:
    if view.boot.outcome in _DOWN or view.diagnosis.cause:
        return Verdict.FAIL if view.diagnosis.cause else Verdict.INCONCLUSIVE
    if view.diagnosis.troubled:
        return Verdict.INCONCLUSIVE
    if failing(view):
        return Verdict.INCONCLUSIVE
    whole = view.boot.outcome in (Outcome.SERVING, Outcome.STOPPED)
    return Verdict.PASS if whole else Verdict.INCONCLUSIVE


def failing(view: BootView) -> Derived | None:
    """The first thing by which a server that is up did not do its work, if any."""
    return next((item for item in view.derived if item.failing), None)


def describe_boot(view: BootView) -> str:
    """The one line an operator needs."""
    boot, diagnosis = view.boot, view.diagnosis
    name = f"vllm {boot.version}" if boot.version else "the server"
    if diagnosis.cause:
        return f"{name} {_what(boot)}: {diagnosis.cause.title}"
    if diagnosis.rivals:
        return f"{name} {_what(boot)}: {len(diagnosis.rivals)} causes fit equally well"
    if diagnosis.troubled:
        kind = diagnosis.kinds[0].title if diagnosis.kinds else "no known signature fits"
        return f"{name} {_what(boot)}: {kind}, the cause can't be told from this log"
    if boot.outcome is Outcome.UNFINISHED and boot.fragment:
        return f"{name}: a piece of a log, without an error in it"
    if boot.outcome is Outcome.UNFINISHED:
        return f"{name}: the log ends in phase {boot.reached.value}, without an error"
    trouble = failing(view)
    if trouble:
        return f"{name} is up, but {trouble.text}"
    verb = "is serving" if boot.outcome is Outcome.SERVING else "served and was stopped"
    return f"{name} {verb}; {boot.fact_count} facts read"


def _what(boot: BootLog) -> str:
    if boot.outcome is Outcome.DIED:
        return "died while serving"
    if boot.outcome is Outcome.FAILED and not boot.fragment:
        return f"failed to start (phase {boot.reached.value})"
    return "shows a failure"


def next_steps(view: BootView) -> tuple[str, ...]:
    """What to type or change first."""
    diagnosis = view.diagnosis
    if diagnosis.cause:
        return (*diagnosis.cause.remedy[:2], f"sparkproof explain {diagnosis.cause.signature}")
    if diagnosis.rivals:
        return tuple(f"sparkproof explain {c.signature}" for c in diagnosis.rivals[:3])
    if diagnosis.troubled:
        known = (f"sparkproof explain {diagnosis.kinds[0].signature}",) if diagnosis.kinds else ()
        return (*known, *(f"keep {item}" for item in diagnosis.keep[:3]))
    if failing(view):
        return _ASK_A_RUNNING_ONE
    return ()


def _cause_finding(cause: Cause, severity: Severity) -> Finding:
    """A cause that is named has its title in the report's own first line."""
    title = "" if severity is Severity.ERROR else f"{cause.title}: "
    fixed = f" (fixed in {cause.first_fixed})" if cause.first_fixed else ""
    return Finding(
        rule=cause.signature,
        severity=severity,
        confidence=cause.confidence,
        message=f"{title}{cause.cause}{fixed}{_quoted(cause)}",
        evidence=cause.evidence,
        remedy="\n".join(cause.remedy),
    )


def _quoted(cause: Cause) -> str:
    """The line that says most: the last of those that matched, which names what is meant."""
    if not cause.evidence:
        return ""
    last = max(cause.evidence, key=lambda item: (item.where in (KERNEL, CONTAINER), item.line))
    place = f"line {last.line}"
    if last.where == KERNEL:
        place = f"kernel log, {place}"
    elif last.where == CONTAINER:
        place = "container"
    return f"; {place}: `{shorten(last.what.strip(), _QUOTED_CHARS)}`"


def _conflict(rivals: tuple[Cause, ...]) -> Finding:
    names = " and ".join(c.signature for c in rivals)
    return Finding(
        "log/conflict",
        Severity.WARNING,
        Confidence.INFERRED,
        f"{names} fit equally well and say different things; none is named",
    )


def _no_cause(view: BootView, where: str) -> Finding:
    diagnosis = view.diagnosis
    saw = diagnosis.saw or "no error line"
    last = f"the last good phase was {diagnosis.last_good}"
    if view.boot.fragment:
        last = "how far the boot came is not in it"
    evidence = (Evidence(where, diagnosis.saw[:300], diagnosis.saw_line),) if diagnosis.saw else ()
    return Finding(
        "log/no-cause",
        Severity.WARNING,
        Confidence.SHOWN,
        f"saw `{saw[:200]}`; {last}",
        evidence=evidence,
        remedy="keep: " + "; ".join(diagnosis.keep),
    )


def _number_finding(item: Derived) -> Finding:
    rule = "log/not-working" if item.name in NOT_WORKING else "log/suspicious"
    return Finding(rule, Severity.WARNING, Confidence.INFERRED, item.text, item.name)


def _warning_finding(warning: WarningSeen, where: str) -> Finding:
    return Finding(
        "log/warning-matters",
        Severity.WARNING,
        Confidence.DOCUMENTED,
        warning.why,
        evidence=(Evidence(where, warning.text[:300], warning.line),),
    )


def _absent(boot: BootLog) -> Finding:
    return Finding(
        "log/absent",
        Severity.INFO,
        Confidence.SHOWN,
        "not in the log, though such a boot prints it: " + ", ".join(boot.absent),
    )
