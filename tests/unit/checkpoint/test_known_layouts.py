"""What layers keep, against the cache specs that vLLM itself makes; the rest is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparkproof.checkpoint.state_layout import read_state_layout
from sparkproof.core.errors import ExitCode, FormatError, UnknownLayoutError
from sparkproof.core.observations.state_layout import LayerState, StateLayout
from sparkproof.facts.memory_book import layout_book, rules_of
from sparkproof.memory.kv_plan import refuse_unknown
from sparkproof.memory.pages import state_bytes
from sparkproof.memory.settings import Device, resolve_settings
from sparkproof.recipe.vllm_args import parse_serve_args

SPECS = Path(__file__).parents[2] / "data" / "memory" / "specs.json"
ROWS: list[dict[str, Any]] = json.loads(SPECS.read_bytes())
PLAIN = {
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "hidden_size": 1024,
    "max_position_embeddings": 4096,
}
READ = {"bamba", "minimax", "minimax_text_01", "kimi_linear", "deepseek_v32", "glm_moe_dsa"}
OUTER_NAMES = {
    "gemma3",
    "gemma3n",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_5",
    "qwen3_5_moe",
    "qwen3_vl",
    "qwen3_vl_moe",
}
"""Of configs whose text model has a type of its own, for those that leave it out."""
OF_OTHER_CONFIGS = {"falcon_h1", "granitemoehybrid", "kimi_k2", "gemma4_text", "bailing_moe_v2"}
"""Asked with published configs, which are not kept here."""


def read(**config: object) -> StateLayout:
    return read_state_layout(json.dumps(config).encode(), name="m")


def kept(layer: LayerState, layout: StateLayout) -> dict[str, Any]:
    shape = layer.attention
    if shape is None:
        args = parse_serve_args(("--max-model-len", "4096", "--mamba-ssm-cache-dtype", "bfloat16"))
        settings = resolve_settings(layout, args, rules_of("0.32.0"), Device("12.1", 121.69))
        values = state_bytes(layer, settings) // settings.model_bytes
        return {"kind": "state", "values": values, "count": layer.count}
    more = 1 if shape.window and layout.model_type in layout_book().wide_windows else 0
    return {
        "kind": layer.kind.value,
        "heads": shape.kv_heads,
        "key": shape.head_dim,
        "value": shape.value_dim,
        "window": shape.window + more,
        "chunk": shape.chunk,
        "count": layer.count,
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['architecture']}-{len(str(row))}")
def test_layers_keep_what_vllm_makes_for_them(row: dict[str, Any]) -> None:
    layout = read(**row["config"])
    if not row["layers"]:
        assert "keeps no KV cache" in layout.unknowns[0].why
        return
    assert not layout.unknowns
    found = [kept(layer, layout) for layer in layout.layers]
    assert sorted(found, key=str) == sorted(row["layers"], key=str)


def test_every_known_type_was_asked_or_is_told_apart() -> None:
    asked = {row["model_type"] for row in ROWS}
    assert layout_book().known - asked == READ | OUTER_NAMES | OF_OTHER_CONFIGS


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "fancy"}, "what vLLM keeps for the layers of `fancy` is not known here"),
        ({}, "what vLLM keeps for each of its layers is not known"),
        ({"model_type": "bert"}, "keeps no KV cache"),
        ({"model_type": "qwen2", "is_causal": False}, "keeps no KV cache"),
        ({"model_type": "gemma3_text", "use_bidirectional_attention": True}, "no KV cache"),
        ({"model_type": "whisper"}, "`whisper` is not known here"),
        ({"model_type": "qwen2", "is_encoder_decoder": True}, "of an encoder's states"),
    ],
)
def test_what_is_not_known_is_refused_by_name(config: dict[str, Any], said: str) -> None:
    layout = read(**PLAIN, **config)
    assert said in layout.unknowns[0].why
    with pytest.raises(UnknownLayoutError, match=r"m: ") as caught:
        refuse_unknown(layout)
    assert caught.value.exit_code is ExitCode.COULD_NOT_LOOK


def test_a_prefix_that_is_looked_at_both_ways_is_cached_all_the_same() -> None:
    assert not read(**PLAIN, model_type="gemma", use_bidirectional_attention=True).unknowns


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"model_type": "mistral"}, "sliding_window"),
        ({"model_type": "gemma2"}, "sliding_window"),
        ({"model_type": "olmo3", "sliding_window": 1024}, "layer_types"),
        ({"model_type": "llama4_text", "attention_chunk_size": 8192}, "layer_types"),
        (
            {
                "model_type": "qwen2",
                "sliding_window": 1024,
                "use_sliding_window": True,
                "max_window_layers": 4,
            },
            "max_window_layers",
        ),
    ],
)
def test_a_pattern_that_is_left_to_vllm_is_no_full_attention(
    config: dict[str, Any], field: str
) -> None:
    with pytest.raises(FormatError, match=field):
        read(**PLAIN, **config)


def test_two_attentions_of_one_layer_are_counted_once_where_the_config_counts_them() -> None:
    latent = {"model_type": "longcat_flash", "kv_lora_rank": 512, "qk_rope_head_dim": 64}
    (short,) = read(num_layers=28, num_attention_heads=64, **latent).layers
    (both,) = read(num_layers=28, num_hidden_layers=56, num_attention_heads=64, **latent).layers
    assert short.count == both.count == 56


def test_only_keys_that_serve_as_values_have_heads_of_their_own() -> None:
    gemma = {
        **PLAIN,
        "model_type": "gemma4_text",
        "head_dim": 64,
        "num_global_key_value_heads": 2,
        "layer_types": ["full_attention"] * 8,
    }
    for shared, heads in ((True, 2), (False, 4)):
        (layer,) = read(**gemma, attention_k_eq_v=shared).layers
        assert layer.attention is not None
        assert layer.attention.kv_heads == heads
