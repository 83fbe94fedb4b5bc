"""Which environment variables belong to a deployment."""

from __future__ import annotations

from collections.abc import Mapping

_PREFIXES = (
    "VLLM_",
    "CUDA_",
    "NCCL_",
    "GLOO_",
    "HF_",
    "FLASHINFER_",
    "TORCH",
    "PYTORCH_",
    "TRITON_",
    "RAY_",
    "OMP_",
    "MAX_JOBS",
    "LD_LIBRARY_PATH",
    "NVIDIA_",
    "DG_",
    "CUTE_DSL_",
    "B12X_",
    "TRANSFORMERS_",
    "TIKTOKEN_",
    "SAFETENSORS_",
    "UCX_",
    "TP_SOCKET_",
)
SECRETS = frozenset({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN", "VLLM_API_KEY"})


def own_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that vLLM, or what it stands on, reads."""
    return {name: text for name, text in environment.items() if name.startswith(_PREFIXES)}
