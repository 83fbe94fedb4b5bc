"""The tensors of a Qwen3.5-like model as its config shapes them, in a format per layer class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Shapes = dict[str, tuple[str, tuple[int, ...]]]
Choose = Callable[[str, int], str]
_BODY = "model.language_model."
_LEAVES: dict[str, Callable[[int, int], Shapes]] = {
    "bf16": lambda rows, columns: {"weight": ("BF16", (rows, columns))},
    "fp8-channel": lambda rows, columns: {
        "weight": ("F8_E4M3", (rows, columns)),
        "weight_scale": ("BF16", (rows, 1)),
    },
    "fp8-tensor": lambda rows, columns: {
        "weight": ("F8_E4M3", (rows, columns)),
        "weight_scale": ("F32", ()),
        "input_scale": ("F32", ()),
    },
    "w4a4": lambda rows, columns: {
        "weight_packed": ("U8", (rows, columns // 2)),
        "weight_scale": ("F8_E4M3", (rows, columns // 16)),
        "weight_global_scale": ("F32", (1,)),
        "input_global_scale": ("F32", (1,)),
    },
    "w4a16": lambda rows, columns: {
        "weight": ("U8", (rows, columns // 2)),
        "weight_scale": ("F8_E4M3", (rows, columns // 16)),
        "weight_scale_2": ("F32", ()),
    },
}


class Builder:
    """Collects the tensors of one model; `choose` gives the format of a class in a layer."""

    def __init__(self, text: dict[str, Any], choose: Choose) -> None:
        self.text = text
        self.choose = choose
        self.found: Shapes = {}

    def add(self, kind: str, at: int, name: str, rows: int, columns: int) -> None:
        for leaf, shape in _LEAVES[self.choose(kind, at)](rows, columns).items():
            self.found[f"{name}.{leaf}"] = shape

    def attention(self, kind: str, at: int, prefix: str) -> None:
        text, hidden = self.text, self.text["hidden_size"]
        query = text["num_attention_heads"] * text["head_dim"]
        pair = text["num_key_value_heads"] * text["head_dim"]
        self.add(kind, at, f"{prefix}.q_proj", 2 * query, hidden)  # with an output gate
        self.add(kind, at, f"{prefix}.k_proj", pair, hidden)
        self.add(kind, at, f"{prefix}.v_proj", pair, hidden)
        self.add(kind, at, f"{prefix}.o_proj", hidden, query)

    def delta(self, at: int, prefix: str) -> None:
        text, hidden = self.text, self.text["hidden_size"]
        keys = text["linear_num_key_heads"] * text["linear_key_head_dim"]
        values = text["linear_num_value_heads"] * text["linear_value_head_dim"]
        self.add("delta", at, f"{prefix}.in_proj_qkv", 2 * keys + values, hidden)
        self.add("delta", at, f"{prefix}.in_proj_z", values, hidden)
        self.add("delta", at, f"{prefix}.out_proj", hidden, values)
        for letter in "ab":
            heads = text["linear_num_value_heads"]
            self.add("gates", at, f"{prefix}.in_proj_{letter}", heads, hidden)
        self.found[f"{prefix}.conv1d.weight"] = ("BF16", (2 * keys + values, 1, 4))

    def mlp(self, kind: str, at: int, prefix: str, inner: int) -> None:
        hidden = self.text["hidden_size"]
        self.add(kind, at, f"{prefix}.gate_proj", inner, hidden)
        self.add(kind, at, f"{prefix}.up_proj", inner, hidden)
        self.add(kind, at, f"{prefix}.down_proj", hidden, inner)

    def feed(self, at: int, prefix: str, draft: str = "") -> None:
        text, hidden = self.text, self.text["hidden_size"]
        if "num_experts" not in text:
            self.mlp(draft or "mlp", at, prefix, text["intermediate_size"])
            return
        for expert in range(text["num_experts"]):
            inner = text["moe_intermediate_size"]
            self.mlp(draft or "experts", at, f"{prefix}.experts.{expert}", inner)
        shared = text["shared_expert_intermediate_size"]
        self.mlp(draft or "shared", at, f"{prefix}.shared_expert", shared)
        self.add(draft or "router", at, f"{prefix}.gate", text["num_experts"], hidden)


def lay_out_tensors(config: dict[str, Any], choose: Choose) -> Shapes:
    """Every matrix of the language model and of its draft layer."""
    text = config["text_config"]
    build = Builder(text, choose)
    hidden = text["hidden_size"]
    build.add("embedding", -1, f"{_BODY}embed_tokens", text["vocab_size"], hidden)
    build.add("head", -1, "lm_head", text["vocab_size"], hidden)
    for at in range(text["num_hidden_layers"]):
        prefix = f"{_BODY}layers.{at}"
        if (at + 1) % text["full_attention_interval"]:
            build.delta(at, f"{prefix}.linear_attn")
        else:
            build.attention("attention", at, f"{prefix}.self_attn")
        build.feed(at, f"{prefix}.mlp")
    build.add("draft", 0, "mtp.fc", hidden, 2 * hidden)
    build.attention("draft", 0, "mtp.layers.0.self_attn")
    build.feed(0, "mtp.layers.0.mlp", "draft")
    return build.found
