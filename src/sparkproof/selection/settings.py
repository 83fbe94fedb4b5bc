"""What a layer and a deployment look like through the release's own objects."""

from __future__ import annotations

from sparkproof.core.condition import Scalar
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.state_layout import StateKind
from sparkproof.facts.model_traits import settings_of
from sparkproof.selection.request import Choices
from sparkproof.selection.schemes import integer_settings, kind_of, weight_and_activation

Settings = dict[str, Scalar]

_ACTIVATIONS = {
    "silu": "SILU",
    "swish": "SILU",
    "gelu": "GELU",
    "gelu_pytorch_tanh": "GELU_TANH",
    "gelu_tanh": "GELU_TANH",
    "relu2": "RELU2_NO_MUL",
    "swigluoai": "SWIGLUOAI",
}
_SHAPES = {
    "Tensor": "per_tensor",
    "Token": "per_token",
    "Channel": "per_channel",
    "128": "per_group",
}
_NEVER = (
    "use_sparse",
    "use_mla",
    "has_sink",
    "use_mm_prefix",
    "use_per_head_quant_scales",
    "has_sliding_window",
    "use_non_causal",
    "use_kv_connector",
    "use_pcp",
    "use_dcp",
    "use_rswa",
    "use_adaptive_verification",
    "moe.has_bias",
    "moe.has_hash_routing",
    "moe.require_decomposed_backend",
    "moe.moe_parallel_config.use_batched_activation_format",
    "moe.moe_parallel_config.is_sequence_parallel",
)
"""Properties taken as absent unless the caller says otherwise."""
_PRESENT = (
    "vllm_config",
    "vllm_config.model_config",
    "vllm_config.model_config.hf_config",
    "vllm_config.model_config.hf_text_config",
    "vllm_config.cache_config",
    "vllm_config.parallel_config",
    "vllm_config.attention_config",
    "vllm_config.kernel_config",
)
"""Objects that a running server always has."""
_INDEXED = "vllm_config.model_config.hf_text_config.index_topk"


def layer_settings(layer: LayerFormat, profile: CheckpointProfile, choices: Choices) -> Settings:
    """Answers to the settings that selection functions ask about."""
    settings: Settings = dict.fromkeys(_NEVER, False)
    settings.update(_moe(profile, choices))
    settings.update(_keys(layer))
    settings.update(_linear(layer))
    settings.update(integer_settings(layer))
    settings.update(_shapes(profile))
    settings.update(_attention(profile, choices))
    settings.update(settings_of(profile.architectures))
    settings["use_a16"] = layer.scheme is QuantScheme.NVFP4_W4A16
    settings["vllm_config.kernel_config.linear_backend"] = linear_choice(layer, choices)
    settings["vllm_config.kernel_config.linear_backend_per_quant"] = None
    settings["vllm_config.attention_config.flash_attn_version"] = None
    override = "vllm_config.model_config.quantization_config"
    settings[f"isinstance({override}, QuantizationConfigArgs)"] = False
    settings["vllm_config.model_config.is_diffusion"] = False
    settings["vllm_config.attention_config.use_trtllm_attention"] = None
    settings.update(dict.fromkeys(_PRESENT, "given"))
    settings["vllm_config.model_config.hf_text_config.model_type"] = _text_model(profile, choices)
    settings[_INDEXED] = profile.index_topk or None
    settings.update(choices.settings)
    return settings


def _text_model(profile: CheckpointProfile, choices: Choices) -> str:
    """``model_type`` of the language part, which multimodal configs nest with a suffix."""
    if choices.text_model_type:
        return choices.text_model_type
    nested = any(name.endswith("ForConditionalGeneration") for name in profile.architectures)
    return f"{profile.model_type}_text" if nested else profile.model_type


def _moe(profile: CheckpointProfile, choices: Choices) -> Settings:
    act = _ACTIVATIONS.get(profile.hidden_act or "silu")
    found: Settings = {
        "moe.moe_backend": _normal(choices.moe_backend),
        "moe.swiglu_limit": None,
        "moe.swiglu_alpha": None,
        "moe.swiglu_beta": None,
        "moe.is_lora_enabled": choices.lora,
        "moe.in_dtype": f"torch.{profile.activation_dtype}",
        "moe.moe_parallel_config.dp_size": 1,
        "moe.moe_parallel_config.pcp_size": 1,
        "moe.moe_parallel_config.tp_size": choices.tensor_parallel,
        "moe.moe_parallel_config.ep_size": choices.tensor_parallel
        if choices.expert_parallel
        else 1,
        "moe.moe_parallel_config.use_ep": choices.expert_parallel,
    }
    if act is not None:
        found["moe.activation"] = f"MoEActivation.{act}"
        found["moe.is_act_and_mul"] = found["moe.activation.is_gated"] = not act.endswith("NO_MUL")
    if profile.num_experts:
        found["moe.num_experts"] = profile.num_experts
    return found


def _keys(layer: LayerFormat) -> Settings:
    weight, activation = weight_and_activation(layer)
    found: Settings = {"weight_key": weight, "activation_key": activation}
    for path, key in (("weight_key", weight), ("activation_key", activation)):
        if key is not None and "Fp8" in key:
            found[f"{path}.dtype"] = "torch.float8_e4m3fn"
    if weight is not None and "Mxfp4" in weight:
        found["weight_key.dtype"] = "torch.uint8"
    found["activation_format"] = "FusedMoEActivationFormat.Standard"
    return found


def _linear(layer: LayerFormat) -> Settings:
    weight, activation = weight_and_activation(layer)
    found: Settings = {}
    for prefix in ("", "linear."):
        found |= _key_properties(f"{prefix}weight_quant_key", weight)
        found |= _key_properties(f"{prefix}activation_quant_key", activation)
    for name in ("input_dtype", "out_dtype"):
        found[f"linear.{name}"] = found[name] = "torch.bfloat16"
    return found


def _key_properties(path: str, key: str | None) -> Settings:
    found: Settings = {path: key}
    if key is None:
        return found
    shape = next((word for mark, word in _SHAPES.items() if mark in key), "")
    for word in ("per_tensor", "per_token", "per_channel", "per_group"):
        found[f"{path}.scale.group_shape.is_{word}()"] = word == shape
    found[f"{path}.scale.static"] = "Static" in key
    found[f"{path}.dtype"] = "torch.float8_e4m3fn" if "Fp8" in key else None
    if shape == "per_group":
        block = "GroupShape(128, 128)" if "Block" in key else "GroupShape(1, 128)"
        found[f"{path}.scale.group_shape"] = block
    return found


def _attention(profile: CheckpointProfile, choices: Choices) -> Settings:
    found: Settings = {
        "dtype": f"torch.{profile.activation_dtype}",
        "kv_cache_dtype": kv_cache_dtype(profile, choices),
        "block_size": choices.block_size or None,
        "attn_type": "AttentionType.DECODER",
        "use_batch_invariant": choices.env.get("VLLM_BATCH_INVARIANT", "0") not in ("", "0"),
        "attention_backend": choices.attention_backend.upper().replace("-", "_"),
    }
    sizes = head_sizes(profile)
    if sizes:
        found["head_size"] = max(sizes)
    state = profile.state
    if state is not None:
        found["num_heads"] = max(state.attention_heads // choices.tensor_parallel, 1)
        found["has_sliding_window"] = bool(state.count(StateKind.SLIDING))
        if state.latent:
            found["use_mla"] = True
            found["use_sparse"] = bool(state.count(StateKind.INDEXER))
    return found


def head_sizes(profile: CheckpointProfile, *, draft: bool = False) -> tuple[int, ...]:
    """Sizes of the heads that attention has to serve, smallest first; vLLM asks for each layer.

    Latent attention counts its latent and rotary part. Where the state of the layers is not
    known, the one size that the config declares; empty without any.

    Args:
        draft: of the draft layers that the checkpoint brings, where it has some.
    """
    state = profile.state
    layers = ((draft and state.drafts) or state.layers) if state is not None else ()
    latent = any(item.kind is StateKind.MLA for item in layers)
    kinds = (StateKind.MLA,) if latent else tuple(set(StateKind) - {StateKind.INDEXER})
    found = {item.attention.head_dim for item in layers if item.attention and item.kind in kinds}
    return tuple(sorted(found - {0})) or ((profile.head_dim,) if profile.head_dim else ())


def _shapes(profile: CheckpointProfile) -> Settings:
    """Sizes that stand for the layers', as kernels ask for their divisors."""
    state = profile.state
    if state is None or not state.hidden_size:
        return {}
    size = state.hidden_size
    found: Settings = {"moe.hidden_dim": size}
    for name in ("full_weight_shape", "partition_weight_shape", "weight_shape"):
        found |= {f"linear.{name}[{axis}]": size for axis in (0, 1)}
    if state.moe_intermediate_size:
        found["moe.intermediate_size_per_partition"] = state.moe_intermediate_size
    return found


def kv_cache_dtype(profile: CheckpointProfile, choices: Choices) -> str:
    """The KV-cache format in effect: the flag's, else the checkpoint's declared one."""
    if choices.kv_cache_dtype != "auto" or not profile.kv_cache_scheme:
        return choices.kv_cache_dtype
    return "fp8" if profile.kv_cache_scheme.lower().startswith("fp8") else choices.kv_cache_dtype


def linear_choice(layer: LayerFormat, choices: Choices) -> str:
    """The linear backend that the flags name for this kind of layer."""
    chosen = choices.linear_backend_per_quant.get(kind_of(layer), choices.linear_backend)
    return _normal(chosen)


def _normal(value: str) -> str:
    return value.lower().replace("-", "_")
