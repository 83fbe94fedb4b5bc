"""A proof in memory: branches, findings, summary and what would change it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec
import pytest

from sparkproof.checkpoint.effective import EffectiveFormat, effective_formats
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.finding import Finding, Severity
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.release_surface import Option, Source
from sparkproof.core.refs import RefKind
from sparkproof.core.results.proof import Branch, LayerProof
from sparkproof.core.subject import Subject
from sparkproof.core.verdict import Verdict, fold
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.routes import route_families
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.release.surface import read_surface
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.small_vllm import CUDA_12, CUDA_13, small_vllm
from sparkproof.usecases.other_platform import find_other_platform
from sparkproof.usecases.prove.alternatives import find_alternatives, prove_branches
from sparkproof.usecases.prove.branch import Look
from sparkproof.usecases.prove.findings import find_in_branches
from sparkproof.usecases.prove.summary import criteria_of, summarize
from sparkproof.usecases.prove.surroundings import (
    find_ignored_variables,
    find_sampler,
    find_unread_release,
)

GB10 = ComputeCapability(12, 1)
TOOLS = Box(nvcc=True, ninja=True)
NO_TOOLS = Box(nvcc=False, ninja=False)
W4A4, W4A16 = QuantScheme.NVFP4_W4A4, QuantScheme.NVFP4_W4A16
PLAIN = QuantScheme.UNQUANTIZED
MOE = (
    LayerFormat(LayerClass.ATTENTION, W4A4),
    LayerFormat(LayerClass.EXPERTS, W4A4),
    LayerFormat(LayerClass.LM_HEAD, PLAIN),
)


def profile(*formats: LayerFormat) -> CheckpointProfile:
    return CheckpointProfile(
        name="model",
        architectures=("SledForCausalLM",),
        model_type="model",
        quant_method="compressed-tensors",
        formats=formats or MOE,
        hidden_act="silu",
        head_dim=128,
    )


@cache
def seen(code: str = "13", version: str = "0.33.0") -> Look:
    families: Mapping[str, Mapping[str, tuple[str, ...]]] = {"13": CUDA_13, "12": CUDA_12}
    artifact = MemoryArtifact(small_vllm(families[code], version=version))
    found = read_device_code(artifact, GB10)
    surface = read_surface(artifact, oracles=("moe/nvfp4", "dense/nvfp4", "attention/backend"))
    return Look(
        capability=GB10,
        surface=surface,
        routes={route.family: route for route in route_families(found, GB10)},
        complete=not found.unknowns,
        profile=profile(),
        effective=effective_formats(profile(), surface.version),
        env={},
    )


def look(
    code: str = "13",
    *formats: LayerFormat,
    version: str = "0.33.0",
    env: dict[str, str] | None = None,
) -> Look:
    declared = profile(*formats)
    return msgspec.structs.replace(
        seen(code, version),
        profile=declared,
        effective=effective_formats(declared, version),
        env=env or {},
    )


def proven(at: Look, box: Box = TOOLS, line: str = "") -> tuple[Branch, ...]:
    return prove_branches(at, box, parse_selection_args(line.split()))


def layer(branch: Branch, subject: str) -> LayerProof:
    return next(item for item in branch.layers if item.subject == subject)


def rules(found: tuple[Finding, ...]) -> dict[str, Finding]:
    return {item.rule: item for item in found}


def judged(branches: tuple[Branch, ...], line: str = "") -> tuple[Finding, ...]:
    return find_in_branches(branches, parse_selection_args(line.split()))


def test_every_layer_class_is_selected_and_delivered() -> None:
    (branch,) = proven(look())
    assert branch.verdict is Verdict.PASS
    assert [item.subject for item in branch.layers] == [
        "attention",
        "experts",
        "lm-head",
        "attention-kernel",
        "every-model",
    ]
    assert layer(branch, "attention").backend == "FlashInfer CUTLASS NVFP4 (dense)"
    assert layer(branch, "experts").backend == "FlashInfer CUTLASS experts"
    assert layer(branch, "lm-head").verdict is Verdict.SKIPPED
    assert layer(branch, "attention-kernel").warning
    criteria = criteria_of((branch,))
    assert fold(item.verdict for item in criteria) is branch.verdict
    assert {item.name for item in criteria if item.warning} == {
        "deliver/attention",
        "deliver/experts",
        "deliver/attention-kernel",
    }


def test_without_a_compiler_the_wheels_own_kernels_are_taken() -> None:
    (branch,) = proven(look(), NO_TOOLS)
    assert branch.verdict is Verdict.PASS
    dense = layer(branch, "attention")
    assert dense.backend == "vLLM CUTLASS NVFP4 (dense)"
    assert ("nvfp4-dense", ("sm_120f",)) in [(d.name, d.archs) for d in dense.deliveries]


def test_an_unstated_box_is_judged_both_ways_and_the_worse_counts() -> None:
    both = proven(look(), Box(), "--kv-cache-dtype fp8")
    assert [branch.verdict for branch in both] == [Verdict.PASS, Verdict.FAIL]
    assert [set(branch.assumptions.values()) for branch in both] == [{"yes"}, {"no"}]
    told = summarize(both)
    assert told.startswith("without nvcc and ninja: attention-kernel: ")
    assert told.endswith(" | if nvcc and ninja are there it passes")
    found = rules(judged(both))
    assert found["deliver/no-compiler"].message.endswith("not possible without nvcc and ninja")
    assert found["deliver/compiled-at-first-use"].message.endswith("if nvcc and ninja are there")
    assert found["select/undecided"].severity is Severity.WARNING


def test_one_unstated_tool_is_named_alone() -> None:
    both = proven(look(), Box(nvcc=True))
    assert [tuple(branch.assumptions) for branch in both] == [("tool:ninja",), ("tool:ninja",)]
    assert "if ninja is there: " in summarize(both)


def test_an_unstated_box_that_does_not_matter_is_one_branch() -> None:
    (branch,) = proven(look("13", LayerFormat(LayerClass.MLP, W4A16)), Box())
    assert branch.assumptions == {}
    assert branch.verdict is Verdict.PASS


def test_weight_only_goes_to_marlin_with_a_warning() -> None:
    formats = (LayerFormat(LayerClass.MLP, W4A16), LayerFormat(LayerClass.EXPERTS, W4A16))
    (branch,) = proven(look("13", *formats))
    assert {item.backend for item in branch.layers[:2]} == {
        "Marlin NVFP4 (dense, weight-only)",
        "Marlin experts (weight-only)",
    }
    found = judged((branch,))
    assert [f.rule for f in found] == ["deliver/ptx-jit", "deliver/ptx-jit"]
    assert found[0].subject == "mlp, experts"
    assert "marlin-repack" in found[0].message


def test_a_wheel_of_the_other_toolkit_fails_and_names_the_crash() -> None:
    branches = proven(look("12"))
    assert branches[0].verdict is Verdict.FAIL
    finding = judged(branches)[0]
    assert (finding.rule, finding.severity) == ("deliver/no-kernel-image", Severity.ERROR)
    assert finding.subject == "attention, experts", "one finding for both"
    assert "no kernel image is available" in finding.message
    assert summarize(branches) == (
        "attention, experts: quantizing activations to FP4: "
        "nothing in the artifact loads on this device"
    )


def test_more_causes_than_fit_are_counted() -> None:
    told = summarize(proven(look("12"), Box(nvcc=False, ninja=False), "--kv-cache-dtype fp8"))
    assert told.endswith(" more")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--moe-backend ladder", {"attention"}),
        ("--moe-backend ladder --linear-backend ladder", set()),
        ("--linear-backend ladder", {"experts"}),
        ("--moe-backend warp", set()),
        ("", set()),
    ],
)
def test_half_forced(line: str, told: set[str]) -> None:
    branches = proven(look(), TOOLS, line)
    found = rules(judged(branches, line))
    assert ("select/half-forced" in found) is bool(told)
    if told:
        assert found["select/half-forced"].subject == ", ".join(told)


def test_what_lands_on_the_named_backend_anyway_is_not_half_forced() -> None:
    formats = (LayerFormat(LayerClass.MLP, W4A16), LayerFormat(LayerClass.EXPERTS, W4A4))
    line = "--moe-backend ladder"
    branches = proven(look("13", *formats), TOOLS, line)
    assert "select/half-forced" not in rules(judged(branches, line))


def test_a_flag_value_that_is_refused_fails_in_the_releases_words() -> None:
    branches = proven(look(), TOOLS, "--moe-backend warp")
    assert branches[0].verdict is Verdict.FAIL
    experts = layer(branches[0], "experts")
    assert experts.reason == "vLLM refuses: argument --moe-backend: invalid choice: 'warp'"
    finding = rules(judged(branches))["select/flag-not-accepted"]
    assert "choose from auto, rocket" in finding.message


def test_nothing_left_is_an_error() -> None:
    names = "FlashInferCutlassNvFp4LinearKernel,CutlassNvFp4LinearKernel,MarlinNvFp4LinearKernel"
    branches = proven(look(env={"VLLM_DISABLED_KERNELS": names}))
    assert layer(branches[0], "attention").verdict is Verdict.FAIL
    assert "select/nothing-left" in rules(judged(branches))


def test_what_is_not_known_is_inconclusive() -> None:
    formats = (LayerFormat(LayerClass.MLP, QuantScheme.UNKNOWN),)
    (branch,) = proven(look("13", *formats))
    assert branch.verdict is Verdict.INCONCLUSIVE
    assert rules(judged((branch,)))["deliver/not-examined"].subject == "mlp"
    (unread,) = proven(look("13", LayerFormat(LayerClass.MLP, QuantScheme.FP8_BLOCK)))
    assert unread.verdict is Verdict.INCONCLUSIVE
    (hidden,) = proven(look(), TOOLS, "--moe-backend hidden")
    assert "CrawlExperts needs is not known" in layer(hidden, "experts").reason
    assert hidden.verdict is Verdict.INCONCLUSIVE


def test_a_gap_in_the_device_code_is_inconclusive_on_the_route() -> None:
    at = look()
    routes = {name: route for name, route in at.routes.items() if name != "nvfp4-quantize"}
    gap = msgspec.structs.replace(at, routes=routes, complete=False)
    (branch,) = proven(gap)
    assert branch.verdict is Verdict.INCONCLUSIVE
    assert "not everything could be read" in summarize((branch,))


def test_layers_that_are_not_loaded_are_skipped() -> None:
    formats = (
        LayerFormat(LayerClass.MLP, W4A16),
        LayerFormat(LayerClass.DRAFT, W4A4),
        LayerFormat(LayerClass.VISION, PLAIN),
    )
    (branch,) = proven(look("13", *formats))
    assert layer(branch, "draft").verdict is Verdict.SKIPPED
    assert layer(branch, "vision-kernel").warning
    (drafting,) = proven(look("13", *formats), TOOLS, "--spec-method mtp --spec-tokens 3")
    assert layer(drafting, "draft").backend == "FlashInfer CUTLASS NVFP4 (dense)"
    (text,) = proven(look("13", *formats), TOOLS, "--language-model-only")
    assert layer(text, "vision").verdict is Verdict.SKIPPED
    assert "vision-kernel" not in {item.subject for item in text.layers}


def test_a_release_that_refuses_the_checkpoint_fails() -> None:
    declared = LayerFormat(LayerClass.MLP, W4A4)
    refused = (EffectiveFormat(declared, declared, refusal="does not load this"),)
    at = msgspec.structs.replace(look(), effective=refused)
    (branch,) = proven(at)
    assert layer(branch, "mlp").reason == "vLLM refuses: does not load this"
    assert branch.verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("line", "followed"),
    [("-q compressed-tensors", True), ("-q compressed_tensors", True), ("-q fp8", False)],
)
def test_a_quantization_flag_is_followed_or_said_not_to_be(line: str, followed: bool) -> None:
    (branch,) = proven(look(), TOOLS, line)
    assert ("quantization-flag" in {item.subject for item in branch.layers}) is not followed
    assert (branch.verdict is Verdict.PASS) is followed


def test_what_is_quantized_while_loading_is_not_judged_as_it_is_stored() -> None:
    experts, head = (LayerFormat(kind, PLAIN) for kind in (LayerClass.EXPERTS, LayerClass.LM_HEAD))
    at = look("13", experts, head)
    at = msgspec.structs.replace(at, profile=msgspec.structs.replace(at.profile, quant_method=""))
    option = Option("--quantization", ("fp8",), None, Source("arg_utils.py", 1))
    others = (item for item in at.surface.options if item.flag != option.flag)
    surface = msgspec.structs.replace(at.surface, options=(*others, option))
    at = msgspec.structs.replace(at, surface=surface)
    line = "--quantization fp8 --moe-backend flashinfer_trtllm"
    (branch,) = proven(at, TOOLS, line)
    found = {item.subject: item for item in branch.layers}
    assert found["experts"].verdict is Verdict.INCONCLUSIVE
    assert found["experts"].reason == found["quantization-flag"].reason
    assert "while they are loaded" in found["experts"].reason
    assert found["lm-head"].verdict is not Verdict.INCONCLUSIVE


def test_nothing_quantized_has_its_own_words() -> None:
    (branch,) = proven(look("13", LayerFormat(LayerClass.MLP, PLAIN)))
    assert summarize((branch,)) == "nothing is quantized: torch's own kernels"


def changes(at: Look, box: Box, line: str = "") -> dict[str, Verdict]:
    deployment = Deployment("c", artifact="a", args=tuple(line.split()), box=box)
    found = find_alternatives(at, deployment, parse_selection_args(deployment.args))
    return {item.change: item.verdict for item in found}


def test_other_images_are_proven_before_they_are_named() -> None:
    with_tools, without = "with nvcc and ninja in the image", "without nvcc and ninja in the image"
    no_sampler = f"{without} and with VLLM_USE_FLASHINFER_SAMPLER=0"
    assert changes(look(), TOOLS) == {no_sampler: Verdict.PASS}
    assert changes(look(), NO_TOOLS) == {with_tools: Verdict.PASS}
    assert changes(look(), TOOLS, "--kv-cache-dtype fp8") == {no_sampler: Verdict.FAIL}
    assert changes(look("12"), TOOLS) == {}, "what fails either way is no way out"
    assert changes(look(), Box()) == {}, "both ways are shown already"


def test_the_sampler_is_named_where_nothing_can_compile_it() -> None:
    (finding,) = find_sampler(NO_TOOLS, look())
    assert finding.message.endswith("and the box has no nvcc and no ninja")
    (finding,) = find_sampler(Box(), look())
    assert finding.message.endswith("and nvcc and ninja may be missing")
    (finding,) = find_sampler(Box(nvcc=False), look())
    assert finding.message.endswith("and the box has no nvcc")
    off = look(env={"VLLM_USE_FLASHINFER_SAMPLER": "0"})
    cached = Box(nvcc=False, ninja=False, packages={"flashinfer-jit-cache": "0.7"})
    assert find_sampler(TOOLS, look()) == ()
    assert find_sampler(NO_TOOLS, off) == ()
    assert find_sampler(cached, look()) == ()
    assert find_sampler(NO_TOOLS, look(version="0.20.0")) == ()


def test_variables_that_the_release_does_not_read() -> None:
    env = {"VLLM_NVFP4_GEMM_BACKEND": "marlin", "VLLM_BATCH_INVARIANT": "0", "HF_HOME": "/x"}
    (finding,) = find_ignored_variables(look(env=env))
    assert "does not read VLLM_NVFP4_GEMM_BACKEND" in finding.message


@pytest.mark.parametrize(
    ("tag", "platform", "fits"),
    [
        ("cp38-abi3-manylinux_2_28_aarch64", "aarch64", True),
        ("cp38-abi3-manylinux_2_28_x86_64", "aarch64", False),
        ("cp38-abi3-manylinux_2_28_x86_64", "x86_64", True),
        ("py3-none-any", "aarch64", True),
    ],
)
def test_the_platform_of_a_wheel(tag: str, platform: str, fits: bool) -> None:
    subject = Subject(
        kind=RefKind.WHEEL, ref="x.whl", identity="sha256:0", name="vllm", version="1", tags=(tag,)
    )
    found = find_other_platform(subject, platform)
    assert (found == ()) is fits


def test_facts_of_other_releases_are_said_to_be() -> None:
    assert find_unread_release(proven(look()), "0.33.0") == ()
    (finding,) = find_unread_release(proven(look()), "0.40.0")
    assert "this is 0.40.0" in finding.message
