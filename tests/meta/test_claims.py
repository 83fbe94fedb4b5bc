"""Claims: complete, sourced, shown to give both answers, and recorded as they are asked today."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from sparkproof.core.claims import ClaimAnswer
from sparkproof.facts.claim import NEVER, Claim, Kind, claims, documents
from sparkproof.facts.claim_probes import is_static
from sparkproof.facts.claim_records import claim_records
from sparkproof.render.claims_page import render_page
from sparkproof.usecases.facts import make_matrix

_ID = re.compile(r"[a-z]+/[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_WANTED_WITH_BOTH_ANSWERS = 50
CLAIMS = [pytest.param(item, id=item.id) for item in claims().values()]


def test_a_claim_lies_where_its_id_says(repository: Any) -> None:
    root = repository.src / "facts/data/claims"
    paths = {p.relative_to(root).with_suffix("").as_posix() for p in root.rglob("*.toml")}
    assert paths == set(claims())


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_complete(claim: Claim) -> None:
    assert _ID.match(claim.id)
    assert claim.statement.endswith(".")
    assert len(claim.statement.split()) > 3
    assert claim.sources
    assert claim.about
    for specifier in (claim.said, claim.holds, claim.only):
        assert specifier == NEVER or SpecifierSet(specifier) is not None
    for source in claim.sources:
        assert source.section in documents()[source.document].sections
        assert source.stated <= claim.checked


def test_a_claim_that_was_found_untrue_says_what_is_the_case() -> None:
    silent = {
        claim.id
        for claim in claims().values()
        for version in claim_records()
        if claim.speaks_of(version)
        and claim.claimed(version)
        and not claim.expected(version)
        and not claim.now
    }
    assert silent == set()


def test_every_section_of_every_document_is_represented() -> None:
    for document in documents().values():
        used = {
            source.section
            for claim in claims().values()
            for source in claim.sources
            if source.document == document.id
        }
        assert set(document.sections) == used, document.id


def test_there_is_every_kind_of_claim() -> None:
    counted = Counter(item.kind for item in claims().values())
    assert set(counted) == set(Kind)


def test_at_least_fifty_claims_change_their_answer_between_recorded_releases() -> None:
    both = []
    for claim in claims().values():
        answers = {found.answer for r in claim_records().values() if (found := r.of(claim))}
        if {ClaimAnswer.HOLDS, ClaimAnswer.DOES_NOT_HOLD} <= answers:
            both.append(claim.id)
    assert len(both) >= _WANTED_WITH_BOTH_ANSWERS


def test_every_static_claim_is_recorded_as_it_is_asked_today() -> None:
    missing = [
        f"{record.version}: {claim.id}"
        for record in claim_records().values()
        for claim in claims().values()
        if is_static(claim.probe) and record.of(claim) is None
    ]
    assert missing == [], "run `make claims-records`"


def test_every_static_claim_is_told_by_some_release() -> None:
    untold = [
        claim.id
        for claim in claims().values()
        if is_static(claim.probe)
        and all(
            (found := record.of(claim)) is None or found.answer is ClaimAnswer.CANNOT_BE_TOLD
            for record in claim_records().values()
        )
    ]
    assert untold == []


@pytest.mark.parametrize("version", list(claim_records()))
def test_what_a_release_said_is_what_the_book_says_of_it(version: str) -> None:
    record = claim_records()[version]
    wrong = [
        f"{claim.id}: {found.seen}"
        for claim in claims().values()
        if (found := record.of(claim)) is not None
        and found.answer is not ClaimAnswer.CANNOT_BE_TOLD
        and (found.answer is ClaimAnswer.HOLDS) is not claim.expected(version)
    ]
    assert wrong == []


def test_the_page_is_that_of_the_records(repository: Any) -> None:
    page = repository.root / "docs" / "claims-matrix.md"
    result = make_matrix().result
    assert result is not None
    assert page.read_text(encoding="utf-8") == render_page(result), "run `make claims-matrix`"


def test_what_a_claim_is_about_can_be_explained() -> None:
    from sparkproof.usecases.explain.command import list_topics  # noqa: PLC0415

    result = list_topics().result
    assert result is not None
    known = {page.topic for page in result.pages}
    assert [n for c in claims().values() for n in (c.id, *c.about) if n not in known] == []
