"""compressed-tensors: config groups, targets and ignore lists, layer class by layer class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.checkpoint.profiles import profile, schemes

from sparkproof.checkpoint.summary import format_label
from sparkproof.core.observations.checkpoint_profile import (
    DeclaredBy,
    LayerClass,
)
from sparkproof.testing.checkpoints import (
    FP4,
    FP4_LOCAL,
    FP8_CHANNEL,
    FP8_TOKEN,
    QWEN3,
    QWEN3_5_MOE,
    QWEN3_MOE,
    compressed_tensors,
    config_group,
)

INT4: Mapping[str, Any] = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
INT8: Mapping[str, Any] = {"num_bits": 8, "type": "int", "strategy": "channel"}
INT8_TOKEN: Mapping[str, Any] = {
    "num_bits": 8,
    "type": "int",
    "strategy": "token",
    "dynamic": True,
}


def test_unquantized() -> None:
    found = profile(QWEN3_MOE)
    assert {item.scheme.value for item in found.formats} == {"unquantized"}
    assert format_label(found) == "BF16"
    assert found.unknowns == ()


@pytest.mark.parametrize("claim", ["nvfp4-pack-quantized", "float-quantized", "anything", ""])
@pytest.mark.parametrize(("inputs", "scheme"), [(FP4_LOCAL, "nvfp4-w4a4"), (None, "nvfp4-w4a16")])
def test_the_format_string_decides_nothing(
    claim: str, inputs: Mapping[str, Any] | None, scheme: str
) -> None:
    block = {**compressed_tensors(config_group(FP4, inputs)), "format": claim}
    assert schemes(profile(QWEN3, block), LayerClass.MLP) == [(scheme, "")]


@pytest.mark.parametrize(
    ("weights", "inputs", "scheme", "activations"),
    [
        (FP8_CHANNEL, FP8_TOKEN, "fp8-channel", "fp8-dynamic-token"),
        (
            {**FP8_CHANNEL, "strategy": "tensor"},
            {**FP8_TOKEN, "strategy": "tensor", "dynamic": False},
            "fp8-tensor",
            "fp8-static-tensor",
        ),
        ({"num_bits": 8, "type": "float"}, FP8_TOKEN, "fp8-tensor", "fp8-dynamic-token"),
        (
            {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]},
            {**FP8_TOKEN, "strategy": "group", "group_size": 128},
            "fp8-block",
            "fp8-dynamic-block",
        ),
        (FP8_CHANNEL, None, "fp8-w8a16", "unquantized"),
        ({**FP4, "group_size": 32, "strategy": "group"}, None, "mxfp4", "unquantized"),
        (
            {**FP4, "group_size": 32, "strategy": "group"},
            {**FP4, "group_size": 32, "strategy": "group", "dynamic": True},
            "mxfp4",
            "mxfp4",
        ),
        (
            {**FP8_CHANNEL, "strategy": "group", "group_size": 32, "scale_dtype": "torch.uint8"},
            {**FP8_TOKEN, "strategy": "group", "group_size": 32},
            "mxfp8",
            "mxfp8",
        ),
        (INT4, None, "int4-w4a16", "unquantized"),
        ({**INT4, "symmetric": False}, None, "int4-w4a16", "unquantized"),
        (INT4, FP8_TOKEN, "int4-w4a8", "fp8-dynamic-token"),
        (INT4, INT8_TOKEN, "int4-w4a8", "int8-dynamic-token"),
        ({**INT4, "num_bits": 8}, None, "int8-w8a16", "unquantized"),
        (INT8, INT8_TOKEN, "int8-w8a8", "int8-dynamic-token"),
        (
            INT8,
            {**INT8_TOKEN, "strategy": "tensor", "dynamic": False},
            "int8-w8a8",
            "int8-static-tensor",
        ),
        (INT8, FP8_TOKEN, "unknown", "unknown"),
        ({**INT4, "num_bits": 3}, None, "unknown", "unknown"),
        ({**INT4, "dynamic": True}, None, "unknown", "unknown"),
        ({**FP4, "symmetric": False}, None, "unknown", "unknown"),
        (FP4, FP8_TOKEN, "unknown", "unknown"),
        (FP8_CHANNEL, {**FP8_TOKEN, "dynamic": False}, "unknown", "unknown"),
        (None, FP8_TOKEN, "unknown", "unknown"),
    ],
)
def test_arguments(
    weights: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None,
    scheme: str,
    activations: str,
) -> None:
    found = profile(QWEN3, compressed_tensors(config_group(weights, inputs)))
    [item] = found.of(LayerClass.ATTENTION)
    assert (item.scheme, item.activations) == (scheme, activations)
    assert bool(found.unknowns) == (scheme == "unknown")


def test_class_target_covers_experts_and_dense_layers_alike() -> None:
    found = profile(
        QWEN3_MOE,
        compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=("lm_head", "re:.*mlp.gate$")),
    )
    for layer_class in (LayerClass.ATTENTION, LayerClass.EXPERTS):
        [item] = found.of(layer_class)
        assert (item.scheme, item.declared_by) == ("nvfp4-w4a4", DeclaredBy.CLASS)
    assert schemes(found, LayerClass.ROUTER) == [("unquantized", "")]
    assert found.of(LayerClass.MLP) == ()


def test_a_name_wins_over_a_class() -> None:
    found = profile(
        QWEN3,
        compressed_tensors(
            config_group(FP4, FP4_LOCAL),
            config_group(FP8_CHANNEL, FP8_TOKEN, "re:.*self_attn.*"),
        ),
    )
    assert schemes(found, LayerClass.ATTENTION) == [("fp8-channel", "")]
    assert schemes(found, LayerClass.MLP) == [("nvfp4-w4a4", "")]


def test_the_first_matching_name_wins() -> None:
    found = profile(
        QWEN3,
        compressed_tensors(
            config_group(FP8_CHANNEL, FP8_TOKEN, "re:.*layers.0.*"),
            config_group(FP4, FP4_LOCAL, "re:.*layers.*"),
        ),
    )
    assert schemes(found, LayerClass.MLP) == [
        ("fp8-channel", "layer 0"),
        ("nvfp4-w4a4", "layers 1-3"),
    ]


def test_layers_and_projections_in_words() -> None:
    found = profile(
        QWEN3_5_MOE,
        compressed_tensors(
            config_group(FP8_CHANNEL, FP8_TOKEN, r"re:.*layers\.[0-4]\.linear_attn\.out_proj"),
            config_group(FP4, FP4_LOCAL, "re:.*linear_attn.in_proj_(qkv|z)"),
            ignore=("re:^mtp.*", "re:.*visual.*"),
        ),
    )
    assert schemes(found, LayerClass.LINEAR_ATTENTION) == [
        ("nvfp4-w4a4", "in_proj_qkv, in_proj_z"),
        (
            "unquantized",
            "14 of 30 modules, model.language_model.layers.0.linear_attn.in_proj_b the first",
        ),
        ("fp8-channel", "out_proj of layers 0-4"),
    ]


def test_attention_only_group_is_about_the_cache() -> None:
    found = profile(
        QWEN3,
        compressed_tensors(
            config_group(FP4, FP4_LOCAL), config_group(None, FP8_TOKEN, "Qwen3Attention")
        ),
    )
    assert schemes(found, LayerClass.ATTENTION) == [("nvfp4-w4a4", "")]
    assert found.unknowns == ()
