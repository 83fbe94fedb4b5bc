"""Backends, fallbacks, operators and the sampler: the data hangs together."""

from __future__ import annotations

import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.checkpoint_profile import QuantScheme
from sparkproof.core.observations.state_layout import (
    LayerState,
    RecurrentShape,
    StateKind,
    StateLayout,
)
from sparkproof.facts.backend import BackendNeeds, Means, Need, Speed, backends
from sparkproof.facts.book import load_folder
from sparkproof.facts.fallback import fallbacks
from sparkproof.facts.gate_operators import gate_operators
from sparkproof.facts.kernel_family import kernel_families
from sparkproof.facts.releases import holds
from sparkproof.facts.sampler import sampler

GB10 = ComputeCapability(12, 1)
H200 = ComputeCapability(9, 0)
FAMILIES = {family.id for family in kernel_families()}
SCHEMES = {scheme.value for scheme in QuantScheme}


ALL = load_folder("backends", BackendNeeds)


@pytest.mark.parametrize("backend", ALL, ids=lambda backend: backend.id)
def test_a_backend_names_what_exists(backend: BackendNeeds) -> None:
    assert backend.needs
    for need in backend.needs:
        assert bool(need.family) is (need.means is Means.FAMILY)
        assert bool(need.provider) is not bool(need.family)
        assert need.family in FAMILIES | {""}
        assert set(need.schemes) <= SCHEMES
        assert not (need.majors and need.except_majors)
        assert need.what
        assert set(need.kinds) <= {kind.value for kind in StateKind}
        assert need.kinds or not need.state_dims
    assert set(backend.speeds) <= SCHEMES


def test_no_two_backends_share_a_name() -> None:
    names = [name for backend in ALL for name in (backend.id, *backend.aliases)]
    assert len(names) == len(set(names)) == len(backends())


def test_speed_follows_the_scheme() -> None:
    experts = backends()["FlashInferExperts"]
    assert experts.speed_for("nvfp4-w4a4") is Speed.NATIVE_FP4
    assert experts.speed_for("fp8-tensor") is Speed.NATIVE_FP8


@pytest.mark.parametrize(
    ("need", "applies"),
    [
        (Need(Means.PACKAGE, "x"), True),
        (Need(Means.PACKAGE, "x", schemes=("fp8-block",)), False),
        (Need(Means.PACKAGE, "x", majors=(9, 10)), False),
        (Need(Means.PACKAGE, "x", except_majors=(9, 10)), True),
        (Need(Means.PACKAGE, "x", releases=">=0.30"), True),
        (Need(Means.PACKAGE, "x", releases="<0.30"), False),
    ],
)
def test_when_a_need_applies(need: Need, applies: bool) -> None:
    assert need.applies("nvfp4-w4a4", GB10, "0.33.0") is applies


def state(kind: StateKind, keys: int = 128) -> StateLayout:
    shape = RecurrentShape(heads=32, head_dim=128, state=keys, groups=16, conv_kernel=4, inner=4096)
    return StateLayout("x", "X", "x", (LayerState(kind, 1, recurrent=shape),))


@pytest.mark.parametrize(
    ("layers", "prefill"),
    [
        (state(StateKind.GDN), True),
        (state(StateKind.GDN, keys=64), False),
        (state(StateKind.MAMBA2), False),
        (state(StateKind.KDA), False),
        (None, True),
    ],
)
def test_the_kind_of_state_decides_about_its_prefill(
    layers: StateLayout | None, prefill: bool
) -> None:
    needs = backends()["model/linear-attention"].needs
    found = [n.what for n in needs if n.applies("", GB10, "0.33.0", layers)]
    assert "recurrent kernels" in found
    assert ("Gated DeltaNet prefill (FlashInfer)" in found) is prefill


@pytest.mark.parametrize(
    ("releases", "release", "held"),
    [
        ("", "0.33.0", True),
        (">=0.22,<0.34", "0.33.1.dev5+g1234", True),
        (">=0.22,<0.34", "0.34.0", False),
        (">=0.22,<0.34", "", True),
        (">=0.22,<0.34", "a checkout", True),
    ],
)
def test_which_releases_a_fact_holds_for(releases: str, release: str, held: bool) -> None:
    assert holds(releases, release) is held


@pytest.mark.parametrize(
    ("release", "device", "operator", "in_range", "family"),
    [
        ("0.19.1", GB10, "cutlass_scaled_mm_supports_fp4", True, ""),
        ("0.33.0", GB10, "cutlass_scaled_mm_supports_fp4", True, "nvfp4-dense"),
        ("0.33.0", H200, "cutlass_scaled_mm_supports_fp4", False, "nvfp4-dense"),
        ("0.23.0", GB10, "cutlass_group_gemm_supported", True, ""),
        ("0.24.0", GB10, "cutlass_group_gemm_supported", False, "fp8-moe"),
        ("0.24.0", H200, "cutlass_group_gemm_supported", True, "fp8-moe"),
        ("0.40.0", GB10, "cutlass_group_gemm_supported", False, "fp8-moe"),
    ],
)
def test_operators_answer_as_their_release_compiles_them(
    release: str, device: ComputeCapability, operator: str, in_range: bool, family: str
) -> None:
    (found,) = [item for item in gate_operators().of(release) if item.name == operator]
    assert (found.in_range(device), found.family) == (in_range, family)


def test_operators_name_families_that_exist() -> None:
    assert {item.family for item in gate_operators().operators} <= FAMILIES | {""}
    for item in gate_operators().operators:
        assert item.min_capability in item.range
        assert item.below in item.range


@pytest.mark.parametrize(
    ("release", "env", "used"),
    [
        ("0.20.0", {}, False),
        ("0.22.0", {}, True),
        ("0.33.0", {"VLLM_USE_FLASHINFER_SAMPLER": "0"}, False),
        ("0.20.0", {"VLLM_USE_FLASHINFER_SAMPLER": "1"}, True),
    ],
)
def test_which_releases_sample_with_flashinfer(
    release: str, env: dict[str, str], used: bool
) -> None:
    assert sampler().used(release, env) is used


def test_a_fallback_is_something_to_type() -> None:
    told = [item.change for item in fallbacks()]
    assert "--moe-backend marlin --linear-backend marlin" in told
    assert "VLLM_NVFP4_GEMM_BACKEND=marlin --moe-backend marlin" in told
    assert all(item.flags or item.variables for item in fallbacks())
