"""What the facts say of backends, held against the source of real releases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from sparkproof.adapters.zip_artifact import open_wheel
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import Tri
from sparkproof.core.deployment import Box
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.prediction import Prediction
from sparkproof.facts.backend import backends
from sparkproof.facts.gate_operators import gate_operators
from sparkproof.release.surface import read_surface
from sparkproof.selection import oracle_of, predict, predict_attention
from sparkproof.selection.gates import settle_gates
from sparkproof.selection.request import Choices, GateAnswer

pytestmark = pytest.mark.artifact

GB10 = ComputeCapability(12, 1)
RELEASES = ("0.19.1", "0.20.0", "0.22.0", "0.25.1", "0.28.0", "0.33.0")
RealWheel = Callable[..., Path]
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_WHERE = re.compile(r"vllm/(model_executor/(layers|kernels)|v1/attention)/.*\.py\Z")
_EXTRAS = {"b12x": "1", "deep-gemm": "1", "humming-kernels": "1", "flashinfer-cubin": "1"}
_OTHER_PLATFORMS = ("CPU", "Rocm")
"""Accepted by name on any platform; nobody asks for them on CUDA."""
BOXES = (
    Box(nvcc=True, ninja=True),
    Box(nvcc=False, ninja=False),
    Box(nvcc=True, ninja=True, packages=_EXTRAS),
)


@cache
def surface(path: Path) -> ReleaseSurface:
    artifact = open_wheel(path)
    try:
        return read_surface(artifact)
    finally:
        artifact.close()


@cache
def classes(path: Path) -> frozenset[str]:
    artifact = open_wheel(path)
    paths = [m.path for m in artifact.members() if _WHERE.match(m.path)]
    found = {name for p in paths for name in _CLASS.findall(artifact.read(p).decode())}
    artifact.close()
    return frozenset(found)


def profile(quant_method: str) -> CheckpointProfile:
    return CheckpointProfile(
        name="model",
        architectures=("Qwen3_5MoeForConditionalGeneration",),
        model_type="qwen3_5_moe",
        quant_method=quant_method,
        formats=(),
        hidden_act="silu",
        head_dim=256,
        num_experts=256,
    )


def picks(release: ReleaseSurface) -> Iterator[Prediction]:
    """Everything that any flag leads to on GB10, whatever the operators say of the device."""
    flags = {option.flag: ("auto", *option.choices) for option in release.options}
    for box in BOXES:
        gates = settle_gates(release, box)
        for operator in gate_operators().of(release.version):
            gates[f"op:{operator.name}"] = GateAnswer(Tri.of(operator.in_range(GB10)), "as told")
        for method in ("compressed-tensors", "modelopt"):
            for layer, choices in requests(flags):
                yield predict(
                    release, GB10, layer, profile=profile(method), choices=choices, gates=gates
                )
        for kv_dtype in ("auto", "fp8", "nvfp4"):
            for backend in ("", *flags.get("--attention-backend", ())[1:]):
                choices = Choices(kv_cache_dtype=kv_dtype, attention_backend=backend)
                yield predict_attention(
                    release, GB10, profile=profile(""), choices=choices, gates=gates
                )


def requests(flags: dict[str, tuple[str, ...]]) -> Iterator[tuple[LayerFormat, Choices]]:
    for scheme in QuantScheme:
        experts = LayerFormat(LayerClass.EXPERTS, scheme)
        dense = LayerFormat(LayerClass.MLP, scheme)
        if oracle_of(experts):
            for name in flags.get("--moe-backend", ("auto",)):
                yield experts, Choices(moe_backend=name)
        if oracle_of(dense):
            for name in flags.get("--linear-backend", ("auto",)):
                yield dense, Choices(linear_backend=name)


@pytest.mark.parametrize("release", RELEASES)
def test_every_pick_has_its_needs_written_down(release: str, real_wheel: RealWheel) -> None:
    found = surface(real_wheel(f"vllm=={release}"))
    selected = {
        (p.implementation or p.selected, p.scheme) for p in picks(found) if p.selected and p.oracle
    }
    ours = {(n, scheme) for n, scheme in selected if not n.startswith(_OTHER_PLATFORMS)}
    assert len(ours) > 5
    assert {name for name, _ in ours} - backends().keys() == set()
    assert {pair for pair in ours if not multiplies(*pair, release)} == set()


def multiplies(name: str, scheme: str, release: str) -> bool:
    """Whether what does the work itself is among the needs, not its helpers alone."""
    needs = [n for n in backends()[name].needs if n.applies(scheme, GB10, release)]
    return any(word in need.what for need in needs for word in ("multiply", "kernel", "attention"))


def test_every_backend_is_a_class_of_some_release(real_wheel: RealWheel) -> None:
    known = {name for name in backends() if not name.startswith("model/")}
    for release in RELEASES:
        known -= classes(real_wheel(f"vllm=={release}"))
    assert known == set()
