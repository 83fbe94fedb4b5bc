"""The frame of every answer: verdict first, then why, what next, and the detail after."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import dropwhile
from typing import Any

from sparkproof.core.finding import Finding, Severity
from sparkproof.core.report import Report
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.render.lines import Line, Span, Style, Verbatim, line, plain_line, table

VERDICT_STYLE = {
    Verdict.PASS: Style.GOOD,
    Verdict.FAIL: Style.BAD,
    Verdict.ERROR: Style.BAD,
    Verdict.INCONCLUSIVE: Style.WARN,
    Verdict.SKIPPED: Style.DIM,
}
SEVERITY_STYLE = {
    Severity.ERROR: Style.BAD,
    Severity.WARNING: Style.WARN,
    Severity.INFO: Style.DIM,
}


def render_frame(
    report: Report[Any], body: Iterable[Line], *, verbose: bool = False, judges: bool = True
) -> list[Line]:
    """Verdict, findings, next steps, then `body`, unknowns and the receipt.

    Args:
        report: what to render.
        body: the command's own lines.
        verbose: show informational findings, evidence, and every unknown.
        judges: False for a command that only looks something up: its pass says nothing, so
            that the summary stands alone.
    """
    if report.error is not None:
        return render_error(report)
    silent = not judges and report.verdict in (Verdict.PASS, Verdict.SKIPPED)
    lines = [line(report.summary)] if silent else _verdict_lines(report)
    lines += render_findings(report.findings, verbose=verbose)
    steps = _new_steps(report, verbose=verbose)
    lines += [line(Span("next", Style.STRONG), Verbatim(f"  {step}")) for step in steps]
    detail = list(dropwhile(lambda item: not plain_line(item), body))
    if detail:
        lines += [line(), *detail]
    lines += render_unknowns(report.unknowns, verbose=verbose)
    if report.receipt:
        lines += [line(), line(Span("receipt  ", Style.DIM), Span(report.receipt, Style.DIM))]
    return lines


def _new_steps(report: Report[Any], *, verbose: bool) -> list[str]:
    """What to do next, without what a finding above says already."""
    told = {
        row
        for finding in report.findings
        if verbose or finding.severity is not Severity.INFO
        for row in finding.remedy.splitlines()
    }
    return [step for step in report.next_steps if step not in told]


def render_error(report: Report[Any]) -> list[Line]:
    """``error: …`` and ``hint: …``."""
    assert report.error is not None
    lines = [line(Span("error", Style.BAD), Verbatim(f": {report.error.message}"))]
    if report.error.hint:
        lines.append(line(Span("hint", Style.STRONG), Verbatim(f": {report.error.hint}")))
    return lines


def _verdict_lines(report: Report[Any]) -> list[Line]:
    """The verdict and its summary; a summary of both ways has a line for each."""
    warnings = sum(1 for f in report.findings if f.severity is Severity.WARNING)
    word = report.verdict.value.upper()
    if report.verdict is Verdict.PASS and warnings:
        word += f" with {warnings} warning{'s' if warnings > 1 else ''}"
    first, *rest = report.summary.split(" | ")
    lines = [line(Span(word, VERDICT_STYLE[report.verdict]), f"  {first}")]
    return lines + [line(f"{' ' * len(word)}  {way}") for way in rest]


def render_findings(findings: Iterable[Finding], *, verbose: bool = False) -> list[Line]:
    """One block a finding: what, where it rests, what to do."""
    lines: list[Line] = []
    for finding in findings:
        if finding.severity is Severity.INFO and not verbose:
            continue
        subject = f"{finding.subject}: " if finding.subject else ""
        lines.append(
            line(
                "  ",
                Span(finding.severity.value, SEVERITY_STYLE[finding.severity]),
                f"  {subject}{finding.message}  ",
                Span(f"[{finding.rule}]", Style.DIM),
            )
        )
        if finding.remedy:
            lines += [line(f"    {row}") for row in finding.remedy.splitlines()]
        if verbose:
            lines += [
                line(Span(f"    {item.place}: {item.what}", Style.DIM)) for item in finding.evidence
            ]
    return lines


def render_criteria(criteria: Iterable[Criterion]) -> list[Line]:
    """Each question of the verdict with its answer."""
    return table(
        (
            Span("warn", Style.WARN)
            if item.warning and item.verdict is Verdict.PASS
            else Span(item.verdict.value, VERDICT_STYLE[item.verdict]),
            item.name,
            Span(item.reason, Style.DIM),
        )
        for item in criteria
    )


def render_unknowns(unknowns: tuple[Unknown, ...], *, verbose: bool = False) -> list[Line]:
    """What could not be examined; the first few unless `verbose`."""
    if not unknowns:
        return []
    shown = unknowns if verbose else unknowns[:3]
    lines = [line(), line(Span("not examined", Style.STRONG))]
    lines += table((Span(item.where, Style.DIM), item.why) for item in shown)
    if len(shown) < len(unknowns):
        lines.append(
            line(Span(f"  and {len(unknowns) - len(shown)} more: -v shows them", Style.DIM))
        )
    return lines
