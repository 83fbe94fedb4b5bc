"""Every method's declaration, read layer class by layer class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.checkpoint.summary import format_label
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    CheckpointProfile,
    DeclaredBy,
    LayerClass,
)
from sparkproof.testing.checkpoints import (
    FP4,
    FP4_LOCAL,
    FP8_CHANNEL,
    FP8_TOKEN,
    NEMOTRON_H,
    QWEN3,
    QWEN3_5_MOE,
    QWEN3_MOE,
    compressed_tensors,
    config_files,
    config_group,
    modelopt,
)

INT4: Mapping[str, Any] = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
INT8: Mapping[str, Any] = {"num_bits": 8, "type": "int", "strategy": "channel"}
INT8_TOKEN: Mapping[str, Any] = {
    "num_bits": 8,
    "type": "int",
    "strategy": "token",
    "dynamic": True,
}


def profile(
    model: Mapping[str, Any],
    quantization: Mapping[str, Any] | None = None,
    hf_quant: Mapping[str, Any] | None = None,
) -> CheckpointProfile:
    return read_checkpoint(config_files(model, quantization, hf_quant), "test")


def schemes(found: CheckpointProfile, layer_class: LayerClass) -> list[tuple[str, str]]:
    return [(item.scheme.value, item.layers) for item in found.of(layer_class)]


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


def test_hybrid_pattern_gives_each_layer_its_kind() -> None:
    found = profile(NEMOTRON_H, modelopt("NVFP4"))
    assert found.num_layers == 6
    for layer_class in (
        LayerClass.ATTENTION,
        LayerClass.LINEAR_ATTENTION,
        LayerClass.EXPERTS,
        LayerClass.SHARED_EXPERT,
        LayerClass.MLP,
    ):
        assert schemes(found, layer_class) == [("nvfp4-w4a4", "")]
    assert schemes(found, LayerClass.ROUTER) == [("unquantized", "")]


def test_dense_first_layers() -> None:
    model = {
        "architectures": ["Glm4MoeForCausalLM"],
        "num_hidden_layers": 4,
        "n_routed_experts": 8,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
    }
    found = profile(model, modelopt("NVFP4", exclude=("lm_head", "model.layers.0.*")))
    assert schemes(found, LayerClass.MLP) == [("unquantized", "")]
    assert schemes(found, LayerClass.EXPERTS) == [("nvfp4-w4a4", "")]
    assert schemes(found, LayerClass.ATTENTION) == [
        ("unquantized", "layer 0"),
        ("nvfp4-w4a4", "layers 1-3"),
    ]


def test_unknown_layer_kinds_are_told() -> None:
    found = profile({**NEMOTRON_H, "hybrid_override_pattern": "MX"}, modelopt("NVFP4"))
    assert "'X'" in found.unknowns[0].why


def test_tied_output_layer_is_the_embedding() -> None:
    found = profile({**QWEN3, "tie_word_embeddings": True}, modelopt("NVFP4", exclude=()))
    [head] = found.of(LayerClass.LM_HEAD)
    assert (head.scheme, head.detail) == ("unquantized", "shares the embedding")


def test_split_fusion_is_noted() -> None:
    found = profile(
        QWEN3, compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=("lm_head", "re:.*q_proj"))
    )
    assert [(n.kind, n.subject) for n in found.notes] == [("split-fusion", "attention")]


def test_a_pattern_for_one_of_two_names_is_noted() -> None:
    found = profile(
        QWEN3_5_MOE,
        compressed_tensors(
            config_group(FP4, FP4_LOCAL), ignore=("lm_head", r"re:model\.visual\..*", "re:^mtp.*")
        ),
    )
    assert [(n.kind, n.subject) for n in found.notes] == [("names-differ", "vision")]


def test_a_pattern_that_can_not_be_evaluated_leaves_an_unknown_scheme() -> None:
    found = profile(
        QWEN3, compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=("lm_head", r"re:(?<=x)y"))
    )
    assert schemes(found, LayerClass.MLP) == [("unknown", "")]
    assert schemes(found, LayerClass.LM_HEAD) == [("unquantized", "")]


def test_known_family_of_unknown_depth() -> None:
    model = {"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 8}
    found = profile(
        model,
        compressed_tensors(
            config_group(FP4, FP4_LOCAL, "re:.*layers.[0-4].mlp.experts.*"), ignore=()
        ),
    )
    assert schemes(found, LayerClass.EXPERTS) == [
        ("nvfp4-w4a4", "layers 0-4"),
        ("unquantized", "layers 5 and up"),
    ]
    assert found.unknowns[0].why == "num_hidden_layers is not declared"


NOVEL = {"architectures": ["NovelMoeForCausalLM"], "num_hidden_layers": 3, "num_experts": 4}


def test_an_architecture_that_is_not_in_the_book_keeps_its_shape() -> None:
    found = profile(
        NOVEL,
        compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=("lm_head", "re:.*layers.0.*")),
    )
    assert schemes(found, LayerClass.EXPERTS) == [
        ("unquantized", "layer 0"),
        ("nvfp4-w4a4", "layers 1-2"),
    ]
    assert [s for s, _ in schemes(found, LayerClass.OTHER)] == ["nvfp4-w4a4"]
    assert "not in the book" in found.unknowns[0].why
    plain = profile(NOVEL)
    assert schemes(plain, LayerClass.EXPERTS) == [("unquantized", "")]
    assert (plain.of(LayerClass.OTHER), plain.unknowns) == ((), ())


def test_reconstruction_is_carried() -> None:
    origin = {
        "sources": ["somebody, 2026-08-01"],
        "assumed": ["a thing"],
        "disputed": {"lm-head": {"readings": ["FP8", "unquantized"]}},
    }
    found = profile({**QWEN3, "_sparkproof": origin})
    assert found.reconstructed == "somebody, 2026-08-01"
    assert found.assumed == ("a thing",)
    assert [note.kind for note in found.notes] == ["sources-disagree"]


def test_no_config_at_all() -> None:
    with pytest.raises(FormatError, match=r"no config\.json"):
        read_checkpoint({"model.safetensors": b""}, "empty")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"num_hidden_layers": "four"}', "num_hidden_layers` is no integer"),
        (b'{"num_hidden_layers": 99999}', "num_hidden_layers` is outside 0 to 4096"),
        (b'{"architectures": "X"}', "architectures` is no list of strings"),
        (b'{"quantization_config": []}', "quantization_config` is no object"),
        (
            b'{"quantization_config": {"config_groups": {"g": {"weights": {"num_bits": true}}}}}',
            "quantization_config.config_groups.g.weights.num_bits` is no integer",
        ),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b'{"a": 1e999}', "out of range"),
        (b'{"a": 1, "a": 2}', "key `a` stands twice"),
        (b"[1]", "no object"),
        (b"{", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", "nested too deeply"),
        (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"a":' + b"9" * 9000 + b"}", "absurd length"),
        (b'{"a":[' + b"0," * 2_000_001 + b"0]}", "values"),
    ],
)
def test_bad_configs_name_the_field(text: bytes, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_checkpoint({"config.json": text}, "bad")
    assert said in str(caught.value)
    assert "config.json" in str(caught.value)
