"""Servers that are up and do not work, and those that only look like it."""

from __future__ import annotations

import json

import pytest
from tests.unit.bootlog.conftest import LOGS, ReadText, read_file

from sparkproof.bootlog.derive import NOT_WORKING, derive
from sparkproof.core.observations.boot_log import BootLog

UP = (
    "(APIServer pid=1) INFO 11-29 20:41:25 [api_utils.py:345]  █ ▀▄▀ █  version 0.26.0\n"
    "(APIServer pid=1) INFO:     Application startup complete.\n"
)
STATS = (
    "(APIServer pid=1) INFO 11-29 21:10:00 [loggers.py:127] Engine 000: Avg prompt throughput: "
    "{:.1f} tokens/s, Avg generation throughput: {:.1f} tokens/s, Running: {} reqs, "
    "Waiting: 2 reqs, GPU KV cache usage: 99.9%, Prefix cache hit rate: 0.0%\n"
)
POST = '(APIServer pid=1) INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" {}\n'
HEALTH = '(APIServer pid=1) INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK\n'
WAIT = (
    "(EngineCore pid=9) INFO 11-29 21:10:00 [shm_broadcast.py:466] No available shared memory "
    "broadcast block found in 60 seconds.\n"
)
DONE = "(APIServer pid=1) INFO:     Shutting down\n"
FAILED, FINE = POST.format("500 Internal Server Error"), POST.format("200 OK")
STILL, BUSY, IDLE = STATS.format(0, 0, 8), STATS.format(0, 9, 8), STATS.format(0, 0, 0)


def _told(boot: BootLog) -> dict[str, bool]:
    return {d.name: d.failing for d in derive(boot) if d.name in NOT_WORKING}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (STILL * 6, {"stalled": True}),
        (BUSY + STILL * 7, {"stalled": True}),
        (STILL * 5, {}),
        (STILL * 6 + BUSY, {}),
        (STILL * 6 + FINE, {}),
        (STILL * 6 + HEALTH, {"stalled": True}),
        (IDLE * 20, {}),
        (FINE + FAILED * 5 + HEALTH, {"failing": True}),
        (FAILED * 5 + FINE, {}),
        (FAILED * 4, {}),
        (POST.format("400 Bad Request") * 9, {}),
        (WAIT * 3, {"worker-silent": False}),
        (BUSY + WAIT * 3, {"worker-silent": True}),
        (WAIT * 3 + BUSY, {}),
        (WAIT * 3 + FINE, {}),
        (STILL * 6 + FAILED * 5 + DONE, {}),
    ],
)
def test_what_did_not_work_when_the_log_ended(
    text: str, told: dict[str, bool], read_text: ReadText
) -> None:
    assert _told(read_text(UP + text).boots[-1]) == told


def test_a_slow_start_is_no_hang(read_text: ReadText) -> None:
    banner, ready = UP.splitlines(keepends=True)
    assert not _told(read_text(banner + WAIT * 9 + ready).boots[-1])


@pytest.mark.parametrize("name", sorted(path.name for path in LOGS.glob("*.log")))
def test_no_real_server_is_said_to_hang(name: str) -> None:
    assert not any(_told(read_file(name)).values())


def test_no_healthy_boot_is_said_to_hang(read_text: ReadText) -> None:
    for record in json.loads((LOGS / "healthy-boots.json").read_text())["records"]:
        text = "\n".join(record["lines"])
        assert not any(any(_told(boot).values()) for boot in read_text(text).boots), record["id"]
