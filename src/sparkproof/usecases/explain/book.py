"""Pages of ``explain`` from questions that releases ask the outside, and from field reports."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from sparkproof.core.results.explain import Page
from sparkproof.facts.field_records import KnownIssue, known_issues
from sparkproof.facts.gate_questions import GateQuestion, gate_questions
from sparkproof.usecases.reported import DEVICE_WORDS, count_by_device

Named = tuple[str, Page]
HELPS = "remedy in field records"
"""Kind of page: a variable or flag, and what it was reported to help against."""
_MEANS = re.compile(r"(?<![\w-])(?:[A-Z]+(?:_[A-Z0-9]+)+|--[a-z][a-z0-9-]+)")
"""Variables and flags in the text of a remedy."""


def question_pages() -> list[Named]:
    """One page a function of vLLM that asks the outside, with and without its brackets."""
    table = gate_questions()
    dated = (("source", table.source), ("checked", table.checked.isoformat()))
    pages = [(item.function, _question_page(item, dated)) for item in table.questions]
    return [named for name, page in pages for named in ((name, page), (f"{name}()", page))]


def _question_page(item: GateQuestion, dated: tuple[tuple[str, str], ...]) -> Page:
    kind = "question of vLLM to the outside"
    return Page(item.function, kind, item.asks, (f"what to do\n{item.remedy}",), dated)


def report_pages() -> list[Named]:
    """One page a field record, and one each for the variables and flags that remedies name."""
    helped: defaultdict[str, list[KnownIssue]] = defaultdict(list)
    for issue in known_issues():
        for name in dict.fromkeys(_MEANS.findall(issue.remedy)):
            helped[name].append(issue)
    pages = [(issue.id, _record_page(issue)) for issue in known_issues()]
    return [*pages, *((name, _helps_page(name, found)) for name, found in helped.items())]


def _record_page(issue: KnownIssue) -> Page:
    settled = "" if issue.certain else ", not settled"
    body = [f"{count_by_device(issue.record)}{settled}"]
    body += [" ".join(issue.cause.split())] if issue.cause else []
    body += [f"what to do\n{' '.join(issue.remedy.split())}"] if issue.remedy else []
    rows = [*_threads(issue), ("releases", issue.releases or "not told")]
    rows.append(("checked", issue.checked.isoformat()))
    kind = f"field record ({issue.effect.value})"
    return Page(issue.id, kind, issue.title, tuple(body), tuple(rows))


def _threads(issue: KnownIssue) -> Iterator[tuple[str, str]]:
    for report in issue.reports:
        where = f"{DEVICE_WORDS[report.device]}, {report.date}"
        yield where, f"{report.source}: {report.seen}"


def _helps_page(name: str, issues: list[KnownIssue]) -> Page:
    rows = tuple((item.id, f"{' '.join(item.remedy.split())}: {item.title}") for item in issues)
    return Page(name, HELPS, "", (), rows)
