"""Answer for a rule, claim, flag, backend, failure, device, scheme, kernel family, or a word."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from sparkproof.core.errors import UsageError
from sparkproof.core.report import Report
from sparkproof.core.results.explain import Explanation, Page
from sparkproof.core.verdict import Verdict
from sparkproof.facts import book
from sparkproof.facts.kernel_family import kernel_families
from sparkproof.facts.quant_schemes import quant_schemes
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.explain.book import HELPS, question_pages, report_pages
from sparkproof.usecases.explain.claims import (
    CLAIMS,
    FLAG,
    about_pages,
    backend_pages,
    claim_pages,
    flag_pages,
)
from sparkproof.usecases.explain.release import release_pages, value_pages

_SUGGESTED, _LEAST = 3, 3
"""How many names a hint gives, and the characters that make a word worth looking for in them."""
_READ_IN_RELEASES = frozenset({FLAG, "backend", CLAIMS, HELPS})
"""Kinds of page beside which the newest shipped release has something to say."""
_LATE = {HELPS: 1, CLAIMS: 2}
"""Kinds of page that stand below the others."""


def explain(topic: str) -> Report[Explanation]:
    """Every page on a topic.

    Raises:
        UsageError: nothing is known by that name; the hint names the nearest ones.
    """
    wanted = _key(topic)
    found = [page for name, page in _pages() if _key(name) == wanted]
    if not found or any(page.kind in _READ_IN_RELEASES for page in found):
        found += release_pages(topic.strip())
    if all(page.kind in _LATE for page in found):
        found += value_pages(topic.strip())
    pages = tuple(sorted(found, key=lambda page: _LATE.get(page.kind, 0)))
    if not pages:
        near = _nearest(wanted)
        hint = f"did you mean {' or '.join(near)}?" if near else "`sparkproof explain` lists topics"
        raise UsageError(f"nothing is known about `{topic}`", hint=hint)
    return make_report(
        "explain",
        Explanation(topic, pages),
        verdict=Verdict.PASS,
        summary=_summary(pages[0]),
    )


def _key(topic: str) -> str:
    """Names compare without case, and with spaces and underscores as hyphens."""
    return topic.strip().lower().replace(" ", "-").replace("_", "-")


def _nearest(wanted: str) -> list[str]:
    """Topics spelled nearly so; else those that hold the word, or that it holds."""
    names = {_key(name): name for name, _ in _pages()}
    near = difflib.get_close_matches(wanted, names, n=_SUGGESTED)
    if not near and len(wanted) >= _LEAST:
        near = sorted((n for n in names if wanted in n), key=len)[:_SUGGESTED]
    if not near:
        near = sorted((n for n in names if len(n) >= _LEAST and n in wanted), key=len)[-1:]
    return [names[name] for name in near]


def _summary(page: Page) -> str:
    return f"{page.topic}: {page.kind}" + (f", {page.title}" if page.title else "")


def list_topics() -> Report[Explanation]:
    """One short page a topic, without the text."""
    unique = {(page.topic, page.kind): page for _, page in _pages()}
    pages = tuple(Page(page.topic, page.kind, page.title, ()) for page in unique.values())
    return make_report(
        "explain",
        Explanation("", pages),
        verdict=Verdict.PASS,
        summary=f"{len(pages)} topics",
    )


def _pages() -> list[tuple[str, Page]]:
    return [item for source in SOURCES for item in source()]


def _rule_pages() -> list[tuple[str, Page]]:
    return [
        (
            rule.id,
            Page(
                topic=rule.id,
                kind=f"rule ({rule.severity.value})",
                title=rule.title,
                body=(rule.explain.strip(), "what to do\n" + rule.remedy.strip()),
                rows=(("source", rule.source), ("checked", rule.checked.isoformat())),
            ),
        )
        for rule in book.rules().values()
    ]


def _word_pages() -> list[tuple[str, Page]]:
    return [
        (word.word, Page(word.word, "word", "", (word.meaning,), see=word.see))
        for word in book.glossary().values()
    ]


def _device_pages() -> list[tuple[str, Page]]:
    pages = []
    for device in book.hardware().values():
        rows = tuple(
            (name, f"{fact.value}  ({fact.source}, {fact.checked.isoformat()})")
            for name, fact in device.facts.items()
        )
        page = Page(device.id, "device", device.title, (), rows=rows)
        pages += [(name, page) for name in (device.id, *device.aliases)]
    return pages


def _signature_pages() -> list[tuple[str, Page]]:
    pages = []
    for item in book.signatures().values():
        kind = "failure signature" if item.names_cause else "kind of failure, cause open"
        remedy = "\n".join(("what to do", *item.remedy))
        rows = [("source", source) for source in item.sources]
        rows += [("checked", item.checked.isoformat()), ("rests on", item.confidence.value)]
        rows += [("first fixed in", item.first_fixed)] if item.first_fixed else []
        rows += [("keep", text) for text in item.keep]
        rows += [("example", example.text) for example in item.examples[:2]]
        page = Page(item.id, kind, item.title, (item.cause, remedy), tuple(rows), item.over)
        pages.append((item.id, page))
    return pages


def _scheme_pages() -> list[tuple[str, Page]]:
    return [
        (
            fact.id.value,
            Page(
                topic=fact.id.value,
                kind="quantization scheme",
                title=fact.title,
                body=(fact.meaning,),
                rows=(("source", fact.source), ("checked", fact.checked.isoformat())),
            ),
        )
        for fact in quant_schemes().values()
    ]


def _family_pages() -> list[tuple[str, Page]]:
    return [
        (
            family.id,
            Page(
                topic=family.id,
                kind="kernel family",
                title=family.title,
                body=(family.about,),
                rows=(("source", family.source), ("checked", family.checked.isoformat())),
                see=("cubin", "PTX"),
            ),
        )
        for family in kernel_families()
    ]


SOURCES: tuple[Callable[[], list[tuple[str, Page]]], ...] = (
    _rule_pages,
    _signature_pages,
    _device_pages,
    _word_pages,
    flag_pages,
    backend_pages,
    claim_pages,
    about_pages,
    _scheme_pages,
    _family_pages,
    question_pages,
    report_pages,
)
