"""Failures that were gathered before their signatures, and boots that went well."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from tests.unit.bootlog.conftest import LOGS, DiagnoseText

from sparkproof.core.errors import FormatError
from sparkproof.core.results.log import Diagnosis

BLIND: list[dict[str, Any]] = json.loads((LOGS / "blind-failures.json").read_text())["records"]
HEALTHY: list[dict[str, Any]] = json.loads((LOGS / "healthy-boots.json").read_text())["records"]


def _diagnose(record: dict[str, Any], diagnose_text: DiagnoseText) -> Diagnosis | None:
    try:
        return diagnose_text("\n".join(record["log_fragment"]))
    except FormatError:
        return None


@pytest.mark.parametrize("record", BLIND, ids=lambda r: str(r["id"]))
def test_no_blind_failure_gets_a_wrong_cause(
    record: dict[str, Any], diagnose_text: DiagnoseText
) -> None:
    diagnosis = _diagnose(record, diagnose_text)
    allowed = {*record["classes"], *record["related"]}
    cause = diagnosis.cause if diagnosis else None
    assert cause is None or cause.failure_class in allowed


@pytest.mark.parametrize(
    "record",
    [r for r in BLIND if r["classes"]],
    ids=lambda r: str(r["id"]),
)
def test_what_its_thread_settles_is_shown(
    record: dict[str, Any], diagnose_text: DiagnoseText
) -> None:
    diagnosis = _diagnose(record, diagnose_text)
    assert diagnosis is not None
    named = [diagnosis.cause] if diagnosis.cause else []
    shown = {c.failure_class for c in (*named, *diagnosis.kinds, *diagnosis.requests)}
    assert shown & {*record["classes"], *record["related"]}


def test_which_half_is_held_out_follows_from_the_source() -> None:
    for record in BLIND:
        even = int(hashlib.sha256(record["source"].encode()).hexdigest()[0], 16) % 2 == 0
        halves = {"held-out" if even else "written-from", "afterwards"}
        assert record["part"] in halves, record["id"]
    assert len({r["source"] for r in BLIND}) == len(BLIND)


@pytest.mark.parametrize("record", HEALTHY, ids=lambda r: str(r["id"]))
def test_a_boot_that_went_well_is_left_alone(
    record: dict[str, Any], diagnose_text: DiagnoseText
) -> None:
    diagnosis = diagnose_text("\n".join(record["lines"]))
    assert diagnosis.cause is None
    assert (diagnosis.rivals, diagnosis.kinds) == ((), ())
    assert not diagnosis.troubled


@pytest.mark.parametrize(
    ("last", "silent"),
    [
        ("Avg generation throughput: 28.4 tokens/s, Running: 1 reqs", False),
        ("Avg generation throughput: 0.0 tokens/s, Running: 1 reqs", True),
    ],
)
def test_a_worker_that_answered_again_is_not_silent(
    last: str, silent: bool, diagnose_text: DiagnoseText
) -> None:
    wait = "INFO 05-23 10:10:00 [shm_broadcast.py:681] No available shared memory broadcast block"
    traffic = "INFO 05-23 10:25:00 [loggers.py:271] Engine 000: Avg prompt throughput: 0.0 tokens/s"
    text = f"{wait} found in 600 seconds.\n{traffic}, {last}, Waiting: 0 reqs, "
    kinds = diagnose_text(f"{text}GPU KV cache usage: 0.4%, Prefix cache hit rate: 0.0%").kinds
    assert [k.signature for k in kinds] == (["quiet/worker-silent"] if silent else [])


def test_an_error_without_words_is_known_by_its_place(diagnose_text: DiagnoseText) -> None:
    head = "(EngineCore pid=9) ERROR 06-12 11:00:00 [core.py:1138]"
    frame = f'{head}   File "/opt/vllm/v1/core/sched/scheduler.py", line 330, in _split'
    assert diagnose_text(f"{frame}\n{head} AssertionError").saw == (
        "AssertionError at scheduler.py:330 _split"
    )


def test_the_place_is_told_of_a_failed_boot_alone(diagnose_text: DiagnoseText) -> None:
    head = "(EngineCore pid=9) ERROR 06-12 11:00:00 [core.py:1138]"
    frame = f'{head}   File "/opt/vllm/v1/spec_decode/eagle.py", line 330, in propose'
    unseen = f"{head} RuntimeError: something that nobody has seen"
    told = diagnose_text(f"{frame}\n{unseen}")
    assert [k.signature for k in told.kinds] == ["place/speculation"]
    oom = f"{head} torch.OutOfMemoryError: CUDA out of memory."
    assert [k.signature for k in diagnose_text(f"{frame}\n{oom}").kinds] == ["memory/gpu-oom"]
    up = "(APIServer pid=1) INFO:     Application startup complete."
    assert not diagnose_text(f"{frame}\n{unseen}\n{up}").troubled


def test_requests_that_fail_never_explain_a_death(diagnose_text: DiagnoseText) -> None:
    refused = "(EngineCore pid=9) ERROR 06-18 22:46:00 [backend_xgrammar.py:162] Failed to advance "
    refused += "FSM for request chatcmpl-1 for tokens 271. Please file an issue."
    dead = "(APIServer pid=1) ERROR 06-18 22:47:00 [async_llm.py:700] EngineDeadError: EngineCore "
    alone = diagnose_text(refused).cause
    assert alone is not None
    assert alone.signature == "request/grammar"
    assert diagnose_text(f"{refused}\n{dead}encountered an issue.").cause is None


def test_of_a_server_that_lives_it_is_told_and_no_failure(diagnose_text: DiagnoseText) -> None:
    up = "(APIServer pid=1) INFO:     Application startup complete."
    refused = "(EngineCore pid=9) ERROR 06-18 22:46:00 [backend_xgrammar.py:162] Failed to advance "
    diagnosis = diagnose_text(f"{up}\n{refused}FSM for request chatcmpl-1 for tokens 271.")
    assert (diagnosis.cause, diagnosis.troubled) == (None, False)
    assert [c.signature for c in diagnosis.requests] == ["request/grammar"]


def test_what_a_server_got_over_is_no_cause(diagnose_text: DiagnoseText) -> None:
    up = "(APIServer pid=1) INFO:     Application startup complete."
    quoted = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    well = '(APIServer pid=1) INFO:     10.0.0.2:50000 - "POST /v1/completions HTTP/1.1" 200 OK'
    assert diagnose_text(f"{up}\n{quoted}\n{well}").cause is None
    assert diagnose_text(f"{up}\n{well}\n{quoted}").cause is not None
