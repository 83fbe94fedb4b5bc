"""vLLM's arguments, as far as memory depends on them."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import UsageError
from sparkproof.core.serve_args import ServeArgs, Speculation
from sparkproof.recipe.vllm_args import parse_serve_args


def test_flags_without_a_bearing_on_memory_are_skipped() -> None:
    argv = ["--host", "0.0.0.0", "--trust-remote-code", "--max-model-len", "8192", "--port=80"]
    assert parse_serve_args(argv) == ServeArgs(max_model_len=8192)


@pytest.mark.parametrize(
    ("argv", "field", "value"),
    [
        (["--max-model-len", "128k"], "max_model_len", 128_000),
        (["--max-model-len", "128K"], "max_model_len", 131_072),
        (["--max-model-len", "-1"], "max_model_len", -1),
        (["--max-model-len", "auto"], "max_model_len", -1),
        (["--max_model_len=4096"], "max_model_len", 4096),
        (["--kv-cache-memory-bytes", "36864M"], "kv_bytes", 36864 << 20),
        (["--kv-cache-memory-bytes=1.5G"], "kv_bytes", 3 << 29),
        (["--gpu-memory-utilization", "0.3"], "utilization", 0.3),
        (["--device-memory-utilization", "0.3"], "utilization", 0.3),
        (["-tp", "2"], "tensor_parallel", 2),
        (["--no-enable-prefix-caching"], "prefix_caching", False),
        (["--enforce-eager", "--port", "1"], "enforce_eager", True),
        (["--disable-hybrid-kv-cache-manager"], "hybrid_manager", False),
        (["--kv-cache-dtype-skip-layers", "0", "1", "--port", "1"], "kv_skip_layers", ("0", "1")),
    ],
)
def test_one_flag(argv: list[str], field: str, value: object) -> None:
    assert getattr(parse_serve_args(argv), field) == value


@pytest.mark.parametrize(
    "argv",
    [
        ["--speculative-config", '{"method": "qwen3_5_mtp", "num_speculative_tokens": 3}'],
        ["--speculative-config.method", "mtp", "--speculative-config.num_speculative_tokens", "3"],
        ["--spec-method", "mtp", "--spec-tokens", "3"],
        ["-sc", '{"num_speculative_tokens": 3}'],
    ],
)
def test_speculation(argv: list[str]) -> None:
    assert parse_serve_args(argv).speculation == Speculation(3, "mtp")


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["--max-model-len", "long"], "--max-model-len"),
        (["--max-model-len", "0"], "--max-model-len"),
        (["--max-model-len"], "--max-model-len"),
        (["--max-model-len", "9" * 30], "--max-model-len"),
        (["--gpu-memory-utilization", "1.2"], "--gpu-memory-utilization"),
        (["--gpu-memory-utilization", "nan"], "--gpu-memory-utilization"),
        (["--speculative-config", "{"], "--speculative-config"),
        (["--speculative-config", "[1]"], "--speculative-config"),
        (["--speculative-config", '{"method": "mtp"}'], "num_speculative_tokens"),
        (["--speculative-config", '{"num_speculative_tokens": -3}'], "num_speculative_tokens"),
        (["--speculative-config", '{"num_speculative_tokens": 3, "model": 5}'], "model"),
        (["--tensor-parallel-size", "0"], "--tensor-parallel-size"),
    ],
)
def test_the_error_names_the_flag(argv: list[str], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        parse_serve_args(argv)
