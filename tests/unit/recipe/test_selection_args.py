"""What of vLLM's own arguments decides about kernels."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import UsageError
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.serve_line import Given, ServeLine
from sparkproof.recipe.selection_args import parse_selection_args


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", SelectionArgs()),
        ("--max-model-len 262144 --port 8000", SelectionArgs()),
        (
            "--moe-backend marlin --linear-backend=cutlass",
            SelectionArgs(moe_backend="marlin", linear_backend="cutlass"),
        ),
        ("--moe_backend marlin", SelectionArgs(moe_backend="marlin")),
        (
            "--moe-backend a --moe-backend b",
            SelectionArgs(moe_backend="b"),
        ),
        (
            "--kv-cache-dtype fp8",
            SelectionArgs(kv_cache_dtype="fp8"),
        ),
        ("-q fp8", SelectionArgs(quantization="fp8")),
        ("-tp 2 --enable-expert-parallel", SelectionArgs(tensor_parallel=2, expert_parallel=True)),
        ("--enable-lora --language-model-only", SelectionArgs(lora=True, text_only=True)),
        ('--kernel-config {"moe_backend":"marlin"}', SelectionArgs(moe_backend="marlin")),
        ("--kernel-config.moe_backend marlin", SelectionArgs(moe_backend="marlin")),
        ("--kernel-config.moe-backend=marlin", SelectionArgs(moe_backend="marlin")),
        (
            '--kernel-config {"linear_backend_per_quant":{"nvfp4_w4a4":"cutlass"}}',
            SelectionArgs(linear_backend_per_quant={"nvfp4_w4a4": "cutlass"}),
        ),
        (
            '--attention-config {"backend":"TRITON_ATTN"}',
            SelectionArgs("auto", "auto", {}, "TRITON_ATTN"),
        ),
        (
            "--attention-config.use_trtllm_attention false",
            SelectionArgs(settings={"vllm_config.attention_config.use_trtllm_attention": False}),
        ),
        ("--enable-lora --no-enable-lora", SelectionArgs()),
        (
            '--speculative-config {"method":"mtp","num_speculative_tokens":3}',
            SelectionArgs(speculative=True, speculative_method="mtp"),
        ),
        (
            "--speculative-config.method mtp",
            SelectionArgs(speculative=True, speculative_method="mtp"),
        ),
        ("--spec-tokens 3", SelectionArgs(speculative=True)),
    ],
)
def test_what_is_read(line: str, expected: SelectionArgs) -> None:
    assert parse_selection_args(line.split()) == expected


def test_a_negative_number_is_a_value() -> None:
    assert parse_selection_args(["--max-model-len", "-1"]) == SelectionArgs()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--moe-backend", "`--moe-backend` needs a value"),
        ("--moe-backend --port 1", "`--moe-backend` needs a value"),
        ("--moe-backend=", "`--moe-backend` needs a value"),
        ("-tp two", "`-tp two` is no number of GPUs"),
        ("-tp 0", "`-tp 0` is no number of GPUs"),
        ("--kernel-config {", "is no JSON"),
        ("--kernel-config []", "is no JSON object"),
        ("--speculative-config", "needs a value"),
        ("--speculative-config " + "[" * 100_000, "is no JSON"),
    ],
)
def test_what_can_not_be_meant(line: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_selection_args(line.split())
    assert told in caught.value.message
    assert caught.value.hint


def line(*given: Given) -> ServeLine:
    return ServeLine("0.33.0", "m", given, ())


def test_a_releases_own_parser_has_the_last_word() -> None:
    words = ["--attention-back", "flashinfer", "--kernel-config", '{"moe_backend": "Marlin"}']
    read = line(
        Given("--attention-backend", "--attention-back", "FLASHINFER"),
        Given("--kernel-config", "--kernel-config", {"moe_backend": "marlin"}),
        Given("--quantization", "-q", None),
        Given("--spec-tokens", "--spec-tokens", 3),
    )
    assert parse_selection_args(words, read) == SelectionArgs(
        moe_backend="marlin", attention_backend="FLASHINFER", speculative=True
    )


def test_what_the_parser_refuses_stays_as_it_was_written() -> None:
    assert parse_selection_args(["--moe-backend", "sled"], line()).moe_backend == "sled"
