"""Walks over a small vLLM: taken, refused, undecided, bypassed, and what the release raises."""

from __future__ import annotations

import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import Tri
from sparkproof.core.deployment import Box
from sparkproof.core.finding import Confidence
from sparkproof.core.observations.checkpoint_profile import (
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
    oracle_of,
    predict,
    predict_attention,
    settle_gates,
)
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_source import source_tree

GB10 = ComputeCapability(12, 1)
HOPPER = ComputeCapability(9, 0)
PROFILE = CheckpointProfile(
    name="model",
    architectures=("ModelForCausalLM",),
    model_type="model",
    quant_method="compressed-tensors",
    formats=(),
    hidden_act="silu",
    head_dim=128,
)
TOOLS = Box(nvcc=True, ninja=True)
NO_TOOLS = Box(nvcc=False, ninja=False)


@pytest.fixture(scope="module")
def surface() -> ReleaseSurface:
    wanted = ("moe/nvfp4", "dense/nvfp4", "attention/backend")
    return read_surface(MemoryArtifact(source_tree()), oracles=wanted)


def gates(surface: ReleaseSurface, box: Box, operator: Tri = Tri.YES) -> dict[str, GateAnswer]:
    return {**settle_gates(surface, box), "op:supports_fp4": GateAnswer(operator, "as told")}


def pick(
    surface: ReleaseSurface,
    layer_class: LayerClass,
    scheme: QuantScheme = QuantScheme.NVFP4_W4A4,
    *,
    box: Box = TOOLS,
    capability: ComputeCapability = GB10,
    choices: Choices | None = None,
    operator: Tri = Tri.YES,
) -> Prediction:
    return predict(
        surface,
        capability,
        LayerFormat(layer_class, scheme),
        profile=PROFILE,
        choices=choices or Choices(),
        gates=gates(surface, box, operator),
    )


def outcomes(prediction: Prediction) -> dict[str, Outcome]:
    return {step.backend: step.outcome for step in prediction.steps}


def test_the_first_that_accepts_is_taken_and_the_rest_is_not_reached(
    surface: ReleaseSurface,
) -> None:
    prediction = pick(surface, LayerClass.EXPERTS)
    assert (prediction.selected, prediction.implementation) == ("ROCKET", "RocketExperts")
    assert prediction.how is How.AUTO
    assert outcomes(prediction) == {
        "ROCKET": Outcome.TAKEN,
        "SLED": Outcome.NOT_REACHED,
        "LADDER": Outcome.NOT_REACHED,
        "CRAWL": Outcome.NOT_REACHED,
    }
    assert prediction.confidence is Confidence.INFERRED, "symbols are taken from the pin"


def test_a_refusal_says_the_releases_words_and_what_they_rest_on(surface: ReleaseSurface) -> None:
    prediction = pick(surface, LayerClass.EXPERTS, box=NO_TOOLS)
    assert (prediction.selected, prediction.implementation) == ("SLED", "SledSmall")
    rocket = prediction.steps[0]
    assert rocket.outcome is Outcome.REFUSED
    assert "kernel does not support this device" in rocket.reason
    assert "the box does not have nvcc" in rocket.reason
    assert rocket.evidence[0].where.endswith("modular_kernel.py")
    assert rocket.evidence[0].line > 0


def test_an_unstated_tool_leaves_the_pick_open_and_named(surface: ReleaseSurface) -> None:
    prediction = pick(surface, LayerClass.EXPERTS, box=Box())
    assert prediction.selected == ""
    assert prediction.how is How.NONE
    assert prediction.steps[0].gates == ("tool:nvcc", "tool:ninja")
    assert outcomes(prediction)["SLED"] is Outcome.UNDECIDED
    assert "tool:nvcc" in prediction.reason


def test_the_order_of_another_device(surface: ReleaseSurface) -> None:
    prediction = pick(surface, LayerClass.EXPERTS, capability=HOPPER)
    assert prediction.steps[0].backend == "LADDER"
    assert prediction.selected == "LADDER"


def test_the_operator_decides_dense(surface: ReleaseSurface) -> None:
    assert pick(surface, LayerClass.MLP).selected == "RocketNvFp4LinearKernel"
    refused = pick(surface, LayerClass.MLP, operator=Tri.NO)
    assert refused.selected == "LadderNvFp4LinearKernel"
    assert "the operator says no" in refused.steps[1].reason
    unknown = pick(surface, LayerClass.MLP, operator=Tri.UNKNOWN)
    assert "op:supports_fp4" in unknown.steps[0].gates


def test_weight_only_is_forced_and_the_rest_bypassed(surface: ReleaseSurface) -> None:
    prediction = pick(surface, LayerClass.MLP, QuantScheme.NVFP4_W4A16)
    assert prediction.selected == "LadderNvFp4LinearKernel"
    assert prediction.how is How.SCHEME
    assert outcomes(prediction) == {
        "LadderNvFp4LinearKernel": Outcome.TAKEN,
        "RocketNvFp4LinearKernel": Outcome.BYPASSED,
        "SledNvFp4LinearKernel": Outcome.BYPASSED,
    }
    experts = pick(surface, LayerClass.EXPERTS, QuantScheme.NVFP4_W4A16)
    assert experts.selected == "LADDER"
    assert "kNvfp4Static with None" in experts.steps[0].reason


def test_a_flag_forces_its_own_half_only(surface: ReleaseSurface) -> None:
    choices = Choices(moe_backend="Ladder")
    experts = pick(surface, LayerClass.EXPERTS, choices=choices)
    assert (experts.selected, experts.how) == ("LADDER", How.FLAG)
    assert outcomes(experts)["ROCKET"] is Outcome.BYPASSED
    assert pick(surface, LayerClass.MLP, choices=choices).selected == "RocketNvFp4LinearKernel"


def test_a_flag_reaches_what_automatic_leaves_out(surface: ReleaseSurface) -> None:
    hidden = pick(surface, LayerClass.EXPERTS, choices=Choices(moe_backend="hidden"))
    assert (hidden.selected, hidden.implementation) == ("HIDDEN", "CrawlExperts")


@pytest.mark.parametrize(
    ("choices", "layer_class", "error"),
    [
        (Choices(moe_backend="warp"), LayerClass.EXPERTS, "invalid choice: 'warp' (choose from"),
        (Choices(moe_backend="crawl"), LayerClass.EXPERTS, "moe_backend='crawl' is none of"),
        (Choices(linear_backend="float"), LayerClass.MLP, "ValueError: --linear-backend=float has"),
    ],
)
def test_what_the_release_says_to_a_flag_that_can_not_be(
    surface: ReleaseSurface, choices: Choices, layer_class: LayerClass, error: str
) -> None:
    prediction = pick(surface, layer_class, choices=choices)
    assert prediction.selected == ""
    assert prediction.how is How.NONE
    assert error in prediction.error


def test_a_named_backend_that_refuses_is_an_error_with_its_reason(surface: ReleaseSurface) -> None:
    prediction = pick(
        surface, LayerClass.EXPERTS, box=NO_TOOLS, choices=Choices(moe_backend="rocket")
    )
    assert prediction.error.startswith("ValueError: backend ROCKET is out since kernel does not")
    assert outcomes(prediction)["ROCKET"] is Outcome.REFUSED
    assert outcomes(prediction)["LADDER"] is Outcome.BYPASSED


def test_environment_variables_steer(surface: ReleaseSurface) -> None:
    forced = pick(surface, LayerClass.MLP, choices=Choices(env={"VLLM_BATCH_INVARIANT": "1"}))
    assert (forced.selected, forced.how) == ("SledNvFp4LinearKernel", How.FLAG)
    assert "VLLM_BATCH_INVARIANT" in forced.reason
    disabled = pick(
        surface,
        LayerClass.MLP,
        choices=Choices(env={"VLLM_DISABLED_KERNELS": "RocketNvFp4LinearKernel"}),
    )
    assert disabled.selected == "SledNvFp4LinearKernel"
    assert "VLLM_DISABLED_KERNELS" in disabled.steps[0].reason
    late = pick(surface, LayerClass.EXPERTS, choices=Choices(env={"VLLM_LATE_ROCKET": "1"}))
    assert late.selected == "SLED"


def test_nothing_left_raises_what_the_source_raises(surface: ReleaseSurface) -> None:
    names = "RocketNvFp4LinearKernel,SledNvFp4LinearKernel,LadderNvFp4LinearKernel"
    prediction = pick(
        surface, LayerClass.MLP, choices=Choices(env={"VLLM_DISABLED_KERNELS": names})
    )
    assert prediction.error.startswith("ValueError: no kernel: ")
    assert set(outcomes(prediction).values()) == {Outcome.REFUSED}


@pytest.mark.parametrize(
    ("kv_cache_dtype", "selected"), [("auto", "EAGER"), ("fp8", "LAZY"), ("int9", "")]
)
def test_attention_follows_the_cache_format(
    surface: ReleaseSurface, kv_cache_dtype: str, selected: str
) -> None:
    prediction = predict_attention(
        surface,
        GB10,
        profile=PROFILE,
        choices=Choices(kv_cache_dtype=kv_cache_dtype),
        gates=gates(surface, TOOLS),
    )
    assert prediction.selected == selected
    assert prediction.scheme == f"kv-cache {kv_cache_dtype}"
    if not selected:
        assert prediction.error == "ValueError: No valid attention backend found."


def test_a_named_attention_backend(surface: ReleaseSurface) -> None:
    choices = Choices(attention_backend="eager", kv_cache_dtype="fp8")
    prediction = predict_attention(
        surface, GB10, profile=PROFILE, choices=choices, gates=gates(surface, TOOLS)
    )
    assert prediction.error.startswith("ValueError: Selected backend")
    choices = Choices(attention_backend="lazy")
    prediction = predict_attention(
        surface, GB10, profile=PROFILE, choices=choices, gates=gates(surface, TOOLS)
    )
    assert (prediction.selected, prediction.how) == ("LAZY", How.FLAG)


def test_unquantized_linear_layers_ask_no_oracle(surface: ReleaseSurface) -> None:
    prediction = pick(surface, LayerClass.LM_HEAD, QuantScheme.UNQUANTIZED)
    assert (prediction.selected, prediction.oracle) == ("torch", "")
    assert oracle_of(LayerFormat(LayerClass.LM_HEAD, QuantScheme.UNQUANTIZED)) == ""


@pytest.mark.parametrize("scheme", [QuantScheme.FP8_BLOCK, QuantScheme.UNKNOWN])
def test_what_was_not_read_is_not_guessed(surface: ReleaseSurface, scheme: QuantScheme) -> None:
    prediction = pick(surface, LayerClass.MLP, scheme)
    assert prediction.selected == ""
    assert prediction.error == ""
    assert prediction.reason.startswith("can't be predicted")


def test_metadata_and_the_box_settle_what_they_can(surface: ReleaseSurface) -> None:
    answers = settle_gates(surface, NO_TOOLS)
    assert answers["package:flashinfer"].answer is Tri.YES
    assert answers["package:flashinfer"].confidence is Confidence.INFERRED
    assert answers["package:flashinfer"].evidence[0].line > 0
    assert answers["package:flashinfer_cubin"].answer is Tri.NO
    assert answers["tool:nvcc"].answer is Tri.NO
    assert "op:supports_fp4" not in answers
    assert "op:supports_fp4" in gates_needed(surface, ("dense/nvfp4",))
    assert "tool:nvcc" not in settle_gates(surface, Box())
    stated = settle_gates(surface, Box(packages={"flashinfer-cubin": "9.1"}))
    assert stated["package:flashinfer_cubin"].answer is Tri.YES
