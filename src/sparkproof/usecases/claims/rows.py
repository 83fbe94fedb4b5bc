"""Claims as rows of an answer."""

from __future__ import annotations

from sparkproof.core.claims import ClaimAnswer
from sparkproof.core.results.facts import ClaimRow, ReleaseAnswer
from sparkproof.facts.claim import Claim, claims, documents
from sparkproof.facts.claim_probes import Needs, Probe, parts
from sparkproof.facts.claim_records import ClaimRecord, claim_records

DEVICE = "gb10"
"""What claims about device code speak of."""
_NOT_RECORDED = "not recorded"


def kind_of(probe: Probe) -> str:
    """The probe's name in the book."""
    return str(probe.__struct_config__.tag)


def claim_row(claim: Claim) -> ClaimRow:
    """One claim, its sources spelled out."""
    sources = tuple(
        f"{documents()[item.document].title}, {item.section} ({item.stated.isoformat()})"
        for item in claim.sources
    )
    asked = dict.fromkeys(
        f"needs a {part.what}" if isinstance(part, Needs) else kind_of(part)
        for part in parts(claim.probe)
    )
    return ClaimRow(
        id=claim.id,
        kind=claim.kind.value,
        statement=claim.statement,
        said=claim.said,
        holds=claim.holds,
        sources=sources,
        checked=claim.checked.isoformat(),
        probe=tuple(asked),
        about=claim.about,
        now=claim.now,
    )


def recorded_answer(record: ClaimRecord, claim: Claim) -> ReleaseAnswer:
    """What a release's record says of a claim as it is asked today."""
    found = record.of(claim)
    if found is None:
        return ReleaseAnswer(record.version, ClaimAnswer.CANNOT_BE_TOLD, _NOT_RECORDED)
    return ReleaseAnswer(record.version, found.answer, found.seen)


def history(claim: Claim) -> tuple[ReleaseAnswer, ...]:
    """The recorded answers, oldest release first."""
    return tuple(recorded_answer(record, claim) for record in claim_records().values())


def sorted_claims() -> tuple[Claim, ...]:
    """All claims by id."""
    return tuple(sorted(claims().values(), key=lambda item: item.id))
