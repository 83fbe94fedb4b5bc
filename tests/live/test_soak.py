"""Soaks of real servers: driven to preemption, left alone, and dead at the first request.

Two boots, one of them shared. Nothing here asks for a speed.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import pytest_socket
from tests.live.gate_server import QUIET, Live, serving
from tests.live.make_hybrid import MTP

from sparkproof.adapters.journal import find_journal, read_records
from sparkproof.core.observations.soak_run import Outcome, Record, SoakRecord
from sparkproof.core.verdict import Verdict
from sparkproof.gates.soak_plan import Wishes
from sparkproof.usecases.soak.command import Surroundings, soak

pytestmark = [pytest.mark.live, pytest.mark.enable_socket]
_MAKER = Path(__file__).with_name("make_hybrid.py")


def test_it_is_driven_to_preemptions_that_really_happen(small_pool: Live, tmp_path: Path) -> None:
    around = Surroundings(records=tmp_path, log=str(small_pool.log))
    report = soak(small_pool.url, Wishes(requests=40, preempt=True, timeout_s=600), around)
    assert report.verdict is Verdict.PASS, report.summary
    assert report.result is not None
    seen = report.result.pressure
    assert seen.preemptions
    assert f"{seen.preemptions:.0f} preemption" in report.summary
    assert seen.kv_peak is not None
    assert seen.kv_peak > 0.8
    assert seen.in_flight_peak == report.result.plan.concurrency
    assert report.result.process is not None
    assert report.result.process.pid == small_pool.pid
    assert report.result.process.first_rss_bytes > 1 << 29
    assert not report.result.failures


def test_one_without_preemption_says_so_and_one_kind_is_declined(
    small_pool: Live, tmp_path: Path
) -> None:
    wishes = Wishes(requests=50, longest=256, tools=True, reasoning=True, timeout_s=600)
    report = soak(small_pool.url, wishes, Surroundings(records=tmp_path))
    assert report.verdict is Verdict.PASS, report.summary
    assert "no preemptions" in report.summary
    assert {"soak/no-preemption", "soak/not-taken"} <= {f.rule for f in report.findings}
    assert report.result is not None
    assert list(report.result.not_taken) == ["tools"]
    assert report.result.probes == report.result.held > 0


def test_a_death_at_the_first_request_is_named_and_survived(
    live_environment: Path, tmp_path: Path
) -> None:
    """Speculation by the checkpoint's own head, on a hybrid, with prefix caching."""
    pytest_socket.enable_socket()
    python = str(live_environment / "bin" / "python")
    folder = tmp_path / "hybrid"
    subprocess.run(
        [python, str(_MAKER), str(folder)],
        env={**os.environ, **QUIET},
        check=True,
        capture_output=True,
        timeout=600,
    )
    with serving(live_environment, folder, MTP) as server:
        around = Surroundings(records=tmp_path, log=str(server.log))
        report = soak(server.url, Wishes(requests=100, timeout_s=600), around)
    assert report.verdict is Verdict.FAIL
    assert report.summary.startswith("engine dead at request 0")
    assert report.result is not None
    assert report.result.log is not None
    assert report.result.log.cause is not None
    assert report.result.log.cause.signature == "packages/triton-absent"
    assert report.result.failures[0].outcome is Outcome.ENGINE_DEAD
    kept = read_records(find_journal(tmp_path, "soak", "latest"), Record)
    asked = [r for r in kept if isinstance(r, SoakRecord)]
    assert len(asked) == report.result.requests > 0
