"""AWQ, GPTQ and AutoRound: one setting for all, and its exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sparkproof.checkpoint.effective import effective_formats
from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.checkpoint.summary import format_label
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, LayerClass
from sparkproof.testing.checkpoints import QWEN3, QWEN3_MOE, config_files

AWQ: Mapping[str, Any] = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
GPTQ: Mapping[str, Any] = {
    "quant_method": "gptq",
    "bits": 4,
    "group_size": 128,
    "sym": True,
    "desc_act": False,
}
ROUND: Mapping[str, Any] = {
    "quant_method": "auto-round",
    "bits": 4,
    "group_size": 128,
    "sym": True,
    "packing_format": "auto_round:auto_gptq",
}


def profile(model: Mapping[str, Any], block: Mapping[str, Any]) -> CheckpointProfile:
    return read_checkpoint(config_files(model, block), "test")


def lines(found: CheckpointProfile, layer_class: LayerClass) -> list[tuple[str, str]]:
    return [(item.scheme.value, item.layers) for item in found.of(layer_class)]


@pytest.mark.parametrize("block", [AWQ, GPTQ, ROUND])
def test_every_linear_layer_but_the_output(block: Mapping[str, Any]) -> None:
    found = profile(QWEN3_MOE, block)
    for layer_class in (LayerClass.ATTENTION, LayerClass.EXPERTS):
        assert lines(found, layer_class) == [("int4-w4a16", "")]
    for layer_class in (LayerClass.LM_HEAD, LayerClass.EMBEDDING):
        assert lines(found, layer_class) == [("unquantized", "")]
    assert format_label(found) == "INT4"
    assert found.unknowns == ()


def test_the_output_layer_where_it_is_said() -> None:
    found = profile(QWEN3, {**GPTQ, "lm_head": True})
    assert lines(found, LayerClass.LM_HEAD) == [("int4-w4a16", "")]


@pytest.mark.parametrize(
    ("more", "words", "variant"),
    [
        ({}, "gptq 4-bit group 128", ""),
        ({"desc_act": True}, "gptq 4-bit group 128 act-order", "act-order"),
        ({"desc_act": True, "group_size": -1}, "gptq 4-bit group row", ""),
        ({"sym": False}, "gptq 4-bit group 128 asymmetric", "asymmetric"),
        ({"bits": 8}, "gptq 8-bit group 128", ""),
    ],
)
def test_what_the_line_says(more: Mapping[str, Any], words: str, variant: str) -> None:
    [item] = profile(QWEN3, {**GPTQ, **more}).of(LayerClass.MLP)
    assert (item.detail, item.variant) == (words, variant)


@pytest.mark.parametrize(("version", "refused"), [("0.28.0", False), ("0.33.0", True)])
def test_activation_order_by_release(version: str, refused: bool) -> None:
    found = profile(QWEN3, {**GPTQ, "desc_act": True})
    assert any(e.refusal for e in effective_formats(found, version)) is refused


def test_left_out_by_part_of_a_name() -> None:
    found = profile(QWEN3, {**AWQ, "modules_to_not_convert": ["layers.0.", "o_proj"]})
    assert lines(found, LayerClass.MLP) == [
        ("unquantized", "layer 0"),
        ("int4-w4a16", "layers 1-3"),
    ]


def test_patterns_with_a_sign() -> None:
    found = profile(
        QWEN3, {**GPTQ, "dynamic": {r"-:.*layers\.0\.mlp.*": {}, r"+:.*o_proj": {"bits": 8}}}
    )
    assert lines(found, LayerClass.MLP)[0] == ("unquantized", "layer 0")
    assert ("int8-w8a16", "o_proj") in lines(found, LayerClass.ATTENTION)


def test_only_what_is_listed() -> None:
    found = profile(QWEN3, {**GPTQ, "modules_in_block_to_quantize": [["mlp.gate_proj"]]})
    assert ("int4-w4a16", "gate_proj") in lines(found, LayerClass.MLP)
    assert lines(found, LayerClass.ATTENTION) == [("unquantized", "")]


def test_exceptions_by_name_and_pattern() -> None:
    extra = {
        "model.layers.1.mlp.gate_proj": {"bits": 16},
        r".*layers\.3\.self_attn.*": {"bits": 8},
        "lm_head": {"bits": 8, "group_size": 64},
    }
    found = profile(QWEN3, {**ROUND, "extra_config": extra})
    assert ("unquantized", "gate_proj of layer 1") in lines(found, LayerClass.MLP)
    assert ("int8-w8a16", "layer 3") in lines(found, LayerClass.ATTENTION)
    assert lines(found, LayerClass.LM_HEAD) == [("int8-w8a16", "")]


@pytest.mark.parametrize(
    ("more", "scheme"),
    [
        ({"data_type": "mx_fp", "group_size": 32}, "mxfp4"),
        ({"data_type": "mx_fp", "group_size": 32, "bits": 8}, "mxfp8"),
        ({"data_type": "fp", "bits": 8, "group_size": [128, 128]}, "fp8-block"),
        ({"data_type": "nv_fp"}, "unknown"),
        ({"bits": 3}, "unknown"),
    ],
)
def test_other_types_of_autoround(more: Mapping[str, Any], scheme: str) -> None:
    found = profile(QWEN3, {**ROUND, **more})
    assert lines(found, LayerClass.MLP) == [(scheme, "")]
    assert bool(found.unknowns) is (scheme == "unknown")


@pytest.mark.parametrize(
    "more",
    [
        {"bits": "four"},
        {"sym": 1},
        {"dynamic": {"+:x": 7}},
        {"extra_config": []},
        {"modules_in_block_to_quantize": [[7]]},
    ],
)
def test_a_field_of_the_wrong_type_is_named(more: Mapping[str, Any]) -> None:
    with pytest.raises(FormatError) as caught:
        profile(QWEN3, {**GPTQ, **more})
    [name] = more
    assert name in caught.value.reason


def test_a_pattern_that_cannot_be_read_leaves_the_layer_unknown() -> None:
    found = profile(QWEN3, {**GPTQ, "dynamic": {"-:(?<=x)mlp": {}}})
    assert lines(found, LayerClass.MLP) == [("unknown", "")]


def test_blocks_by_the_beginning_of_a_name() -> None:
    found = profile(QWEN3, {**ROUND, "block_name_to_quantize": "model.layers.0, model.layers.2"})
    assert lines(found, LayerClass.MLP) == [
        ("int4-w4a16", "layers 0, 2"),
        ("unquantized", "layers 1, 3"),
    ]


@pytest.mark.parametrize(
    "entry", ["gate", "down_proj", "experts.0", "layers.0.mlp.experts.3.up_proj"]
)
def test_experts_are_one_module_by_its_own_name(entry: str) -> None:
    """An entry is looked for in `….mlp.experts`; what lies below that name changes nothing."""
    found = profile(QWEN3_MOE, {**AWQ, "modules_to_not_convert": [entry]})
    assert lines(found, LayerClass.EXPERTS) == [("int4-w4a16", "")]


@pytest.mark.parametrize("block", [AWQ, GPTQ])
def test_experts_left_out_whole(block: Mapping[str, Any]) -> None:
    left_out = {"modules_to_not_convert": ["mlp.experts"], "dynamic": {"-:.*experts": {}}}
    found = profile(QWEN3_MOE, {**block, **left_out})
    assert lines(found, LayerClass.EXPERTS) == [("unquantized", "")]


def test_a_rule_for_a_projection_leaves_the_experts_alone() -> None:
    found = profile(QWEN3_MOE, {**GPTQ, "dynamic": {"+:.*down_proj": {"bits": 8}}})
    assert lines(found, LayerClass.EXPERTS) == [("int4-w4a16", "")]
    found = profile(QWEN3_MOE, {**GPTQ, "dynamic": {"+:.*mlp.experts": {"bits": 8}}})
    assert lines(found, LayerClass.EXPERTS) == [("int8-w8a16", "")]
