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
    [r for r in BLIND if r["part"] == "written-from" and r["classes"]],
    ids=lambda r: str(r["id"]),
)
def test_what_was_written_from_is_shown(
    record: dict[str, Any], diagnose_text: DiagnoseText
) -> None:
    diagnosis = _diagnose(record, diagnose_text)
    assert diagnosis is not None
    named = [diagnosis.cause] if diagnosis.cause else []
    shown = {c.failure_class for c in (*named, *diagnosis.kinds)}
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


def test_requests_that_fail_never_explain_a_death(diagnose_text: DiagnoseText) -> None:
    refused = "(EngineCore pid=9) ERROR 06-18 22:46:00 [backend_xgrammar.py:162] Failed to advance "
    refused += "FSM for request chatcmpl-1 for tokens 271. Please file an issue."
    dead = "(APIServer pid=1) ERROR 06-18 22:47:00 [async_llm.py:700] EngineDeadError: EngineCore "
    alone = diagnose_text(refused).cause
    assert alone is not None
    assert alone.signature == "request/grammar"
    assert diagnose_text(f"{refused}\n{dead}encountered an issue.").cause is None
