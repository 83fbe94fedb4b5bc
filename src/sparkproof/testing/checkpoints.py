"""Builders of small checkpoint configs, metadata only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

FP4: Mapping[str, Any] = {
    "num_bits": 4,
    "type": "float",
    "strategy": "tensor_group",
    "group_size": 16,
}
FP4_LOCAL: Mapping[str, Any] = {**FP4, "dynamic": "local"}
FP8_CHANNEL: Mapping[str, Any] = {"num_bits": 8, "type": "float", "strategy": "channel"}
FP8_TOKEN: Mapping[str, Any] = {
    "num_bits": 8,
    "type": "float",
    "strategy": "token",
    "dynamic": True,
}

QWEN3: Mapping[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "num_hidden_layers": 4,
}
QWEN3_MOE: Mapping[str, Any] = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "num_hidden_layers": 4,
    "num_experts": 8,
}
QWEN3_5_MOE: Mapping[str, Any] = {
    "architectures": ["Qwen3_5MoeForConditionalGeneration"],
    "model_type": "qwen3_5_moe",
    "vision_config": {},
    "text_config": {
        "num_hidden_layers": 8,
        "full_attention_interval": 4,
        "num_experts": 8,
        "shared_expert_intermediate_size": 64,
        "mtp_num_hidden_layers": 1,
    },
}
NEMOTRON_H: Mapping[str, Any] = {
    "architectures": ["NemotronHForCausalLM"],
    "model_type": "nemotron_h",
    "hybrid_override_pattern": "MEM*-E",
    "n_routed_experts": 8,
    "n_shared_experts": 1,
}


def config_group(
    weights: Mapping[str, Any] | None, inputs: Mapping[str, Any] | None, *targets: str
) -> dict[str, Any]:
    """One entry of ``config_groups``; it targets ``Linear`` unless told otherwise."""
    return {
        "targets": list(targets or ("Linear",)),
        "weights": weights,
        "input_activations": inputs,
    }


def compressed_tensors(
    *groups: Mapping[str, Any], ignore: tuple[str, ...] = ("lm_head",), **more: object
) -> dict[str, Any]:
    """A compressed-tensors block."""
    return {
        "quant_method": "compressed-tensors",
        "format": "nvfp4-pack-quantized",
        "config_groups": {f"group_{at}": group for at, group in enumerate(groups)},
        "ignore": list(ignore),
        **more,
    }


def modelopt(
    algo: str, *, exclude: tuple[str, ...] = ("lm_head",), **more: object
) -> dict[str, Any]:
    """A ModelOpt block as it stands in config.json."""
    return {
        "quant_method": "modelopt",
        "quant_algo": algo,
        "exclude_modules": list(exclude),
        **more,
    }


def config_files(
    model: Mapping[str, Any],
    quantization: Mapping[str, Any] | None = None,
    hf_quant: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """The metadata files of a checkpoint, by name."""
    config = dict(model)
    if quantization is not None:
        config["quantization_config"] = quantization
    files = {"config.json": json.dumps(config).encode()}
    if hf_quant is not None:
        files["hf_quant_config.json"] = json.dumps(hf_quant).encode()
    return files
