"""Selection in real releases, against real boot logs and against orders read by eye.

Boot logs: vLLM 0.26.0 on one H200 (capability 9.0), 2026-11-29, without FlashInfer and
DeepGEMM, models of our own. Orders: read in the sources of the wheels, 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
import pytest

from sparkproof.adapters.open_artifact import open_artifact
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
from sparkproof.core.prediction import How, Outcome, Prediction
from sparkproof.release import read_surface
from sparkproof.selection import (
    Choices,
    GateAnswer,
    gates_needed,
    predict,
    predict_attention,
    settle_gates,
)

pytestmark = pytest.mark.artifact

GB10 = ComputeCapability(12, 1)
HOPPER = ComputeCapability(9, 0)
MODEL = CheckpointProfile(
    name="model",
    architectures=("Qwen3MoeForCausalLM",),
    model_type="qwen3_moe",
    quant_method="compressed-tensors",
    formats=(),
    hidden_act="silu",
    head_dim=128,
    num_experts=16,
)
RealWheel = Callable[..., Path]
W4A4, W4A16 = QuantScheme.NVFP4_W4A4, QuantScheme.NVFP4_W4A16
RELEASES = ("0.20.0", "0.22.0", "0.25.1", "0.28.0", "0.33.0")


@cache
def surface_of(path: Path) -> ReleaseSurface:
    _, artifact = open_artifact(str(path), offline=True)
    try:
        return read_surface(artifact)
    finally:
        artifact.close()


def surface(real_wheel: RealWheel, version: str) -> ReleaseSurface:
    return surface_of(real_wheel(f"vllm=={version}"))


def told(found: ReleaseSurface, box: Box, **operators: bool) -> dict[str, GateAnswer]:
    """Metadata and box, with every compiled operator saying yes unless told otherwise."""
    answers = settle_gates(found, box)
    for name in gates_needed(found):
        if name.startswith("op:"):
            answer = operators.get(name.removeprefix("op:"), True)
            answers[name] = GateAnswer(Tri.of(answer), "as told")
    return answers


def candidates(prediction: Prediction) -> list[str]:
    return [step.backend for step in prediction.steps if step.outcome is not Outcome.BYPASSED]


# --- the H200's boot logs -----------------------------------------------------------------


def on_hopper(
    found: ReleaseSurface,
    layer: LayerFormat,
    choices: Choices | None = None,
    quant_method: str = "compressed-tensors",
) -> Prediction:
    answers = told(found, Box(nvcc=True, ninja=True), cutlass_scaled_mm_supports_fp4=False)
    missing = GateAnswer(Tri.NO, "not installed on that box")
    for name in answers:
        if "flashinfer" in name or "deep_gemm" in name:
            answers[name] = missing
    profile = msgspec.structs.replace(MODEL, quant_method=quant_method)
    if layer.layer_class is LayerClass.OTHER:
        return predict_attention(found, HOPPER, profile=profile, gates=answers)
    return predict(
        found, HOPPER, layer, profile=profile, choices=choices or Choices(), gates=answers
    )


NVFP4_LIST = [
    "FLASHINFER_TRTLLM",
    "FLASHINFER_CUTEDSL",
    "FLASHINFER_CUTEDSL_BATCHED",
    "FLASHINFER_CUTLASS",
    "VLLM_CUTLASS",
    "MARLIN",
    "HUMMING",
    "EMULATION",
]
FP8_LIST = [
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
PLAIN_LIST = ["TRITON", "BATCHED_TRITON", "FLASHINFER_TRTLLM", "FLASHINFER_CUTLASS"]
FP8_DYNAMIC = LayerFormat(
    LayerClass.EXPERTS, QuantScheme.FP8_CHANNEL, activations=Activations.FP8_DYNAMIC_TOKEN
)


@pytest.mark.parametrize(
    ("layer", "method", "selected", "listed"),
    [
        (LayerFormat(LayerClass.EXPERTS, W4A16), "compressed-tensors", "MARLIN", NVFP4_LIST),
        (LayerFormat(LayerClass.EXPERTS, W4A4), "modelopt", "MARLIN", NVFP4_LIST),
        (FP8_DYNAMIC, "compressed-tensors", "VLLM_CUTLASS", FP8_LIST),
        (LayerFormat(LayerClass.EXPERTS, QuantScheme.UNQUANTIZED), "", "TRITON", PLAIN_LIST),
    ],
    ids=["moe-nvfp4a16", "moe-modelopt", "moe-fp8", "moe-bf16"],
)
def test_experts_as_the_h200_logged_them(
    real_wheel: RealWheel, layer: LayerFormat, method: str, selected: str, listed: list[str]
) -> None:
    prediction = on_hopper(surface(real_wheel, "0.26.0"), layer, quant_method=method)
    assert prediction.selected == selected
    assert candidates(prediction) == listed


@pytest.mark.parametrize(
    ("scheme", "method", "selected"),
    [
        (W4A16, "compressed-tensors", "MarlinNvFp4LinearKernel"),
        (W4A4, "compressed-tensors", "MarlinNvFp4LinearKernel"),
        (W4A4, "modelopt", "MarlinNvFp4LinearKernel"),
        (QuantScheme.FP8_CHANNEL, "compressed-tensors", "CutlassFP8ScaledMMLinearKernel"),
    ],
)
def test_dense_as_the_h200_logged_it(
    real_wheel: RealWheel, scheme: QuantScheme, method: str, selected: str
) -> None:
    layer = LayerFormat(LayerClass.MLP, scheme, activations=Activations.FP8_DYNAMIC_TOKEN)
    prediction = on_hopper(surface(real_wheel, "0.26.0"), layer, quant_method=method)
    assert prediction.selected == selected


def test_attention_as_the_h200_logged_it(real_wheel: RealWheel) -> None:
    layer = LayerFormat(LayerClass.OTHER, QuantScheme.UNQUANTIZED)
    assert on_hopper(surface(real_wheel, "0.26.0"), layer).selected == "FLASH_ATTN"


def test_what_the_h200_raised(real_wheel: RealWheel) -> None:
    found = surface(real_wheel, "0.26.0")
    experts = on_hopper(
        found, LayerFormat(LayerClass.EXPERTS, W4A4), Choices(moe_backend="flashinfer_b12x")
    )
    assert experts.error.startswith(
        "ValueError: NvFp4 MoE backend 'FLASHINFER_B12X' does not support the deployment "
        "configuration since kernel does not support current device"
    )
    dense = on_hopper(
        found, LayerFormat(LayerClass.MLP, W4A4), Choices(linear_backend="flashinfer_b12x")
    )
    assert dense.error == (
        "ValueError: --linear-backend=flashinfer_b12x was requested but no 'flashinfer_b12x' "
        "kernel exists for NVFP4 layers."
    )
    forced = on_hopper(found, LayerFormat(LayerClass.EXPERTS, W4A4), Choices(moe_backend="marlin"))
    assert (forced.selected, forced.how) == ("MARLIN", How.FLAG)


# --- GB10 ---------------------------------------------------------------------------------


def on_gb10(
    found: ReleaseSurface,
    layer_class: LayerClass,
    scheme: QuantScheme,
    *,
    box: Box | None = None,
    choices: Choices | None = None,
    operator: bool = True,
) -> Prediction:
    return predict(
        found,
        GB10,
        LayerFormat(layer_class, scheme),
        profile=MODEL,
        choices=choices or Choices(),
        gates=told(
            found,
            box or Box(nvcc=True, ninja=True),
            cutlass_scaled_mm_supports_fp4=operator,
        ),
    )


def test_flashinfer_counts_by_its_tools_where_no_cubins_are_pinned(real_wheel: RealWheel) -> None:
    found = surface(real_wheel, "0.33.0")
    with_tools = Box(nvcc=True, ninja=True)
    without = Box(nvcc=True, ninja=False)
    assert on_gb10(found, LayerClass.EXPERTS, W4A4, box=with_tools).selected == "FLASHINFER_CUTLASS"
    assert on_gb10(found, LayerClass.EXPERTS, W4A4, box=without).selected == "VLLM_CUTLASS"
    dense = on_gb10(found, LayerClass.MLP, W4A4, box=without)
    assert dense.selected == "CutlassNvFp4LinearKernel"
    unstated = on_gb10(found, LayerClass.MLP, W4A4, box=Box())
    assert unstated.selected == ""
    assert {gate for step in unstated.steps for gate in step.gates} == {"tool:nvcc", "tool:ninja"}
    pinned = surface(real_wheel, "0.25.1")
    assert on_gb10(pinned, LayerClass.MLP, W4A4, box=without).selected.startswith(
        "FlashInferCutlass"
    )


@pytest.mark.parametrize("version", ["0.19.1", *RELEASES])
def test_weight_only_goes_to_marlin_in_every_release(real_wheel: RealWheel, version: str) -> None:
    found = surface(real_wheel, version)
    assert on_gb10(found, LayerClass.EXPERTS, W4A16).selected == "MARLIN"
    dense = on_gb10(found, LayerClass.MLP, W4A16)
    assert (dense.implementation, dense.how) == ("MarlinNvFp4LinearKernel", How.SCHEME)


@pytest.mark.parametrize(
    ("version", "dense"),
    [
        ("0.25.1", "MarlinNvFp4LinearKernel"),
        ("0.28.0", "FlashInferB12xNvFp4LinearKernel"),
        ("0.33.0", "FlashInferB12xNvFp4LinearKernel"),
    ],
)
def test_dense_where_the_operator_says_no(real_wheel: RealWheel, version: str, dense: str) -> None:
    found = surface(real_wheel, version)
    assert on_gb10(found, LayerClass.MLP, W4A4, operator=False).selected == dense


@pytest.mark.parametrize(
    ("version", "selected", "error"),
    [
        ("0.20.0", "", "this release has no --linear-backend"),
        ("0.22.0", "", "invalid choice: 'flashinfer_b12x'"),
        ("0.25.1", "", "ValueError: --linear-backend=flashinfer_b12x was requested but no"),
        ("0.28.0", "FlashInferB12xNvFp4LinearKernel", ""),
        ("0.33.0", "FlashInferB12xNvFp4LinearKernel", ""),
    ],
)
def test_the_dense_b12x_flag_through_the_releases(
    real_wheel: RealWheel, version: str, selected: str, error: str
) -> None:
    choices = Choices(linear_backend="flashinfer_b12x")
    prediction = on_gb10(surface(real_wheel, version), LayerClass.MLP, W4A4, choices=choices)
    assert prediction.selected == selected
    assert error in prediction.error
    assert bool(error) is bool(prediction.error)


def test_a_flag_without_a_kernel_for_the_layer_falls_back_where_the_release_does(
    real_wheel: RealWheel,
) -> None:
    choices = Choices(linear_backend="flashinfer_b12x")
    prediction = on_gb10(
        surface(real_wheel, "0.33.0"), LayerClass.MLP, QuantScheme.FP8_CHANNEL, choices=choices
    )
    assert prediction.selected == "CutlassFP8ScaledMMLinearKernel"
    assert prediction.how is How.AUTO
    assert "no kernel for this layer type" in prediction.reason


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(("cache", "backend"), [("auto", "FLASH_ATTN"), ("fp8", "FLASHINFER")])
def test_attention_on_gb10(real_wheel: RealWheel, version: str, cache: str, backend: str) -> None:
    found = surface(real_wheel, version)
    prediction = predict_attention(
        found,
        GB10,
        profile=MODEL,
        choices=Choices(kv_cache_dtype=cache),
        gates=told(found, Box(nvcc=True, ninja=True)),
    )
    assert prediction.selected == backend


# --- the surface --------------------------------------------------------------------------

LISTED = {
    ("0.20.0", "moe/nvfp4"): [name for name in NVFP4_LIST if name != "HUMMING"],
    ("0.22.0", "moe/nvfp4"): [name for name in NVFP4_LIST if name != "HUMMING"],
    ("0.25.1", "moe/nvfp4"): NVFP4_LIST,
    ("0.33.0", "moe/nvfp4"): NVFP4_LIST,
    ("0.25.1", "moe/fp8"): FP8_LIST,
    ("0.33.0", "moe/fp8"): [*FP8_LIST[:12], "CPU_W8A8", "CPU", "HPC"],
    ("0.20.0", "dense/fp8"): [
        "MarlinFP8ScaledMMLinearKernel",
        "FlashInferFP8ScaledMMLinearKernel",
        "CutlassFP8ScaledMMLinearKernel",
        "PerTensorTorchFP8ScaledMMLinearKernel",
        "ChannelWiseTorchFP8ScaledMMLinearKernel",
    ],
}


@pytest.mark.parametrize(("version", "oracle"), LISTED)
def test_orders_as_they_stand_in_the_source(
    real_wheel: RealWheel, version: str, oracle: str
) -> None:
    found = surface(real_wheel, version).oracle(oracle)
    assert found is not None
    assert list(found.listed) == LISTED[version, oracle]


@pytest.mark.parametrize("version", RELEASES)
def test_nothing_that_selects_nvfp4_or_fp8_is_left_unread(
    real_wheel: RealWheel, version: str
) -> None:
    found = surface(real_wheel, version)
    for name in ("moe/nvfp4", "moe/fp8", "moe/unquantized", "dense/nvfp4", "dense/fp8"):
        oracle = found.oracle(name)
        assert oracle is not None, name
        assert oracle.branches, name
        assert not oracle.unknowns, name
    assert not [item for item in found.unknowns if item.topic.startswith("select/class")]


def test_a_release_before_the_oracles_gives_unknowns(real_wheel: RealWheel) -> None:
    found = surface(real_wheel, "0.11.0")
    assert found.oracles == ()
    topics = {item.topic for item in found.unknowns}
    assert {"select/moe/nvfp4", "select/dense/nvfp4", "select/attention/backend"} <= topics
    prediction = on_gb10(found, LayerClass.EXPERTS, W4A4)
    assert prediction.selected == ""
    assert "can't be predicted" in prediction.reason
