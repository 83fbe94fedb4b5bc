"""The frame of every answer."""

from __future__ import annotations

import msgspec

from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.report import ErrorInfo, Report
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.render.lines import line, plain_text
from sparkproof.render.report_text import render_criteria, render_frame

REPORT: Report[object] = Report(
    schema="sparkproof/x/1",
    command="x",
    tool_version="0",
    generated_at="2026-11-29T12:00:00Z",
    verdict=Verdict.PASS,
    summary="runs on gb10",
)


def finding(severity: Severity) -> Finding:
    return Finding(
        rule="deliver/ptx-jit",
        severity=severity,
        confidence=Confidence.SHOWN,
        message="compiled at first load",
        subject="marlin-repack",
        evidence=(Evidence("a.so", "compute_80", offset=16),),
        remedy="keep the cache\non a volume",
    )


def test_the_verdict_comes_first_and_the_body_after_what_to_do() -> None:
    report = msgspec.structs.replace(
        REPORT,
        findings=(finding(Severity.WARNING),),
        next_steps=("sparkproof explain deliver/ptx-jit",),
        receipt="sha256:1",
    )
    assert plain_text(render_frame(report, [line("body")])) == (
        "PASS with 1 warning  runs on gb10\n"
        "  warning  marlin-repack: compiled at first load  [deliver/ptx-jit]\n"
        "    keep the cache\n"
        "    on a volume\n"
        "next  sparkproof explain deliver/ptx-jit\n"
        "\n"
        "body\n"
        "\n"
        "receipt  sha256:1\n"
    )


def test_a_step_that_a_finding_has_said_already_is_not_repeated() -> None:
    report = msgspec.structs.replace(
        REPORT,
        findings=(finding(Severity.WARNING), finding(Severity.INFO)),
        next_steps=("keep the cache", "sparkproof explain deliver/ptx-jit"),
    )
    shown = plain_text(render_frame(report, []))
    assert shown.count("keep the cache") == 1
    assert "next  sparkproof explain" in shown


def test_details_and_evidence_are_for_the_verbose() -> None:
    report = msgspec.structs.replace(REPORT, findings=(finding(Severity.INFO),))
    assert plain_text(render_frame(report, [])) == "PASS  runs on gb10\n"
    assert "a.so@0x10: compute_80" in plain_text(render_frame(report, [], verbose=True))


def test_a_lookup_says_no_pass_but_always_a_fail() -> None:
    assert plain_text(render_frame(REPORT, [], judges=False)) == "runs on gb10\n"
    failed = msgspec.structs.replace(REPORT, verdict=Verdict.FAIL)
    assert plain_text(render_frame(failed, [], judges=False)) == "FAIL  runs on gb10\n"


def test_an_error_is_all_there_is() -> None:
    error = ErrorInfo("unreachable", "x.whl can't be read", "look again")
    report = msgspec.structs.replace(REPORT, verdict=Verdict.ERROR, error=error)
    assert plain_text(render_frame(report, [line("body")])) == (
        "error: x.whl can't be read\nhint: look again\n"
    )


def test_the_first_unknowns_are_shown_and_the_rest_counted() -> None:
    unknowns = tuple(Unknown(f"m{number}", "encrypted") for number in range(5))
    report = msgspec.structs.replace(REPORT, unknowns=unknowns)
    short = plain_text(render_frame(report, []))
    assert "not examined\n  m0  encrypted\n" in short
    assert "m3" not in short
    assert "and 2 more: -v shows them" in short
    assert "m4" in plain_text(render_frame(report, [], verbose=True))


def test_a_criterion_that_passes_with_a_warning_says_so() -> None:
    criteria = [
        Criterion("deliver/moe", Verdict.PASS, "ptx", warning=True),
        Criterion("deliver/dense", Verdict.FAIL, "none", warning=True),
    ]
    assert plain_text(render_criteria(criteria)) == (
        "  warn  deliver/moe    ptx\n  fail  deliver/dense  none\n"
    )
