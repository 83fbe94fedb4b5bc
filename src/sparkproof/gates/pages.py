"""Findings from the pages of rules: severity, title and remedy are the page's."""

from __future__ import annotations

from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.facts.book import rules


def make_finding(
    rule: str,
    message: str = "",
    *,
    where: str = "",
    what: str = "",
    subject: str = "",
    severity: Severity | None = None,
    confidence: Confidence = Confidence.SHOWN,
    remedy: str = "",
) -> Finding:
    """A finding of `rule`; what is left out is taken from its page."""
    page = rules()[rule]
    return Finding(
        rule=rule,
        severity=severity or page.severity,
        confidence=confidence,
        message=message or page.title,
        subject=subject,
        evidence=(Evidence(where, what),) if what else (),
        remedy=remedy or " ".join(page.remedy.split()),
    )
