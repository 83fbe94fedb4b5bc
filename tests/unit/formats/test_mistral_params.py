"""Mistral's own description of a model, as vLLM reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.formats.mistral_params import as_config

DENSE: dict[str, Any] = {"dim": 512, "n_layers": 4, "n_heads": 8, "n_kv_heads": 2, "hidden_dim": 64}
LATENT = {"kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "expert_hidden_dim": 32}


def told(**more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(as_config(json.dumps({**DENSE, **more}).encode()))
    return found


def test_sizes_go_by_the_other_names() -> None:
    found = told()
    assert found["num_hidden_layers"] == 4
    assert found["num_key_value_heads"] == 2
    assert found["architectures"] == ["MistralForCausalLM"]
    assert found["max_position_embeddings"] == 128_000


@pytest.mark.parametrize(
    ("more", "architecture", "experts"),
    [
        ({"moe": EXPERTS}, "MixtralForCausalLM", 8),
        ({"moe": {**EXPERTS, "num_shared_experts": 1}, **LATENT}, "MistralLarge3ForCausalLM", 8),
        ({"model_type": "mamba"}, "Mamba2ForCausalLM", None),
    ],
)
def test_the_class_follows_from_the_experts(
    more: dict[str, Any], architecture: str, experts: int | None
) -> None:
    found = told(**more)
    assert found["architectures"] == [architecture]
    assert found.get("n_routed_experts") == experts


@pytest.mark.parametrize(
    ("block", "method"),
    [
        ({"qformat_weight": "fp8_e4m3"}, {"quant_method": "fp8", "activation_scheme": "static"}),
        (
            {"qformat_weight": "fp8_e4m3", "qscheme_act": "NO_SCALES"},
            {"quant_method": "fp8", "activation_scheme": "dynamic"},
        ),
        (
            {"quant_method": "compressed_tensors", "ignore": ["output"]},
            {"quant_method": "compressed-tensors", "ignore": ["output"]},
        ),
    ],
)
def test_quantization(block: dict[str, Any], method: dict[str, Any]) -> None:
    assert told(quantization=block)["quantization_config"] == method


def test_a_quantization_that_its_reader_refuses_keeps_no_known_name() -> None:
    assert "refuses" in told(quantization={"bits": 4})["quantization_config"]["quant_method"]


def test_a_window_a_layer() -> None:
    found = told(sliding_window=[None, 128])
    assert found["layer_types"] == ["full_attention", "sliding_attention"] * 2
    assert found["sliding_window"] == 128


@pytest.mark.parametrize(
    ("more", "architecture"),
    [
        ({"vision_encoder": {"hidden_size": 64}}, "PixtralForConditionalGeneration"),
        (
            {"multimodal": {"whisper_model_args": {"encoder_args": {}}}},
            "VoxtralForConditionalGeneration",
        ),
    ],
)
def test_a_tower_stands_around_the_text_model(more: dict[str, Any], architecture: str) -> None:
    found = told(quantization={"qformat_weight": "fp8_e4m3"}, **more)
    assert found["architectures"] == [architecture]
    assert found["text_config"]["num_hidden_layers"] == 4
    assert found["quantization_config"]["quant_method"] == "fp8"


@pytest.mark.parametrize(
    "data", [b"{}", b"[]", b'{"dim": 1}', b'{"dim": 1, "n_layers": 1, "moe": 2}']
)
def test_what_is_none(data: bytes) -> None:
    with pytest.raises(FormatError, match="params"):
        as_config(data)
