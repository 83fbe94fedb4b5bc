"""One truth about flags: the release's own parser, and our table where there is none."""

from __future__ import annotations

import pytest

from sparkproof.core.serve_args import ServeArgs, Speculation
from sparkproof.facts.surfaces import load_surface
from sparkproof.recipe.vllm_args import parse_serve_args
from sparkproof.usecases.fit.arguments import find_parser, read_arguments

BOTH_READ = [
    ["--max-model-len", "128k", "--kv-cache-memory-bytes", "36G", "--block-size=64"],
    ["--max_model_len=auto", "-tp", "2", "-pp", "2", "-dcp", "2", "--no-enable-prefix-caching"],
    ["--kv-cache-dtype", "fp8_e4m3", "--kv-cache-dtype-skip-layers", "0", "1", "--enforce-eager"],
    ["--disable-hybrid-kv-cache-manager", "--no-async-scheduling", "--performance-mode=throughput"],
    ["--no-disable-hybrid-kv-cache-manager", "--max-num-seqs", "8", "--dtype", "float16"],
    ["--gpu-memory-utilization", "0.5", "--num-gpu-blocks-override", "400"],
    ["--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}'],
    ["-sc.method", "mtp", "-sc.num_speculative_tokens", "3"],
    ["--mamba-cache-mode", "align", "--mamba-ssm-cache-dtype", "float32", "--load-format", "dummy"],
]


def read(*argv: str, version: str = "0.33.0") -> ServeArgs:
    found = read_arguments(argv, load_surface(version), version)
    assert found.refused == ()
    return found.args


@pytest.mark.parametrize("argv", BOTH_READ, ids=" ".join)
def test_the_table_reads_whole_spellings_as_the_release_does(argv: list[str]) -> None:
    assert read(*argv) == parse_serve_args(argv)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("--max-model=8192",), ServeArgs(max_model_len=8192)),
        (("-ac.backend", "TRITON_ATTN"), ServeArgs(attention_backend="triton_attn")),
        (("--kernel-config", '{"moe_backend": "marlin"}'), ServeArgs(moe_backend="marlin")),
        (("--disable-chunked-prefill",), ServeArgs(chunked_prefill=False)),
        (
            ("--spec-method", "mtp", "--spec-tokens", "2"),
            ServeArgs(speculation=Speculation(2, "mtp")),
        ),
    ],
)
def test_what_only_the_release_can_read(argv: tuple[str, ...], expected: ServeArgs) -> None:
    assert read(*argv) == expected


def test_each_release_has_its_own_flags() -> None:
    argv = ("--linear-backend", "marlin")
    assert not read_arguments(argv, load_surface("0.33.0"), "0.33.0").refused
    refused = read_arguments(argv, load_surface("0.20.0"), "0.20.0").refused
    assert [item.rule for item in refused] == ["release/unknown-option"]


def test_a_parser_is_shipped_found_or_not_there() -> None:
    shipped = find_parser("0.33.0+cu130", "")
    assert shipped is not None
    assert shipped.version == "0.33.0"
    assert find_parser("0.33.1.dev5", "vllm==0.33.1.dev5") is None
    assert find_parser("", "") is None
