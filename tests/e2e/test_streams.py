"""Standard streams that are closed, full, or read by nobody: the work is done all the same."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.e2e.conftest import SCRIPT

from sparkproof.testing.openai_server import OpenAIServer
from sparkproof.testing.stand_in import StandIn
from sparkproof.testing.stand_in_answer import Behaviour

pytestmark = pytest.mark.e2e
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")


@pytest.mark.enable_socket
def test_a_run_goes_on_where_nobody_reads_what_it_tells(environment: dict[str, str]) -> None:
    """The first line on stderr must not end it, let alone as a pass."""
    with OpenAIServer(StandIn(Behaviour(ttft_s=0.0, interval_s=0.0))) as server:
        nobody, told = os.pipe()
        os.close(nobody)
        try:
            done = subprocess.run(
                [SCRIPT, "soak", server.url, "--requests", "16", "--longest", "128"],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=told,
                check=False,
                timeout=120,
            )
        finally:
            os.close(told)
    assert done.returncode == 0
    assert b"16 requests answered" in done.stdout


@needs_full
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_answer_that_can_not_be_written_is_told(
    environment: dict[str, str], more: tuple[str, ...]
) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [SCRIPT, "explain", "gb10", *more],
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=120,
        )
    assert done.returncode == 4
    assert done.stderr.startswith(b"error: can't write the answer to stdout")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("closed", "told"), [(">&-", False), ("2>&-", True), ("<&-", True), ("<&- >&- 2>&-", False)]
)
def test_closed_streams_change_no_verdict(
    environment: dict[str, str], closed: str, told: bool
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" explain gb10 {closed}', SCRIPT],
        env=environment,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (b"GB10" in done.stdout) is told
