"""Field reports: each has a place, a date and a device, and speaks of the picks that it names."""

from __future__ import annotations

import re
from importlib import resources

import msgspec
import pytest
from packaging.specifiers import SpecifierSet

from sparkproof.core.field_report import DeviceClass, Effect
from sparkproof.facts.backend import backends
from sparkproof.facts.field_records import KnownIssue, Pick, known_issues, records_of

ISSUES = known_issues()
CLASSES = {"FlashInferMLASparseSM120Backend", "FlashInferMLASparseSM120Impl", "DeepGemmExperts"}
W4A4 = Pick(
    implementation="FlashInferExperts",
    subject="experts",
    scheme="nvfp4-w4a4",
    release="0.25.1",
    toolkit="13.0.88",
    major=12,
)


def ids(pick: Pick) -> list[str]:
    return [record.id for record in records_of(pick)]


@pytest.mark.parametrize("issue", ISSUES, ids=lambda issue: issue.id)
def test_a_record_lies_where_its_id_says_and_is_dated(issue: KnownIssue) -> None:
    family, slug = issue.id.split("/")
    folder = resources.files("sparkproof.facts").joinpath("data", "known_issues", family)
    assert folder.joinpath(f"{slug}.toml").is_file()
    assert issue.reports
    SpecifierSet(issue.releases)
    for report in issue.reports:
        assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", report.date), report
        assert report.source.strip()
        assert report.seen.strip()
    assert issue.backends or issue.subjects, "speaks of everything"


@pytest.mark.parametrize("issue", ISSUES, ids=lambda issue: issue.id)
def test_the_backends_of_a_record_are_known(issue: KnownIssue) -> None:
    assert set(issue.backends) <= backends().keys() | CLASSES


@pytest.mark.parametrize("issue", ISSUES, ids=lambda issue: issue.id)
def test_what_speaks_against_a_pick_names_a_way_out_or_says_why_not(issue: KnownIssue) -> None:
    if issue.effect in (Effect.CRASHES, Effect.REFUSES):
        assert issue.remedy.strip() or issue.cause.strip() or not issue.majors


def test_a_record_speaks_of_its_toolkit_line_alone() -> None:
    old = msgspec.structs.replace(W4A4, toolkit="12.9.86")
    unread = msgspec.structs.replace(W4A4, toolkit="")
    assert "nvfp4/flashinfer-cutlass-serves" in ids(W4A4)
    assert "nvfp4/flashinfer-cutlass-no-image" in ids(old)
    assert "nvfp4/flashinfer-cutlass-serves" not in ids(old)
    assert ids(unread) == []


def test_what_speaks_against_a_pick_comes_first() -> None:
    between = msgspec.structs.replace(W4A4, release="0.27.1")
    found = records_of(between)
    assert [record.bad for record in found] == sorted((r.bad for r in found), reverse=True)
    assert len(found) >= 2


def test_another_release_device_or_scheme_is_not_spoken_of() -> None:
    assert ids(msgspec.structs.replace(W4A4, release="0.33.0")) == []
    assert ids(msgspec.structs.replace(W4A4, major=10)) == []
    assert ids(msgspec.structs.replace(W4A4, scheme="nvfp4-w4a16")) == []


def test_a_development_version_is_spoken_of_with_its_line() -> None:
    assert "nvfp4/flashinfer-cutlass-serves" in ids(
        msgspec.structs.replace(W4A4, release="0.23.1rc1.dev40+g1234567")
    )


def test_a_drafter_is_spoken_of_only_where_there_is_one() -> None:
    draft = Pick("", "draft", "unquantized", "0.26.0", "13.0.88", 12)
    assert "spec/illegal-access-under-load" not in ids(draft)
    assert "spec/illegal-access-under-load" in ids(msgspec.structs.replace(draft, speculative=True))


def test_reports_are_counted_by_device() -> None:
    (found,) = [r for r in ISSUES if r.id == "nvfp4/flashinfer-sm120-code"]
    counts = [found.record.count(kind) for kind in DeviceClass]
    assert counts == [1, 1, 0]
    assert sum(counts) == len(found.reports)
