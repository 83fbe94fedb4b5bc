"""Record what one release's wheel says of every claim."""

from __future__ import annotations

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.clock import SystemClock
from sparkproof.claims.answer import answer_claim
from sparkproof.core.ports import Clock
from sparkproof.facts.book import find_device
from sparkproof.facts.claim_probes import is_static
from sparkproof.facts.claim_records import (
    ClaimRecord,
    Recorded,
    RecordedArtifact,
    probe_digest,
)
from sparkproof.usecases.claims.material import claim_material
from sparkproof.usecases.claims.rows import DEVICE, sorted_claims

_SEEN_CHARS = 240


def record_release(
    reference: str, *, cache: ArtifactCache | None = None, clock: Clock | None = None
) -> ClaimRecord:
    """Answer every static claim from an artifact.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    asked = [claim for claim in sorted_claims() if is_static(claim.probe)]
    with claim_material(reference, asked, cache=cache) as (subject, material, _):
        answers = {}
        for claim in asked:
            told = answer_claim(claim, material)
            seen = told.seen[:_SEEN_CHARS]
            answers[claim.id] = Recorded(told.answer, seen, probe_digest(claim))
        return ClaimRecord(
            version=material.surface.version if material.surface else "",
            artifacts=(RecordedArtifact(subject.filename, subject.sha256),),
            recorded=(clock or SystemClock()).now().date(),
            device=str(find_device(DEVICE).capability),
            answers=answers,
        )
