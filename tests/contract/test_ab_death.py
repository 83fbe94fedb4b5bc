"""An A/B run whose arms die, go out of reach, or never come up."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.ab_arms import CONTROL, TREATMENT, arm, outcome, rules, run, stand_in

from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.results.ab import AbOutcome
from sparkproof.core.server_port import Ask, Failure, Reply
from sparkproof.core.verdict import Verdict
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.usecases.ab.arms import ArmRef

LOG = """INFO 11-30 08:00:00 [api_server.py:100] vLLM API server version 0.32.0
ERROR 11-30 08:00:01 [core.py:900] EngineCore encountered a fatal error.
ERROR 11-30 08:00:01 [core.py:900] torch.AcceleratorError: CUDA error: out of memory
"""


class Writing(FakePort):
    """Says in its log why it died."""

    log: Path

    async def send(self, ask: Ask) -> Reply:
        reply = await super().send(ask)
        if reply.status == 500:
            self.log.write_text(LOG)
        return reply


def test_a_treatment_that_dies_fails_with_its_log_and_is_asked_no_more(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.touch()
    refs = [ArmRef(CONTROL), ArmRef(TREATMENT, log=str(log))]
    dying = Writing(stand_in(started=5, behaviour={"dies_after": 12}), name=TREATMENT)
    dying.log = log
    report = run(tmp_path, arm(CONTROL), dying, refs=refs, last_words_s=0)
    assert (report.verdict, outcome(report)) == (Verdict.FAIL, AbOutcome.DIES)
    assert "it says: EngineCore encountered an issue" in report.summary
    assert "while the control answers; the log says: " in report.summary
    assert rules(report) == {"ab/died"}
    assert report.result is not None
    assert sum(p.failed for p in report.result.passes if p.arm == 1) < 10


class Unreached(FakePort):
    """Its network goes away after some answers."""

    left = 40

    async def send(self, ask: Ask) -> Reply:
        self.left -= 1
        if self.left < 0:
            return Reply(0, failure=Failure.REFUSED, detail="no connection within 10 s")
        return await super().send(ask)


def test_a_treatment_out_of_reach_is_inconclusive(tmp_path: Path) -> None:
    report = run(tmp_path, arm(CONTROL), Unreached(stand_in(started=5), name=TREATMENT))
    assert outcome(report) is AbOutcome.INCONCLUSIVE
    assert "the treatment failed: no connection within 10 s" in report.summary


def test_a_control_that_dies_leaves_the_treatment_open(tmp_path: Path) -> None:
    report = run(tmp_path, arm(CONTROL, behaviour={"dies_after": 20}), arm(started=5))
    assert outcome(report) is AbOutcome.INCONCLUSIVE
    assert "ab/control-died" in rules(report)


def test_a_name_that_is_not_served_is_one_error_before_anything_is_asked(tmp_path: Path) -> None:
    control = arm(CONTROL)
    with pytest.raises(UsageError, match="`NOPE` is not served; the control has tiny"):
        run(tmp_path, control, arm(started=5), model="NOPE")
    assert not [path for path, _ in control.stand_in.asked if path == "/v1/completions"]


@pytest.mark.parametrize(
    ("command", "said", "wait_s"),
    [
        ("false", "ended with 1", 60.0),
        ("no-such-program", "can't run", 60.0),
        ("true", "no new server up", 0.3),
    ],
)
def test_a_command_that_brings_nothing_up_is_told(
    tmp_path: Path, command: str, said: str, wait_s: float
) -> None:
    port = FakePort(StandIn(), name=CONTROL)
    refs = [ArmRef(CONTROL, None, command)] * 2
    with pytest.raises(UnreachableError, match=said):
        run(tmp_path, port, port, refs=refs, wait_s=wait_s)
