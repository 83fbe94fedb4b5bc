"""Mistral's own ``params.json``, told in the words of ``config.json``.

The names on both sides are those of vLLM's own reader (``transformers_utils/configs/mistral.py``,
0.20.0 and 0.33.0, read 2026-11-30).
"""

from __future__ import annotations

import json

from sparkproof.formats.json_object import Fields, Json, parse_json_object

_RENAMED = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
    "tied_embeddings": "tie_word_embeddings",
    "norm_eps": "rms_norm_eps",
}
_EXPERTS = {
    "num_experts": "n_routed_experts",
    "num_experts_per_tok": "num_experts_per_tok",
    "num_shared_experts": "n_shared_experts",
    "expert_hidden_dim": "moe_intermediate_size",
    "first_k_dense_replace": "first_k_dense_replace",
    "route_every_n": "moe_layer_freq",
    "routed_scale": "routed_scaling_factor",
    "num_expert_groups": "n_group",
    "num_expert_groups_per_tok": "topk_group",
}
_ROUTING: dict[str, Json] = {"norm_topk_prob": True, "scoring_func": "softmax"}
_LENGTH = 128_000
"""What stands for a context length that is not declared."""
_UNREAD = "a quantization that vLLM's reader of params.json refuses"


def is_mistral_params(data: dict[str, Json]) -> bool:
    """Whether an object is of this kind, not a ``config.json``."""
    return "dim" in data and "n_layers" in data and "architectures" not in data


def as_config(data: bytes, where: str = "params.json") -> bytes:
    """A ``params.json`` as the ``config.json`` that vLLM makes of it.

    Raises:
        FormatError: as `parse_mistral_params`.
    """
    return json.dumps(parse_mistral_params(data, where)).encode()


def parse_mistral_params(data: bytes, where: str) -> dict[str, Json]:
    """The object that vLLM makes of a ``params.json``.

    Raises:
        FormatError: no bounded JSON object of this kind, or a field of another type.
    """
    raw = parse_json_object(data, where)
    top = Fields(raw, where)
    if not is_mistral_params(raw):
        raise top.wrong("dim", "missing, or n_layers is: no params.json of Mistral's")
    config = {_RENAMED.get(key, key): value for key, value in raw.items()}
    config.setdefault("max_position_embeddings", _LENGTH)
    config.setdefault("hidden_act", "silu")
    quantization = top.table("quantization")
    if quantization is not None:
        del config["quantization"]
        config["quantization_config"] = _quantization(quantization)
    _set_layers(config, raw, top)
    return _seen_from_outside(_with_architecture(config, top), raw, top)


def _quantization(block: Fields) -> dict[str, Json]:
    method = block.text("quant_method").lower().replace("_", "-")
    if block.text("qformat_weight") == "fp8_e4m3":
        dynamic = block.text("qscheme_act") == "NO_SCALES"
        return {"quant_method": "fp8", "activation_scheme": "dynamic" if dynamic else "static"}
    if method == "compressed-tensors":
        return {**block.raw, "quant_method": method}
    return {"quant_method": f"{method or 'none'}: {_UNREAD}"}


def _set_layers(config: dict[str, Json], raw: dict[str, Json], top: Fields) -> None:
    """A window a layer, repeated, in the words of ``layer_types``."""
    windows = raw.get("sliding_window")
    if not isinstance(windows, list) or not windows:
        return
    names: list[Json] = ["full_attention" if w is None else "sliding_attention" for w in windows]
    config["layer_types"] = names * (top.integer("n_layers", high=4096) // len(names))
    config["sliding_window"] = next((w for w in windows if w is not None), None)


def _with_architecture(config: dict[str, Json], top: Fields) -> dict[str, Json]:
    experts = top.table("moe")
    model_type = top.text("model_type", "transformer")
    if model_type == "mamba":
        return {**config, "model_type": "mamba2", "architectures": ["Mamba2ForCausalLM"]}
    if experts is None:
        return {**config, "model_type": "mistral", "architectures": ["MistralForCausalLM"]}
    told = {new: experts.raw[old] for old, new in _EXPERTS.items() if old in experts}
    if experts.integer("num_shared_experts"):
        named: dict[str, Json] = {
            "model_type": "deepseek_v3",
            "architectures": ["MistralLarge3ForCausalLM"],
        }
        return {**config, **told, **_ROUTING, **named}
    return {
        **config,
        **told,
        "model_type": "mixtral",
        "architectures": ["MixtralForCausalLM"],
    }


def _seen_from_outside(
    config: dict[str, Json], raw: dict[str, Json], top: Fields
) -> dict[str, Json]:
    """With a tower around it, where there is one."""
    inside = top.table("multimodal")
    tower = raw.get("vision_encoder") or (inside.raw.get("vision_encoder_args") if inside else None)
    whisper = inside.table("whisper_model_args") if inside else None
    if not tower and whisper is None:
        return config
    block = config.get("quantization_config")
    outer: dict[str, Json] = {
        "model_type": "pixtral" if tower else "voxtral",
        "architectures": [
            "PixtralForConditionalGeneration" if tower else "VoxtralForConditionalGeneration"
        ],
        "text_config": config,
    }
    if tower:
        outer["vision_config"] = tower
    return {**outer, "quantization_config": block} if block else outer
