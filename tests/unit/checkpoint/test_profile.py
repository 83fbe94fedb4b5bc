"""Which layers a model has, and declarations that are odd or damaged."""

from __future__ import annotations

import pytest
from tests.unit.checkpoint.profiles import profile, schemes

from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.checkpoint_profile import (
    LayerClass,
)
from sparkproof.testing.checkpoints import (
    FP4,
    FP4_LOCAL,
    NEMOTRON_H,
    QWEN3,
    QWEN3_5_MOE,
    QWEN3_MOE,
    compressed_tensors,
    config_group,
    modelopt,
)


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


def test_projections_of_experts_that_differ_are_one_layer_without_a_scheme() -> None:
    block = compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=("re:.*experts.*down_proj",))
    found = profile(QWEN3_MOE, block)
    assert schemes(found, LayerClass.EXPERTS) == [("unknown", "")]
    assert [(n.kind, n.subject) for n in found.notes] == [("split-fusion", "experts")]


def test_one_excluded_expert_excludes_its_layer() -> None:
    """vLLM looks for the name of the experts' module inside of the entries."""
    one = "model.layers.0.mlp.experts.7.up_proj"
    found = profile(
        QWEN3_MOE, {"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": [one]}
    )
    assert [s for s, _ in schemes(found, LayerClass.EXPERTS)] == ["unquantized", "nvfp4-w4a4"]
