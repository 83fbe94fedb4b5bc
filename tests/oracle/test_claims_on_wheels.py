"""Claims against real artifacts: the records are what wheels and shipped surfaces say."""

from __future__ import annotations

import pytest
from tests.conftest import RealWheel

from sparkproof.claims import Material, answer_claim
from sparkproof.core.claims import ClaimAnswer
from sparkproof.facts.claim import claims
from sparkproof.facts.claim_records import claim_records
from sparkproof.facts.surfaces import load_surface, shipped_surfaces
from sparkproof.usecases.claims.pick import ClaimWalk
from sparkproof.usecases.claims.recording import record_release

SHIPPED = [version for version in claim_records() if version in shipped_surfaces()]


@pytest.mark.parametrize("version", [SHIPPED[0], SHIPPED[len(SHIPPED) // 2], SHIPPED[-1]])
def test_a_shipped_surface_says_what_was_recorded_of_its_wheel(version: str) -> None:
    material = Material(surface=load_surface(version), pick=ClaimWalk())
    record = claim_records()[version]
    told = 0
    for claim in claims().values():
        answer = answer_claim(claim, material).answer
        recorded = record.of(claim)
        if answer is ClaimAnswer.CANNOT_BE_TOLD or recorded is None:
            continue
        told += 1
        assert recorded.answer is answer, claim.id
    assert told > 100


@pytest.mark.artifact
def test_a_record_is_what_its_wheel_says_today(real_wheel: RealWheel) -> None:
    version = SHIPPED[-1]
    made = record_release(str(real_wheel(f"vllm=={version}")))
    record = claim_records()[version]
    assert made.artifacts[0] == record.artifacts[0]
    told = {name: item for name, item in record.answers.items() if item.artifact == 0}
    assert {name: made.answers[name] for name in told} == told
