"""ModelOpt's and FP8's declarations, layer class by layer class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.checkpoint.profiles import profile, schemes

from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    DeclaredBy,
    LayerClass,
)
from sparkproof.testing.checkpoints import (
    FP4,
    FP4_LOCAL,
    QWEN3,
    QWEN3_5_MOE,
    QWEN3_MOE,
    compressed_tensors,
    config_group,
    modelopt,
)


@pytest.mark.parametrize(
    ("algo", "scheme", "activations"),
    [
        ("NVFP4", "nvfp4-w4a4", "fp4"),
        ("nvfp4", "nvfp4-w4a4", "fp4"),
        ("W4A16_NVFP4", "nvfp4-w4a16", "unquantized"),
        ("FP8", "fp8-tensor", "fp8-static-tensor"),
        ("FP8_PER_CHANNEL_PER_TOKEN", "fp8-channel", "fp8-dynamic-token"),
        ("FP8_PB_WO", "fp8-block", "fp8-dynamic-block"),
        ("NVFP4_AWQ", "nvfp4-w4a4", "fp4"),
        ("MXFP8", "mxfp8", "mxfp8"),
        ("INT4_AWQ", "unknown", "unknown"),
        ("", "unknown", "unknown"),
    ],
)
def test_modelopt_algorithms(algo: str, scheme: str, activations: str) -> None:
    found = profile(QWEN3_MOE, modelopt(algo))
    [item] = found.of(LayerClass.EXPERTS)
    assert (item.scheme, item.activations) == (scheme, activations)
    assert schemes(found, LayerClass.LM_HEAD) == [("unquantized", "")]
    assert schemes(found, LayerClass.EMBEDDING) == [("unquantized", "")]
    assert bool(found.unknowns) == (scheme == "unknown")


def test_modelopt_without_quantized_activations_is_weight_only() -> None:
    found = profile(QWEN3, modelopt("NVFP4", config_groups={"g": config_group(FP4, None)}))
    [item] = found.of(LayerClass.MLP)
    assert (item.scheme, item.variant) == ("nvfp4-w4a16", "null-activations")


@pytest.mark.parametrize("entry", ["*self_attn*", "self_attn", "model.layers.*.self_attn*"])
def test_modelopt_excludes_by_part_and_wildcard(entry: str) -> None:
    found = profile(QWEN3, modelopt("NVFP4", exclude=("lm_head", entry)))
    [item] = found.of(LayerClass.ATTENTION)
    assert (item.scheme, item.declared_by) == ("unquantized", DeclaredBy.EXCLUDED)
    assert schemes(found, LayerClass.MLP) == [("nvfp4-w4a4", "")]


def test_modelopt_wildcard_on_a_part_of_a_fused_layer_is_noted() -> None:
    found = profile(
        QWEN3_5_MOE, modelopt("NVFP4", exclude=("lm_head", "visual*", "mtp*", "*in_proj_[ab]"))
    )
    assert [(n.kind, n.subject) for n in found.notes] == [("names-differ", "linear-attention")]
    listed = [
        f"model.language_model.layers.{at}.linear_attn.in_proj_{p}"
        for at in (0, 1, 2, 4, 5, 6)
        for p in "ab"
    ]
    exact = profile(QWEN3_5_MOE, modelopt("NVFP4", exclude=("visual*", "mtp*", *listed)))
    assert exact.notes == ()


def test_a_bare_entry_misses_a_nested_output_layer() -> None:
    named = profile(
        QWEN3_5_MOE, compressed_tensors(config_group(FP4, FP4_LOCAL, "lm_head"), ignore=())
    )
    assert [(n.kind, n.subject) for n in named.notes] == [("names-differ", "lm-head")]
    spared = profile(
        QWEN3_5_MOE,
        compressed_tensors(
            config_group(FP4, FP4_LOCAL), ignore=("lm_head", "re:.*visual.*", "re:^mtp.*")
        ),
    )
    assert spared.notes == ()


def test_an_ignored_part_of_a_fused_layer_is_noted_even_where_nothing_targets_it() -> None:
    found = profile(
        QWEN3,
        compressed_tensors(config_group(FP4, FP4_LOCAL, "re:.*down_proj"), ignore=("re:.*q_proj",)),
    )
    assert [(n.kind, n.subject) for n in found.notes] == [("split-fusion", "attention")]


def test_modelopt_wildcard_holds_for_the_runtime_name() -> None:
    found = profile(QWEN3_5_MOE, modelopt("NVFP4", exclude=("lm_head", "visual*", "mtp*")))
    assert schemes(found, LayerClass.VISION) == [("unquantized", "")]
    assert schemes(found, LayerClass.DRAFT) == [("unquantized", "")]
    assert schemes(found, LayerClass.ROUTER) == [("unquantized", "")]


MIXED_LAYERS = {
    **{
        f"model.language_model.layers.{at}.mlp.experts.{e}.{p}": {"quant_algo": "W4A16_NVFP4"}
        for at in range(8)
        for e in range(8)
        for p in ("gate_proj", "up_proj", "down_proj")
    },
    **{
        f"model.language_model.layers.{at}.self_attn.{p}": {"quant_algo": "FP8"}
        for at in (3, 7)
        for p in ("q_proj", "k_proj", "v_proj", "o_proj")
    },
}


def test_modelopt_map_of_single_experts() -> None:
    found = profile(QWEN3_5_MOE, modelopt("MIXED_PRECISION", quantized_layers=MIXED_LAYERS))
    assert schemes(found, LayerClass.EXPERTS) == [("nvfp4-w4a16", "")]
    assert schemes(found, LayerClass.ATTENTION) == [("fp8-tensor", "")]
    [shared] = found.of(LayerClass.SHARED_EXPERT)
    assert (shared.scheme, shared.declared_by) == ("unquantized", DeclaredBy.NOT_LISTED)
    assert found.notes == ()


def test_modelopt_map_in_its_own_file() -> None:
    own = {"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": MIXED_LAYERS}}
    found = profile(QWEN3_5_MOE, modelopt("MIXED_PRECISION", exclude=()), own)
    assert schemes(found, LayerClass.EXPERTS) == [("nvfp4-w4a16", "")]
    missing = profile(QWEN3_5_MOE, modelopt("MIXED_PRECISION"))
    assert "without quantized_layers" in missing.unknowns[0].why


def test_own_file_alone() -> None:
    own = {
        "producer": {"name": "modelopt"},
        "quantization": {
            "quant_algo": "NVFP4",
            "kv_cache_quant_algo": "FP8",
            "group_size": 16,
            "exclude_modules": ["lm_head"],
        },
    }
    found = profile(QWEN3, None, own)
    assert found.quant_method == "modelopt"
    assert found.kv_cache_scheme == "fp8"
    assert schemes(found, LayerClass.MLP) == [("nvfp4-w4a4", "")]


def test_disagreeing_files_are_noted() -> None:
    own = {"quantization": {"quant_algo": "NVFP4", "exclude_modules": []}}
    found = profile(QWEN3, modelopt("NVFP4"), own)
    assert [(n.kind, n.subject) for n in found.notes] == [("sources-disagree", "lm-head")]


@pytest.mark.parametrize(
    ("block", "scheme", "activations"),
    [
        (
            {"activation_scheme": "dynamic", "weight_block_size": [128, 128]},
            "fp8-block",
            Activations.FP8_DYNAMIC_BLOCK,
        ),
        ({"activation_scheme": "static"}, "fp8-tensor", Activations.FP8_STATIC_TENSOR),
        ({"activation_scheme": "dynamic"}, "fp8-tensor", Activations.FP8_DYNAMIC_TOKEN),
        (
            {"activation_scheme": "static", "weight_block_size": [128, 128]},
            "unknown",
            Activations.UNKNOWN,
        ),
        ({"activation_scheme": "odd"}, "unknown", Activations.UNKNOWN),
    ],
)
def test_fp8(block: Mapping[str, Any], scheme: str, activations: Activations) -> None:
    found = profile(
        QWEN3_MOE,
        {
            "quant_method": "fp8",
            "modules_to_not_convert": ["model.layers.0.mlp.gate", "lm_head"],
            **block,
        },
    )
    [item] = found.of(LayerClass.EXPERTS)
    assert (item.scheme, item.activations) == (scheme, activations)
    assert schemes(found, LayerClass.LM_HEAD) == [("unquantized", "")]
    assert bool(found.unknowns) == (scheme == "unknown")


@pytest.mark.parametrize(
    ("stated", "scheme"),
    [({}, "mxfp4"), ({"expert_dtype": "fp4"}, "mxfp4"), ({"expert_dtype": "fp8"}, "fp8-block")],
)
def test_experts_stored_in_another_type(stated: dict[str, str], scheme: str) -> None:
    model = {
        "architectures": ["DeepseekV4ForCausalLM"],
        "num_hidden_layers": 2,
        "n_routed_experts": 8,
        **stated,
    }
    block = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    found = profile(model, block)
    assert schemes(found, LayerClass.EXPERTS) == [(scheme, "")]
    assert schemes(found, LayerClass.ATTENTION) == [("fp8-block", "")]
    bare = profile({"architectures": ["Novel"]}, {**block, "store_dtype": "mxfp4"})
    assert schemes(bare, LayerClass.EXPERTS) == [("mxfp4", "every expert")]


def mixed_attention(**algorithms: str) -> Mapping[str, Any]:
    listed = {
        f"model.layers.0.self_attn.{part}_proj": {"quant_algo": algo}
        for part, algo in algorithms.items()
    }
    return modelopt("MIXED_PRECISION", quantized_layers=listed)


def test_a_map_that_lists_a_part_of_a_fused_layer_speaks_of_all_of_it() -> None:
    """`_resolve_quant_algo` gathers the listed parts' algorithms, and one is enough."""
    found = profile({**QWEN3, "num_hidden_layers": 1}, mixed_attention(q="FP8"))
    assert schemes(found, LayerClass.ATTENTION) == [
        ("fp8-tensor", "k_proj, q_proj, v_proj"),
        ("unquantized", "o_proj"),
    ]
    assert [(n.kind, n.subject) for n in found.notes] == [("shards-borrowed", "attention")]


def test_a_map_with_two_algorithms_for_a_fused_layer_splits_it() -> None:
    found = profile({**QWEN3, "num_hidden_layers": 1}, mixed_attention(q="FP8", k="NVFP4"))
    assert [(n.kind, n.subject) for n in found.notes] == [("split-fusion", "attention")]


def test_a_map_that_lists_every_part_leaves_nothing_to_note() -> None:
    listed = dict.fromkeys(("q", "k", "v"), "FP8")
    found = profile({**QWEN3, "num_hidden_layers": 1}, mixed_attention(**listed))
    assert found.notes == ()
