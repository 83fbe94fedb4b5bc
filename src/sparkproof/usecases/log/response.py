"""Tell from an answer how the server was configured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sparkproof.adapters.log_sources import read_small
from sparkproof.bootlog.call_markup import find_call, parsers_of
from sparkproof.bootlog.response import MAX_BYTES, Answer, parse_answers
from sparkproof.bootlog.response_rules import garbage_words, judge_answer
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.report import Report
from sparkproof.core.results.log import LogResult
from sparkproof.core.verdict import Verdict
from sparkproof.facts.book import rules
from sparkproof.usecases.envelope import make_report

_SHOWN = 200
_OPEN_QUESTION = "response/unclear"


def explain_response(path: Path) -> Report[LogResult]:
    """Every answer in the file; sound ones give no finding.

    Raises:
        FormatError, UnreachableError: it can't be read, or holds no answer.
    """
    answers = parse_answers(read_small(path, MAX_BYTES), path.name)
    findings = tuple(
        _finding(rule, answer, f"{path.name}#{number}")
        for number, answer in enumerate(answers, 1)
        if (rule := judge_answer(answer))
    )
    causes = sorted(
        (f for f in findings if f.rule != _OPEN_QUESTION),
        key=lambda f: f.severity is not Severity.ERROR,
    )
    verdict, summary = _judge(len(answers), findings, causes)
    steps = tuple(dict.fromkeys(f"sparkproof explain {f.rule}" for f in causes))[:3]
    return make_report(
        "log",
        LogResult(where=path.name, lines=len(answers)),
        verdict=verdict,
        summary=summary,
        findings=findings,
        next_steps=steps,
    )


def _judge(
    total: int, findings: Sequence[Finding], causes: Sequence[Finding]
) -> tuple[Verdict, str]:
    """What is broken fails; what is only to be known passes with its warning."""
    if causes and causes[0].severity is Severity.ERROR:
        return Verdict.FAIL, causes[0].message
    if len(causes) < len(findings):
        return Verdict.INCONCLUSIVE, "the answer does not tell what is wrong"
    read = f"{total} answer{'s' if total > 1 else ''} read"
    if causes:
        return Verdict.PASS, f"{read}, none broken, but {causes[0].message}"
    return Verdict.PASS, f"{read}, all sound"


def _finding(rule: str, answer: Answer, where: str) -> Finding:
    page = rules()[rule]
    return Finding(
        rule=rule,
        severity=page.severity,
        confidence=Confidence.SHOWN,
        message=f"{page.title}: {words}" if (words := _words(rule, answer)) else page.title,
        evidence=(Evidence(where, _what(answer)),),
        remedy=" ".join(page.remedy.split()),
    )


def _words(rule: str, answer: Answer) -> str:
    """What this answer shows beyond the rule."""
    if answer.error:
        return " ".join(answer.error.split())[:_SHOWN]
    if rule == "response/garbage":
        return garbage_words(answer)
    if rule == "response/wrong-parser":
        mark = find_call(answer.content or "", cut=True)
        names = ", ".join(parsers_of(mark))
        return f"`{mark}`" + (f" is read by {names}" if names else "")
    return ""


def _what(answer: Answer) -> str:
    if answer.error:
        return f"{answer.status or 'error'}: {answer.error[:200]}"
    parts = [f"finish_reason {answer.finish_reason or 'none'}"]
    parts.append(f"content {len(answer.content or '')} characters")
    if answer.reasoning_field:
        parts.append(f"{answer.reasoning_field} {len(answer.reasoning or '')} characters")
    parts.append(f"{answer.tool_calls} tool calls")
    return ", ".join(parts)
