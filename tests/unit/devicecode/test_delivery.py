"""One need, one answer."""

from __future__ import annotations

import pytest

from sparkproof.core.delivery import FamilyRoute, Route, RouteCount
from sparkproof.core.deployment import Box
from sparkproof.core.verdict import Verdict
from sparkproof.devicecode.delivery import judge_need
from sparkproof.facts.backend import Means, Need

BOX = Box(nvcc=True, ninja=True)
FAMILY = Need(means=Means.FAMILY, what="matrix multiply", family="nvfp4-dense")
COMPILED = Need(means=Means.NVCC, what="matrix multiply", provider="flashinfer-python")


def route(kind: Route, arch: str, kernels: int = 4, *more: RouteCount) -> FamilyRoute:
    counts = (RouteCount(kind, arch, kernels, kernels), *more)
    return FamilyRoute("nvfp4-dense", "title", "role", kind, counts)


@pytest.mark.parametrize(
    ("kind", "arch", "verdict", "warning"),
    [
        (Route.NATIVE, "sm_121a", Verdict.PASS, False),
        (Route.FAMILY, "sm_120f", Verdict.PASS, False),
        (Route.SAME_MAJOR, "sm_120", Verdict.PASS, False),
        (Route.PTX_JIT, "compute_80", Verdict.PASS, True),
        (Route.NONE, "", Verdict.FAIL, False),
        (Route.DEAD_CODE, "sm_120", Verdict.FAIL, False),
    ],
)
def test_a_family_passes_where_its_route_works(
    kind: Route, arch: str, verdict: Verdict, warning: bool
) -> None:
    found = judge_need(FAMILY, {"nvfp4-dense": route(kind, arch)}, BOX, complete=True)
    assert (found.verdict, found.warning, found.route) == (verdict, warning, kind.value)
    assert found.kernels == (4 if verdict is Verdict.PASS else 0)
    assert found.archs == ((arch,) if arch else ())


def test_ptx_behind_a_better_route_still_warns() -> None:
    mixed = route(Route.PTX_JIT, "sm_120f", 3, RouteCount(Route.PTX_JIT, "compute_80", 1, 1))
    found = judge_need(FAMILY, {"nvfp4-dense": mixed}, BOX, complete=True)
    assert (found.archs, found.kernels, found.warning) == (("sm_120f", "compute_80"), 4, True)


@pytest.mark.parametrize(
    ("complete", "verdict"), [(True, Verdict.FAIL), (False, Verdict.INCONCLUSIVE)]
)
def test_what_was_not_found_is_missing_only_if_all_was_read(
    complete: bool, verdict: Verdict
) -> None:
    found = judge_need(FAMILY, {}, BOX, complete=complete)
    assert found.verdict is verdict
    assert ("not everything could be read" in found.reason) is not complete


@pytest.mark.parametrize(
    ("box", "verdict", "told"),
    [
        (BOX, Verdict.PASS, "with nvcc and ninja"),
        (Box(nvcc=False, ninja=True), Verdict.FAIL, "the box has no nvcc"),
        (Box(nvcc=False, ninja=False), Verdict.FAIL, "no nvcc and no ninja"),
        (
            Box(nvcc=False, ninja=False, packages={"flashinfer-jit-cache": "0.7"}),
            Verdict.INCONCLUSIVE,
            "may be prebuilt in flashinfer-jit-cache",
        ),
    ],
)
def test_what_is_compiled_on_the_box_needs_its_tools(box: Box, verdict: Verdict, told: str) -> None:
    found = judge_need(COMPILED, {}, box, complete=True)
    assert found.verdict is verdict
    assert found.warning is (verdict is Verdict.PASS)
    assert told in found.reason


def test_a_library_may_ask_for_fewer_tools() -> None:
    need = Need(means=Means.NVCC, what="x", provider="deep_gemm", tools=("nvcc",))
    box = Box(nvcc=True, ninja=False)
    assert judge_need(need, {}, box, complete=True).verdict is Verdict.PASS


def test_compilers_that_come_along_and_other_packages() -> None:
    bundled = Need(means=Means.BUNDLED_COMPILER, what="x", provider="triton")
    package = Need(means=Means.PACKAGE, what="x", provider="torch")
    empty = Box(nvcc=False, ninja=False)
    assert judge_need(bundled, {}, empty, complete=True).verdict is Verdict.PASS
    assert judge_need(package, {}, empty, complete=True).verdict is Verdict.SKIPPED
