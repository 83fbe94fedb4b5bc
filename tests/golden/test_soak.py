"""What a soak prints: a pass with its pressure, and a death."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.golden.conftest import Golden
from tests.unit.gates.test_soak import result_of, sound_run
from tests.unit.load.test_soak_tally import PLAN, asked, look

from sparkproof.core.observations.soak_run import (
    Ending,
    EndRecord,
    Outcome,
    Record,
    SessionRecord,
)
from sparkproof.core.results.soak import ClientCost, LogSeen, ProcessSeen
from sparkproof.render.lines import plain_text
from sparkproof.render.report_text import render_frame
from sparkproof.render.soak_text import render_soak
from sparkproof.usecases.soak.report import report_soak

_DEAD: dict[str, Any] = {
    "outcome": Outcome.ENGINE_DEAD,
    "status": 500,
    "detail": "EngineCore encountered an issue. See stack trace (above) for the root cause.",
}
_LOG = LogSeen(name="server.log", new_bytes=48_213, errors=31, saw="RuntimeError: no such block")
_CLIENT = ClientCost(cpu_s=0.84, peak_rss_bytes=90 << 20)
RUNS: dict[str, tuple[Record, ...]] = {
    "preempted": (
        *sound_run(preemptions=80.0)[:-1],
        EndRecord(at=40.0, ending=Ending.KILLED),
        SessionRecord(at=90.0, start_s=1.0, done=30),
        *(asked(n, 60.0 + n, seconds=2.5) for n in range(30, 40)),
        EndRecord(at=103.0, ending=Ending.DONE),
    ),
    "dead": (
        *sound_run()[:-1],
        asked(30, 40.0, **_DEAD),
        asked(31, 40.5, **_DEAD),
        asked(32, 41.0, outcome=Outcome.REFUSED, status=0, detail="nothing listens there"),
        msgspec.structs.replace(look(44.0), health=0, counts=None),
        EndRecord(at=44.0, ending=Ending.GONE),
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_soak(name: str, golden: Golden) -> None:
    dead = name == "dead"
    process = ProcessSeen(
        pid=4711,
        first_rss_bytes=2 << 30,
        last_rss_bytes=3 << 30,
        peak_rss_bytes=3 << 30,
        gone=dead,
    )
    plan = msgspec.structs.replace(PLAN, preempt=not dead, pool_tokens=5120)
    more: dict[str, Any] = {"log": _LOG} if dead else {}
    report = report_soak(result_of(*RUNS[name], plan=plan, process=process, client=_CLIENT, **more))
    assert report.result is not None
    body = render_soak(report.result, report.criteria)
    golden(f"live/soak-{name}.txt", plain_text(render_frame(report, body)))
