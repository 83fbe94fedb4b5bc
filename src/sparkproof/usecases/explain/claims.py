"""Pages of ``explain`` from claims, flags and backends, with what the newest release says."""

from __future__ import annotations

from collections import defaultdict

from sparkproof.core.claims import ClaimAnswer
from sparkproof.core.results.explain import Page
from sparkproof.facts.backend import BackendNeeds, Means, backends
from sparkproof.facts.claim import Claim
from sparkproof.facts.claim_records import claim_records
from sparkproof.facts.flags import Flag, flags
from sparkproof.usecases.claims.rows import claim_row, recorded_answer, sorted_claims

Named = tuple[str, Page]
CLAIMS, FLAG = "claims", "flag of vllm serve"
"""Kinds of page: what was claimed of something, and a flag."""


def claim_pages() -> list[Named]:
    """One page a claim, by its id."""
    return [(claim.id, _claim_page(claim)) for claim in sorted_claims()]


def _claim_page(claim: Claim) -> Page:
    row = claim_row(claim)
    held = {"": "every release examined", "never": "no release examined"}
    rows = [
        ("holds for", held.get(row.holds, row.holds)),
        ("said of", held.get(row.said, row.said)),
    ]
    rows += [("source", source) for source in row.sources]
    rows += [("checked", row.checked), *_newest(claim)]
    body = (claim.statement, *((claim.now,) if claim.now else ()))
    return Page(claim.id, f"claim ({claim.kind.value})", "", body, tuple(rows), claim.about)


def _newest(claim: Claim) -> list[tuple[str, str]]:
    records = list(claim_records().values())
    if not records:
        return []
    found = recorded_answer(records[-1], claim)
    return [(f"vllm {found.version}", f"{found.answer.value}: {found.seen}")]


def about_pages() -> list[Named]:
    """One page a flag, backend or word that claims are about: each with today's answer."""
    grouped: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in sorted_claims():
        for name in claim.about:
            grouped[name].append(claim)
    return [(name, _about_page(name, found)) for name, found in grouped.items()]


def _about_page(name: str, found: list[Claim]) -> Page:
    rows = tuple((claim.id, _state(claim)) for claim in found)
    return Page(name, CLAIMS, "", (), rows)


def _state(claim: Claim) -> str:
    """What the newest release answers; where the claim is not true of it, what is."""
    records = list(claim_records().values())
    answer = recorded_answer(records[-1], claim).answer if records else ClaimAnswer.CANNOT_BE_TOLD
    word = {
        ClaimAnswer.HOLDS: "true",
        ClaimAnswer.DOES_NOT_HOLD: "not true",
        ClaimAnswer.CANNOT_BE_TOLD: "untold",
    }[answer]
    if answer is ClaimAnswer.DOES_NOT_HOLD and claim.now:
        return f"{' '.join(claim.now.split())} Said otherwise: {claim.statement}"
    release = f" of {records[-1].version}" if records else ""
    if answer is ClaimAnswer.DOES_NOT_HOLD and claim.holds not in ("", "never"):
        return f"true of {claim.holds} alone, not{release}: {claim.statement}"
    return f"{word}{release}: {claim.statement}"


def flag_pages() -> list[Named]:
    """One page a flag of the book."""
    return [(flag.flag, _flag_page(flag)) for flag in flags().values()]


def _flag_page(flag: Flag) -> Page:
    body = (flag.controls, f"if you get it wrong\n{flag.goes_wrong}")
    rows = (("source", flag.source), ("checked", flag.checked.isoformat()))
    return Page(flag.flag, FLAG, "", body, rows, flag.see)


def backend_pages() -> list[Named]:
    """One page a kernel class, under each of its names."""
    return [(name, _backend_page(name, item)) for name, item in backends().items()]


def _backend_page(name: str, backend: BackendNeeds) -> Page:
    rows = [("gives", backend.speed.value)]
    for need in backend.needs:
        means = need.family if need.means is Means.FAMILY else f"{need.provider} ({need.means})"
        scope = f", in {need.releases}" if need.releases else ""
        rows.append(("needs", f"{need.what}: {means}{scope}"))
    rows += [("read in", backend.holds_for), ("source", backend.source)]
    rows.append(("checked", backend.checked.isoformat()))
    note = (backend.note,) if backend.note else ()
    return Page(name, "backend", backend.title, note, tuple(rows))
