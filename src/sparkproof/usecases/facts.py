"""List claims, show one, find stale ones, and put all of them to an artifact."""

from __future__ import annotations

import difflib
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from sparkproof.adapters.clock import SystemClock
from sparkproof.claims.answer import answer_claim
from sparkproof.claims.material import Material
from sparkproof.core.claims import ClaimAnswer, Told
from sparkproof.core.condition import Tri
from sparkproof.core.digest import canonical_json
from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.ports import Clock, Progress
from sparkproof.core.report import Report
from sparkproof.core.results.facts import (
    ClaimAnswered,
    FactList,
    FactMatrix,
    FactPage,
    FactStale,
    FactVerification,
    MatrixRow,
    StaleRow,
)
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.core.units import plural
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict
from sparkproof.facts.claim import Claim, Kind, claims
from sparkproof.facts.claim_probes import is_static
from sparkproof.facts.claim_records import ClaimRecord, claim_records
from sparkproof.facts.surfaces import load_surface, shipped_surfaces
from sparkproof.usecases.claims.pick import ClaimWalk
from sparkproof.usecases.claims.rows import claim_row, history, recorded_answer, sorted_claims
from sparkproof.usecases.envelope import make_report

if TYPE_CHECKING:
    from sparkproof.adapters.cache import ArtifactCache

STALE_DAYS = 21
"""A stable release every two to three weeks: older looks may speak of another one."""


def list_facts(*, kind: str = "", about: str = "") -> Report[FactList]:
    """Claims, all or those of one kind or about one flag, backend or word."""
    word = about.strip().lower()
    found = [
        item
        for item in sorted_claims()
        if (not kind or item.kind == kind)
        and (not word or word in (name.lower() for name in item.about))
    ]
    return make_report(
        "facts list",
        FactList(tuple(map(claim_row, found))),
        verdict=Verdict.PASS,
        summary=plural(len(found), "claim"),
    )


def show_fact(claim_id: str) -> Report[FactPage]:
    """One claim, its probe, and what each release's wheel said.

    Raises:
        UsageError: no claim of that id.
    """
    claim = find_claim(claim_id)
    page = FactPage(claim_row(claim), canonical_json(claim.probe).decode(), history(claim))
    return make_report("facts show", page, verdict=Verdict.PASS, summary=claim.statement)


def find_claim(claim_id: str) -> Claim:
    """A claim by id.

    Raises:
        UsageError: there is none; the hint names near ones.
    """
    found = claims().get(claim_id.strip())
    if found is None:
        near = difflib.get_close_matches(claim_id, claims(), n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "`sparkproof facts list` has all"
        raise UsageError(f"no claim is called `{claim_id}`", hint=hint)
    return found


def find_stale(*, days: int = STALE_DAYS, clock: Clock | None = None) -> Report[FactStale]:
    """Published claims that the newest recorded release contradicts, and unchecked old ones."""
    records = list(claim_records().values())
    newest = records[-1] if records else None
    oldest_day = (clock or SystemClock()).now().date() - timedelta(days=days)
    outdated = tuple(_outdated(newest)) if newest is not None else ()
    old = tuple(
        StaleRow(claim_row(item), f"checked {item.checked.isoformat()}, and no file tells")
        for item in sorted_claims()
        if not is_static(item.probe) and item.checked < oldest_day
    )
    release = newest.version if newest is not None else ""
    return make_report(
        "facts stale",
        FactStale(release, outdated, old),
        verdict=Verdict.PASS,
        summary=f"{plural(len(outdated), 'published claim')} "
        f"no longer true of vllm {release}, {len(old)} to look at again",
    )


def _outdated(newest: ClaimRecord) -> list[StaleRow]:
    rows = []
    for claim in sorted_claims():
        answer = recorded_answer(newest, claim)
        if claim.claimed(newest.version) and answer.answer is ClaimAnswer.DOES_NOT_HOLD:
            rows.append(StaleRow(claim_row(claim), claim.now, answer.seen))
    return rows


def verify_facts(
    reference: str,
    *,
    device_code: bool = True,
    target: Target | None = None,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Report[FactVerification]:
    """Put every claim to an artifact, or to the record of a release named by its number alone.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    asked = sorted_claims()
    if _is_version(reference):
        record = _record(reference)
        surface = _shipped(record.version)
        material = Material(surface=surface, pick=ClaimWalk())
        rows = tuple(_without_artifact(record, material, claim) for claim in asked)
        return _verified(rows, record.version, f"vllm {record.version}, as recorded")
    from sparkproof.usecases.claims.material import (  # noqa: PLC0415 - only artifacts pay
        claim_material,
    )

    with claim_material(
        reference,
        asked,
        device_code=device_code,
        target=target,
        cache=cache,
        offline=offline,
        progress=progress,
    ) as (subject, material, unknowns):
        version = material.surface.version if material.surface else ""
        rows = tuple(_answered(claim, answer_claim(claim, material), version) for claim in asked)
    return _verified(rows, version, subject.title, (subject,), unknowns)


def _is_version(reference: str) -> bool:
    try:
        Version(reference)
    except InvalidVersion:
        return False
    return True


def _record(version: str) -> ClaimRecord:
    records = claim_records()
    wanted = Version(version)
    found = next((item for name, item in records.items() if Version(name) == wanted), None)
    if found is None:
        span = f"recorded are {next(iter(records))} to {list(records)[-1]}"
        raise UsageError(
            f"no wheel of vllm {wanted} was recorded ({span}); a neighbour's would be a guess",
            hint=f"name its wheel: sparkproof facts verify --against vllm=={wanted}",
        )
    return found


def _shipped(version: str) -> ReleaseSurface | None:
    return load_surface(version) if version in shipped_surfaces() else None


def _without_artifact(record: ClaimRecord, material: Material, claim: Claim) -> ClaimAnswered:
    """The shipped surface tells with file and line; for the rest there is the record."""
    told = answer_claim(claim, material)
    if told.answer is not ClaimAnswer.CANNOT_BE_TOLD or not is_static(claim.probe):
        return _answered(claim, told, record.version, basis="surface")
    found = recorded_answer(record, claim)
    return _answered(claim, Told(_TRI[found.answer], found.seen), record.version, basis="record")


_TRI = {
    ClaimAnswer.HOLDS: Tri.YES,
    ClaimAnswer.DOES_NOT_HOLD: Tri.NO,
    ClaimAnswer.CANNOT_BE_TOLD: Tri.UNKNOWN,
}


def _answered(claim: Claim, told: Told, version: str, basis: str = "artifact") -> ClaimAnswered:
    known = told.answer is not ClaimAnswer.CANNOT_BE_TOLD and not _before_the_book(version)
    booked = (told.answer is ClaimAnswer.HOLDS) is claim.expected(version) if known else None
    return ClaimAnswered(
        claim=claim_row(claim),
        answer=told.answer,
        seen=told.seen,
        claimed=claim.claimed(version),
        as_booked=booked,
        basis=basis,
        evidence=told.evidence,
    )


def _before_the_book(version: str) -> bool:
    """The book speaks of the releases that were examined and of later ones: those are the news."""
    oldest = next(iter(claim_records()), "")
    return _is_version(version) and bool(oldest) and Version(version) < Version(oldest)


def _verified(
    rows: tuple[ClaimAnswered, ...],
    version: str,
    title: str,
    subjects: tuple[Subject, ...] = (),
    unknowns: tuple[Unknown, ...] = (),
) -> Report[FactVerification]:
    counts = Counter(row.answer.value for row in rows)
    outdated = sum(row.claimed and row.answer is ClaimAnswer.DOES_NOT_HOLD for row in rows)
    wrong = [row for row in rows if row.as_booked is False]
    findings = tuple(map(_contradicted, wrong))
    told = len(rows) - counts[ClaimAnswer.CANNOT_BE_TOLD.value]
    verdict = Verdict.FAIL if wrong else Verdict.PASS if told else Verdict.INCONCLUSIVE
    summary = (
        f"{title}: {counts[ClaimAnswer.HOLDS.value]} claims hold, {outdated} published ones do not,"
        f" {counts[ClaimAnswer.CANNOT_BE_TOLD.value]} can't be told from files"
    )
    return make_report(
        "facts verify",
        FactVerification(version, {item.value: counts[item.value] for item in ClaimAnswer}, rows),
        verdict=verdict,
        summary=summary,
        findings=findings,
        facts=tuple(f"claims/{row.claim.id}" for row in wrong),
        subjects=subjects,
        unknowns=unknowns,
    )


def _contradicted(row: ClaimAnswered) -> Finding:
    word = "is not true of" if row.answer is ClaimAnswer.DOES_NOT_HOLD else "is true of"
    return Finding(
        rule="claims/contradicted",
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=f"{row.claim.id} {word} this artifact, against our book: {row.seen}",
        subject=row.claim.id,
        evidence=row.evidence,
        remedy=f"sparkproof facts show {row.claim.id}",
    )


def make_matrix(*, kind: str = "") -> Report[FactMatrix]:
    """Claims by releases, from the records; claims that no file tells are left out."""
    rows = tuple(
        MatrixRow(claim_row(item), tuple(answer.answer for answer in history(item)))
        for item in sorted_claims()
        if is_static(item.probe) and (not kind or item.kind == Kind(kind))
    )
    releases = tuple(claim_records())
    return make_report(
        "facts matrix",
        FactMatrix(releases, rows),
        verdict=Verdict.PASS,
        summary=f"{plural(len(rows), 'claim')} by {plural(len(releases), 'release')}",
    )
