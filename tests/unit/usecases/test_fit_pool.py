"""Pools that are stated, that contradict each other, and that have no room."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparkproof.core.errors import UnknownLayoutError, UsageError
from sparkproof.core.finding import Finding, Severity
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult
from sparkproof.core.verdict import Verdict
from sparkproof.memory.budget import GIB
from sparkproof.usecases.fit.command import FitRequest, fit, fit_request

CONFIGS = Path(__file__).parents[2] / "data" / "memory" / "configs"
DENSE = str(CONFIGS / "qwen3-32b.json")
LENGTH = ("--max-model-len", "40960")
BLOCKS = (*LENGTH, "--num-gpu-blocks-override")
LLAMA4 = {
    "model_type": "llama4_text",
    "num_hidden_layers": 48,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_size": 5120,
    "attention_chunk_size": 8192,
    "no_rope_layers": [1, 1, 1, 0] * 12,
    "max_position_embeddings": 262144,
}
COHERE2 = {
    "model_type": "cohere2",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_size": 4096,
    "sliding_window": 4097,
    "max_position_embeddings": 131072,
}


def ask(checkpoint: str = DENSE, version: str = "0.33.0", **parts: Any) -> Report[FitResult]:
    given = {"checkpoint": checkpoint, "version": version, "argv": LENGTH, **parts}
    return fit(FitRequest(**given))


def answer(report: Report[FitResult]) -> FitResult:
    assert report.result is not None
    return report.result


def told(report: Report[FitResult], rule: str) -> list[Finding]:
    return [item for item in report.findings if item.rule == f"memory/{rule}"]


def written(folder: Path, config: dict[str, object]) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return str(path)


@pytest.mark.parametrize("version", ["0.20.1", "0.21.0", "0.22.0", "0.33.0"])
def test_blocks_below_one_request_end_the_start_where_the_check_looks_at_them(version: str) -> None:
    report = ask(argv=(*BLOCKS, "100"), version=version, weights_gib=61.0)
    assert report.verdict is Verdict.FAIL
    (found,) = told(report, "below-one-request")
    assert found.severity is Severity.ERROR
    assert "--num-gpu-blocks-override gives 100" in found.message


@pytest.mark.parametrize("version", ["0.19.1", "0.20.0"])
def test_blocks_below_one_request_are_taken_where_it_does_not(version: str) -> None:
    report = ask(argv=(*BLOCKS, "100"), version=version, weights_gib=61.0)
    (found,) = told(report, "below-one-request")
    assert found.severity is Severity.WARNING
    assert report.verdict is Verdict.PASS


def test_one_request_takes_one_block_more_where_the_null_block_is_left_out() -> None:
    blocks = answer(ask(kv_gib=20.0)).plan.blocks_per_request
    for version, least in (("0.28.0", blocks), ("0.33.0", blocks + 1)):
        for count, severities in ((least, []), (least - 1, [Severity.ERROR])):
            report = ask(argv=(*BLOCKS, str(count)), version=version)
            found = told(report, "below-one-request")
            assert [item.severity for item in found] == severities


def test_a_context_that_is_left_open_needs_one_token_at_least() -> None:
    argv = ("--max-model-len", "-1", "--kv-cache-memory-bytes")
    assert not told(ask(argv=(*argv, str(GIB))), "below-one-request")
    assert told(ask(argv=(*argv, "1000")), "below-one-request")


def test_a_pool_that_a_log_printed_stands_in_the_budget() -> None:
    report = ask(kv_gib=20.0, weights_gib=40.0)
    memory = answer(report).memory
    assert memory is not None
    assert memory.kv_bytes == answer(report).plan.pool_bytes == 20 * GIB
    assert sum(line.bytes for line in memory.lines) == memory.requested_bytes
    steady = next(phase for phase in memory.phases if phase.name == "steady")
    assert steady.uses["kv"] == 20 * GIB


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"kv_gib": 20.0, "argv": (*LENGTH, "--kv-cache-memory-bytes", "1000000000")}, "two pools"),
        ({"kv_gib": 60.0, "weights_gib": 80.0}, "no boot prints both"),
        ({"kv_gib": 40.0, "weights_gib": 60.0, "rest_gib": 20.0}, "no boot prints both"),
        ({"kv_gib": 0.0}, "holds nothing"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ask(**parts)


def test_the_same_pool_said_twice_is_no_contradiction() -> None:
    argv = (*LENGTH, "--kv-cache-memory-bytes", str(20 * GIB + 1_000_000))
    assert answer(ask(kv_gib=20.0, argv=argv)).plan.pool_bytes == 20 * GIB


@pytest.mark.parametrize(
    ("weights", "flags", "said", "remedy"),
    [
        (214.0, (), "exceed the 121.69 GiB of the box by 92.31 GiB", "smaller"),
        (115.0, (), "exceed the 111.95 GiB of the request by 3.05 GiB", "no share of this box"),
        (
            60.0,
            ("--gpu-memory-utilization", "0.3"),
            "exceed the 36.51 GiB of the request by 23.49 GiB",
            "--gpu-memory-utilization 0.6",
        ),
        (108.0, (), "weights and what runs beside them take 112.", "no share of this box"),
    ],
)
def test_weights_that_leave_no_room_ask_for_no_kv_bytes(
    weights: float, flags: tuple[str, ...], said: str, remedy: str
) -> None:
    report = ask(weights_gib=weights, argv=(*LENGTH, *flags))
    (found,) = told(report, "no-room-for-kv")
    assert report.verdict is Verdict.FAIL
    assert said in found.message
    assert report.summary == found.message
    assert remedy in found.remedy
    assert not told(report, "below-one-request")
    assert all("--kv-cache-memory-bytes" not in item.remedy for item in report.findings)
    memory = answer(report).memory
    assert memory is not None
    assert memory.kv_bytes == 0
    assert sum(line.bytes for line in memory.lines) == memory.requested_bytes


def test_a_small_model_does_not_fail_for_a_spike_that_only_a_large_one_showed() -> None:
    report = ask(weights_gib=1.2, argv=(*LENGTH, "--gpu-memory-utilization", "0.9"))
    (found,) = told(report, "phase-starves-host")
    assert found.severity is Severity.WARNING
    assert "by the middle of the estimates" in found.message
    assert report.verdict is Verdict.PASS


def test_chunked_layers_keep_their_chunk_unless_something_turns_that_off(tmp_path: Path) -> None:
    config = written(tmp_path, LLAMA4)

    def kinds(*argv: str, **parts: Any) -> list[tuple[str, ...]]:
        given = {"argv": argv, "kv_gib": 60.0, **parts}
        return [group.kinds for group in answer(ask(config, **given)).plan.groups]

    chunked = [("chunked-local",)] * 3 + [("full-attention",)]
    for version in ("0.19.1", "0.33.0"):
        assert kinds(version=version) == chunked
    assert kinds("--disable-hybrid-kv-cache-manager") == [("full-attention",)]
    assert kinds(chunks_as_full=True) == [("full-attention",)]
    drafted = '{"method": "ngram", "num_speculative_tokens": 3}'
    assert kinds("--speculative-config", drafted) == chunked
    eagle = '{"method": "mtp", "num_speculative_tokens": 3}'
    assert kinds("--speculative-config", eagle) == [("full-attention",)]


def test_the_switch_for_chunked_layers_is_read_from_a_deployment(tmp_path: Path) -> None:
    written(tmp_path, LLAMA4)
    switch = "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE"
    path = tmp_path / "deployment.toml"
    for value, full in (("0", True), ("1", False)):
        path.write_text(
            f'checkpoint = "config.json"\nartifact = "vllm==0.33.0"\n[env]\n{switch} = "{value}"\n'
        )
        assert fit_request(str(path), (), kv_gib=60.0).chunks_as_full is full


def test_a_window_that_leaves_the_token_out_is_kept_longer_since_then(tmp_path: Path) -> None:
    config = written(tmp_path, COHERE2)
    argv = ("--max-num-batched-tokens", "2048", "--no-async-scheduling")
    found = {
        version: answer(ask(config, version, argv=argv, kv_gib=20.0)).plan.groups[0]
        for version in ("0.28.0", "0.29.0")
    }
    blocks = (4097 - 1 + 2048) // 16
    assert found["0.28.0"].blocks_per_request == blocks + 1
    assert found["0.29.0"].blocks_per_request == blocks + 2


def test_what_is_not_known_to_keep_a_pool_is_refused_before_anything_else(tmp_path: Path) -> None:
    with pytest.raises(UnknownLayoutError, match="not known here"):
        ask(written(tmp_path, {"model_type": "whisper", "num_hidden_layers": 2}), argv=())


def encoder(tmp_path: Path, **parts: Any) -> Report[FitResult]:
    config = {"model_type": "bert", "num_hidden_layers": 2}
    return ask(written(tmp_path, config), argv=(), **parts)


def test_an_encoder_has_weights_and_no_pool(tmp_path: Path) -> None:
    report = encoder(tmp_path, weights_gib=0.41)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "keeps no KV cache; weights of 0.41 GiB and activations" in report.summary
    assert report.result is None
    assert [item.topic for item in report.unknowns] == ["fit/activations"]


def test_an_encoder_beyond_the_box_fails(tmp_path: Path) -> None:
    report = encoder(tmp_path, weights_gib=141.0)
    assert report.verdict is Verdict.FAIL
    assert [item.rule for item in report.findings] == ["memory/no-room-for-kv"]
    assert "exceed the 121.69 GiB of the box by 19.31 GiB" in report.summary
