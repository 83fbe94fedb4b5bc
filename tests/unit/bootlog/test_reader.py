"""Whole logs into facts: numbers, choices, features, phases, ends."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from tests.unit.bootlog.conftest import INDEX, LOGS, ReadText, read_file

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.boot_log import Judgement, Outcome, Phase
from sparkproof.formats.vllm_log.lane import BOOTS_KEPT
from sparkproof.formats.vllm_log.lines import LINE_LIMIT
from sparkproof.formats.vllm_log.reader import read_log

RECORDED: list[dict[str, Any]] = json.loads((LOGS / "recorded-boots.json").read_text())["records"]
HEALTHY = {
    "h200-0.26.0-dense-bf16.log": 55,
    "h200-0.26.0-moe-nvfp4a16.log": 60,
    "cpu-0.27.1-ngram.log": 40,
    "cpu-0.32.0-mtp-hybrid.log": 45,
    "cpu-0.32.0-moe-echo-after-shutdown.log": 38,
}
HEAD = "(EngineCore pid=9) INFO 11-29 20:42:11 [x.py:1] "
BANNER = "(APIServer pid=1) INFO 11-29 20:41:25 [api_utils.py:345]  ▄▄ ▄█ █ ▀▄▀ █  version 0.26.0"


@pytest.mark.parametrize("record", RECORDED, ids=lambda r: str(r["id"]))
def test_every_recorded_number_and_backend_is_read(record: dict[str, Any]) -> None:
    boot = read_log(["\n".join(record["lines"]).encode()], INDEX, record["id"]).boots[-1]
    for name, values in record["values"].items():
        seen = [float(s.value) for s in boot.seen if s.name == name]
        for value in values:
            assert any(abs(s - value) < 1e-6 for s in seen), f"{name} {value} not in {seen}"
    assert set(record["backends"]) <= {b.backend for b in boot.backends}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_boot_yields_its_facts_and_no_trouble(name: str) -> None:
    boot = read_file(name)
    assert boot.fact_count >= HEALTHY[name]
    assert boot.outcome is Outcome.STOPPED
    assert boot.whole
    assert boot.absent == ()
    assert not [w.text for w in boot.warnings if w.judgement is Judgement.UNKNOWN]


def test_a_whole_boot_in_detail() -> None:
    boot = read_file("h200-0.26.0-moe-nvfp4a16.log")
    assert boot.version == "0.26.0"
    assert boot.argument("max_model_len") == "8192"
    assert boot.argument("quantization") == "compressed-tensors"
    assert boot.first("kv_tokens") == 4_167_824
    assert boot.first("max_concurrency_x") == 508.77
    experts = next(b for b in boot.backends if b.layer_class == "experts")
    assert experts.backend == "MARLIN"
    assert experts.passed_over[-1] == "VLLM_CUTLASS"
    assert "HUMMING" in experts.candidates
    features = {f.feature: f.on for f in boot.features}
    assert features["async_scheduling"]
    assert features["chunked_prefill"]
    assert not features["flashinfer_sampler"]
    ranks = [p.phase.rank for p in boot.phases if p.since_start_s >= 0]
    times = [p.since_start_s for p in boot.phases if p.since_start_s >= 0]
    assert all(a <= b for a, b in pairwise(times)) or ranks
    assert boot.traffic.responses_ok == 43


def test_refused_candidates_come_with_their_reason(read_text: ReadText) -> None:
    debug = "(EngineCore pid=9) DEBUG 11-29 20:42:11 [nvfp4.py:317] "
    why = "kernel does not support current device cuda"
    text = f"{debug}NvFp4 MoE backend 'FLASHINFER_TRTLLM' does not support the deployment "
    boot = read_text(f"{HEAD}Loading weights took 1 seconds\n{text}configuration since {why}.\n")
    refusal = boot.boots[-1].refusals[0]
    assert (refusal.layer_class, refusal.backend, refusal.reason) == (
        "experts",
        "FLASHINFER_TRTLLM",
        why,
    )


def test_the_drafter_and_its_features_are_told_apart() -> None:
    boot = read_file("cpu-0.32.0-mtp-hybrid.log")
    assert boot.first("block_size") == 384
    assert boot.traffic.last_acceptance_length == pytest.approx(1.11, abs=0.2)
    assert "speculative_config" in {a.name for a in boot.arguments}


def test_an_engine_that_dies_at_the_first_request() -> None:
    boot = read_file("cpu-0.32.0-engine-dies.log")
    assert boot.outcome is Outcome.DIED
    first = next(e for e in boot.errors if e.kind == "TypeError")
    assert first.phase is Phase.READY
    assert first.frames[-1].endswith("run_fused_precopy")


def test_an_echo_after_a_shutdown_is_no_death() -> None:
    boot = read_file("cpu-0.32.0-moe-echo-after-shutdown.log")
    assert boot.outcome is Outcome.STOPPED
    assert all(e.after_shutdown for e in boot.errors if e.kind == "EngineDeadError")


PREFIXES = {
    "docker -t": "2026-08-03T12:00:00.123456789Z ",
    "journald": "Aug 03 12:00:00 spark-1 vllm[4242]: ",
    "journald iso": "2026-08-03T12:00:00+0000 spark-1 docker[4242]: ",
    "compose": "vllm-1  | ",
    "cri": "2026-08-03T12:00:00.1Z stderr F ",
    "ray": "(RayWorkerWrapper pid=77, ip=10.0.0.2) ",
    "wrapped logger": "2025-06-27 12:57:51,690 - __main__ - INFO - ",
    "colour": "\x1b[0;36m",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_a_carrier_changes_nothing(prefix: str, read_text: ReadText) -> None:
    lines = [
        "(EngineCore_DP0 pid=9) INFO 11-29 20:42:11 [w.py:1] Available KV cache memory: 7.15 GiB",
        "(EngineCore_DP0 pid=9) ERROR 11-29 20:42:12 [c.py:1] Traceback (most recent call last):",
        "RuntimeError: it broke",
    ]
    boot = read_text("".join(f"{prefix}{text}\n" for text in lines)).boots[-1]
    assert boot.first("kv_available_gib") == 7.15
    assert boot.seen[0].process == "EngineCore_DP0"
    assert [(e.kind, e.message) for e in boot.errors] == [("RuntimeError", "it broke")]


def test_a_json_log_file_is_unwrapped(read_text: ReadText) -> None:
    inner = f"{HEAD}Available KV cache memory: 7.15 GiB"
    text = json.dumps({"log": inner + "\n", "stream": "stderr", "time": "2026-08-03T12:00:00Z"})
    assert read_text(text).boots[-1].first("kv_available_gib") == 7.15


def test_a_progress_bar_does_not_swallow_the_line_after_it(read_text: ReadText) -> None:
    bar = "Loading shards:  50%|#### | 1/2 [00:00<00:00, 3.6it/s]\rLoading shards: 100%|##| 2/2"
    boot = read_text(f"{bar}{HEAD}Loading weights took 0.28 seconds\r\n").boots[-1]
    assert boot.first("load_weights_s") == 0.28


def test_boots_are_told_apart_and_the_last_ones_kept(read_text: ReadText) -> None:
    one = f"{BANNER}\n{HEAD}Available KV cache memory: 1.0 GiB\n"
    reading = read_text(one * (BOOTS_KEPT + 3))
    assert reading.boots_total == BOOTS_KEPT + 3
    assert len(reading.boots) == BOOTS_KEPT
    assert [b.number for b in reading.boots][-1] == BOOTS_KEPT + 3


def test_a_line_that_should_be_there_is_absent(read_text: ReadText) -> None:
    ready = "INFO:     Application startup complete."
    boot = read_text(f"{BANNER}\n{HEAD}Loading weights took 0.28 seconds\n{ready}\n").boots[-1]
    assert "kv/tokens" in boot.absent
    assert "load/weights-time" not in boot.absent
    headless = read_text(f"{HEAD}Loading weights took 0.28 seconds\n{ready}\n").boots[-1]
    assert headless.absent == ()


def test_a_line_of_a_hundred_megabytes_takes_its_first_piece(read_text: ReadText) -> None:
    start = f"{HEAD}Available KV cache memory: 7.15 GiB ".encode()
    chunks = [start, *[b"x" * (1 << 20)] * 100, b"\n", f"{HEAD}Loading weights took 1 s".encode()]
    reading = read_log(chunks, INDEX, "log")
    assert reading.lines == 2
    assert reading.boots[-1].first("kv_available_gib") == 7.15
    assert str(LINE_LIMIT) in reading.unknowns[0].why


@pytest.mark.parametrize("data", [b"", b"\0\xff\xfe" * 5000, b"hello\nworld\n"])
def test_something_else_is_one_clear_error(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"vLLM log|binary data"):
        read_log([data], INDEX, "log")


def test_a_document_about_logs_is_no_log() -> None:
    text = "# Notes\n\nIt says `CUDA error: no kernel image is available`.\n## Why\n### When\n"
    with pytest.raises(FormatError, match="a document with headings"):
        read_log([text.encode()], INDEX, "log")


def test_a_report_that_holds_a_log_is_read() -> None:
    error = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    text = f"# Bug\n## Environment\n### What I saw\n```\n{error}\n```\n"
    assert read_log([text.encode()], INDEX, "log").boots[-1].errors
    line = f"{HEAD}Available KV cache memory: 7.15 GiB"
    assert read_log([f"# Bug\n## A\n## B\n{line}".encode()], INDEX, "log").headed == 1
