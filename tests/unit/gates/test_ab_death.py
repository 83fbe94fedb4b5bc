"""When an arm is dead, and what follows from it."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.gates.test_ab_judge import PLAN, SURE, judged, pair

from sparkproof.core.observations.ab_run import AbDeath
from sparkproof.core.results.ab import AbOutcome
from sparkproof.core.server_port import Reply
from sparkproof.core.verdict import Verdict
from sparkproof.gates.ab_death import death_words
from sparkproof.gates.ab_findings import judge_ab

DEATH = AbDeath(arm=1, cell=1, answered=7, seen="/health answers 503", control="answers")


def test_a_treatment_that_died_while_the_control_lived_fails() -> None:
    dead, result = judged(deaths=(DEATH,))
    assert dead.outcome is AbOutcome.DIES
    words = "at 8 at once, cold: /health answers 503, while the control answers"
    assert dead.sentence == f"dies after 7 whole answers, {words}"
    criteria, findings = judge_ab(result)
    assert next(c for c in criteria if c.name == "ab/treatment").verdict is Verdict.FAIL
    assert "ab/died" in {f.rule for f in findings}
    assert judged(pair(0, SURE), deaths=(DEATH,))[0].outcome is AbOutcome.CORRUPTS


def test_a_dead_control_shows_nothing_of_the_treatment() -> None:
    own = msgspec.structs.replace(DEATH, arm=0, control="")
    treatment, result = judged(deaths=(own,))
    assert treatment.outcome is AbOutcome.INCONCLUSIVE
    assert "ab/control-died" in {finding.rule for finding in judge_ab(result)[1]}
    one = msgspec.structs.replace(PLAN, aa=True)
    assert judged(plan=one, deaths=(own, DEATH))[0].outcome is AbOutcome.INCONCLUSIVE


def health(status: int = 0, body: bytes = b"", detail: str = "") -> Reply:
    return Reply(status, detail=detail, pieces=((0.0, body),))


@pytest.mark.parametrize(
    ("answer", "said", "dead"),
    [
        (health(200), [], False),
        (health(503), [], True),
        (health(503, b"no healthy upstream"), [], False),  # a gateway's words
        (health(502), [], False),
        (health(200), ["500 EngineCore encountered an issue. See stack trace"], True),
        (health(500, b'{"error": {"message": "EngineDeadError"}}'), [], True),
        (health(detail="nothing listens on port 8001"), [], True),
        (health(detail="[Errno -2] Name or service not known"), ["silent for 60 s"], False),
    ],
)
def test_a_death_has_to_be_shown(answer: Reply, said: list[str], dead: bool) -> None:
    assert bool(death_words(answer, said)) is dead
