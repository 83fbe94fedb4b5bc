"""Whatever stands in a config: a profile with its unknowns, or one error that names the place."""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkproof.checkpoint.effective import effective_formats
from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.checkpoint.rules import judge_checkpoint
from sparkproof.checkpoint.summary import format_label
from sparkproof.core.errors import FormatError
from sparkproof.formats.name_pattern import compile_regex, compile_wildcard
from sparkproof.testing.checkpoints import (
    FP4,
    FP4_LOCAL,
    QWEN3_5_MOE,
    compressed_tensors,
    config_files,
    config_group,
    modelopt,
)

SAMPLE = config_files(
    QWEN3_5_MOE,
    compressed_tensors(
        config_group(FP4, FP4_LOCAL, "Linear", "re:.*layers.[0-3].mlp.*"),
        ignore=("lm_head", "re:^mtp.*", "model.visual"),
    ),
)["config.json"]

KEYS = st.sampled_from(
    [
        "quant_method",
        "quant_algo",
        "config_groups",
        "targets",
        "weights",
        "input_activations",
        "num_bits",
        "type",
        "strategy",
        "group_size",
        "dynamic",
        "ignore",
        "exclude_modules",
        "quantized_layers",
        "quantization",
        "weight_block_size",
        "activation_scheme",
        "kv_cache_scheme",
        "architectures",
        "model_type",
        "num_hidden_layers",
        "layer_types",
        "num_experts",
        "text_config",
        "quantization_config",
        "hybrid_override_pattern",
        "_sparkproof",
    ]
)
WORDS = st.sampled_from(
    [
        "modelopt",
        "compressed-tensors",
        "fp8",
        "NVFP4",
        "MIXED_PRECISION",
        "Linear",
        "float",
        "tensor_group",
        "re:.*",
        "re:(",
        "*",
        "lm_head",
        "Qwen3ForCausalLM",
        "qwen3",
        "M*E-",
        "model.layers.0.mlp.gate_proj",
        "local",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 200) | st.floats(allow_nan=False) | WORDS
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=6), inner, max_size=5)
    ),
    max_leaves=25,
)


def look(files: dict[str, bytes]) -> None:
    try:
        found = read_checkpoint(files, "hostile")
    except FormatError as error:
        assert error.where  # noqa: PT017
        return
    findings = judge_checkpoint(found, effective_formats(found, "0.33.0"), "fp8")
    assert format_label(found)
    for line in (*(f.message for f in findings), *(u.why for u in found.unknowns)):
        assert "\n" not in line


@given(st.dictionaries(KEYS, VALUES, max_size=6), st.dictionaries(KEYS, VALUES, max_size=6))
@settings(max_examples=150)
def test_any_json(config: dict[str, Any], block: dict[str, Any]) -> None:
    look({"config.json": json.dumps({**config, "quantization_config": block}).encode()})
    look({"hf_quant_config.json": json.dumps({"quantization": block}).encode()})


@given(st.integers(0, len(SAMPLE) - 1), st.binary(min_size=0, max_size=3))
@settings(max_examples=150)
def test_any_damage(at: int, junk: bytes) -> None:
    look({"config.json": SAMPLE[:at] + junk + SAMPLE[at + 1 :]})
    look({"config.json": SAMPLE[:at]})


@given(
    st.lists(WORDS | st.text(max_size=20), max_size=6), st.lists(st.text(max_size=20), max_size=6)
)
@settings(max_examples=60)
def test_any_entries(targets: list[str], ignore: list[str]) -> None:
    look(
        config_files(
            QWEN3_5_MOE, compressed_tensors(config_group(FP4, None, *targets), ignore=tuple(ignore))
        )
    )
    look(config_files(QWEN3_5_MOE, modelopt("NVFP4", exclude=tuple(ignore))))


@given(
    st.text(st.sampled_from("ab.*+?()[]|^$\\{}12,-!=:dwb"), max_size=14),
    st.text("ab.1", max_size=8),
)
@settings(max_examples=400)
def test_patterns_agree_with_python_or_are_refused(text: str, name: str) -> None:
    try:
        matched = compile_regex(text).match(name)
    except FormatError:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # `[[` may mean a set of sets one day
        assert matched == bool(re.match(text, name))


@given(st.text(max_size=30), st.text(max_size=30))
def test_wildcards_end_in_an_answer(text: str, name: str) -> None:
    try:
        compile_wildcard(text).match(name)
    except FormatError as error:
        assert error.reason  # noqa: PT017


@given(st.integers(0, 39), st.integers(0, 39))
def test_layer_ranges_come_back_as_written(low: int, high: int) -> None:
    low, high = sorted((low, high))
    numbers = "|".join(map(str, range(low, high + 1)))
    model = {"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 40}
    found = read_checkpoint(
        config_files(
            model,
            compressed_tensors(config_group(FP4, FP4_LOCAL, rf"re:.*layers\.({numbers})\.mlp\..*")),
        ),
        "ranges",
    )
    told = [f.layers for f in found.formats if f.layer_class == "mlp" and f.scheme == "nvfp4-w4a4"]
    whole = (low, high) == (0, 39)
    expected = "" if whole else f"layer {low}" if low == high else f"layers {low}-{high}"
    assert told == [expected]
