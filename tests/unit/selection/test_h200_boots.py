"""Every boot of one H200 with vLLM 0.26.0, against its shipped surface: picks and candidates.

The logs were written on 2026-11-29 by models of our own, without FlashInfer and DeepGEMM.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import Tri
from sparkproof.core.deployment import Box
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.prediction import Outcome, Prediction
from sparkproof.facts.surfaces import load_surface
from sparkproof.selection import (
    Choices,
    GateAnswer,
    gates_needed,
    predict,
    predict_attention,
    settle_gates,
)

HOPPER = ComputeCapability(9, 0)
ATTENTION = ["FLASH_ATTN", "TRITON_ATTN", "FLEX_ATTENTION"]
NVFP4 = [
    "FLASHINFER_TRTLLM",
    "FLASHINFER_CUTEDSL",
    "FLASHINFER_CUTEDSL_BATCHED",
    "FLASHINFER_CUTLASS",
    "VLLM_CUTLASS",
    "MARLIN",
    "HUMMING",
    "EMULATION",
]
FP8 = [
    "AITER",
    "FLASHINFER_TRTLLM",
    "FLASHINFER_CUTLASS",
    "DEEPGEMM",
    "VLLM_CUTLASS",
    "TRITON",
    "MARLIN",
    "HUMMING",
    "BATCHED_DEEPGEMM",
    "BATCHED_VLLM_CUTLASS",
    "BATCHED_TRITON",
    "XPU",
    "CPU",
    "HPC",
]
PLAIN = ["TRITON", "BATCHED_TRITON", "FLASHINFER_TRTLLM", "FLASHINFER_CUTLASS"]
_S = QuantScheme
MARLIN, CUTLASS = "MarlinNvFp4LinearKernel", "CutlassFP8ScaledMMLinearKernel"


class Boot(NamedTuple):
    """What one log says; "" where it says nothing."""

    log: str
    scheme: QuantScheme
    method: str
    dense: str = ""
    experts: str = ""
    candidates: tuple[str, ...] = ()
    moe_backend: str = "auto"


CT = "compressed-tensors"
BOOTS = [
    Boot("dense-bf16", _S.UNQUANTIZED, ""),
    Boot("dense-eager", _S.UNQUANTIZED, ""),
    Boot("dense-ngram", _S.UNQUANTIZED, ""),
    Boot("dense-tools", _S.UNQUANTIZED, ""),
    Boot("dense-fp8", _S.FP8_CHANNEL, CT, CUTLASS),
    Boot("dense-nvfp4a16", _S.NVFP4_W4A16, CT, MARLIN),
    Boot("moe-bf16", _S.UNQUANTIZED, "", "", "TRITON", tuple(PLAIN)),
    Boot("moe-fp8", _S.FP8_CHANNEL, CT, CUTLASS, "VLLM_CUTLASS", tuple(FP8)),
    Boot("moe-modelopt", _S.NVFP4_W4A4, "modelopt", MARLIN, "MARLIN", tuple(NVFP4)),
    Boot("moe-nvfp4a16", _S.NVFP4_W4A16, CT, MARLIN, "MARLIN", tuple(NVFP4)),
    Boot("moe-nvfp4-marlin", _S.NVFP4_W4A16, CT, MARLIN, "MARLIN", moe_backend="marlin"),
]


@cache
def surface() -> ReleaseSurface:
    return load_surface("0.26.0")


def gates() -> dict[str, GateAnswer]:
    found = surface()
    answers = settle_gates(found, Box(nvcc=True, ninja=True))
    missing = GateAnswer(Tri.NO, "not installed on that box")
    for name in gates_needed(found):
        if name.startswith("op:"):
            answers[name] = GateAnswer(Tri.of(name != "op:cutlass_scaled_mm_supports_fp4"), "told")
        if "flashinfer" in name or "deep_gemm" in name:
            answers[name] = missing
    return answers


def profile_of(boot: Boot) -> CheckpointProfile:
    return CheckpointProfile(
        name=boot.log,
        architectures=("Qwen3MoeForCausalLM",),
        model_type="qwen3_moe",
        quant_method=boot.method,
        formats=(),
        hidden_act="silu",
        head_dim=128,
        num_experts=16 if boot.experts else 0,
    )


def layer_of(boot: Boot, layer_class: LayerClass) -> LayerFormat:
    return LayerFormat(layer_class, boot.scheme, activations=Activations.FP8_DYNAMIC_TOKEN)


def pick(boot: Boot, layer_class: LayerClass) -> Prediction:
    return predict(
        surface(),
        HOPPER,
        layer_of(boot, layer_class),
        profile=profile_of(boot),
        choices=Choices(moe_backend=boot.moe_backend),
        gates=gates(),
    )


@pytest.mark.parametrize("boot", BOOTS, ids=lambda boot: boot.log)
def test_what_the_log_names_is_what_is_predicted(boot: Boot) -> None:
    if boot.dense:
        assert pick(boot, LayerClass.MLP).selected == boot.dense
    if boot.experts:
        experts = pick(boot, LayerClass.EXPERTS)
        assert experts.selected == boot.experts
        if boot.candidates:
            named = [s.backend for s in experts.steps if s.outcome is not Outcome.BYPASSED]
            assert tuple(named) == boot.candidates


@pytest.mark.parametrize("boot", BOOTS, ids=lambda boot: boot.log)
def test_attention_and_every_valid_candidate_of_it(boot: Boot) -> None:
    found = predict_attention(surface(), HOPPER, profile=profile_of(boot), gates=gates())
    valid = (Outcome.TAKEN, Outcome.NOT_REACHED)
    assert found.selected == "FLASH_ATTN"
    assert [step.backend for step in found.steps if step.outcome in valid] == ATTENTION
