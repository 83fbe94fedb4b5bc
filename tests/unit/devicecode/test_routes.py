"""From kernels in containers to routes and criteria."""

from __future__ import annotations

import pytest

from sparkproof.core.capability import Arch, ComputeCapability
from sparkproof.core.delivery import FamilyRoute, Route
from sparkproof.core.observations.device_code import (
    CodeKind,
    Container,
    DeviceCode,
    Entry,
    Kernel,
    Library,
    LibraryForm,
    LooseCode,
    Opcodes,
)
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict, fold
from sparkproof.devicecode.judge import find_problems, judge_device_code
from sparkproof.devicecode.routes import route_families
from sparkproof.facts.kernel_family import kernel_families

GB10 = ComputeCapability(12, 1)
NVFP4_DENSE, NVFP4_MOE, CORE, MARLIN = (
    next(family.examples[0] for family in kernel_families() if family.id == family_id)
    for family_id in ("nvfp4-dense", "nvfp4-moe", "core-ops", "marlin-dense-nvfp4")
)
SM100_MOE = next(f for f in kernel_families() if f.id == "nvfp4-moe").examples[1]
ALIVE, DEAD = Opcodes(mma={"OMMA": 96}, total=900), Opcodes(trap=14, total=900)


def container(arch: str, *kernels: Kernel, relocatable: bool = False) -> Container:
    kind = CodeKind.PTX if arch.startswith("compute") else CodeKind.CUBIN
    return Container(
        offset=4096,
        entries=(Entry(kind=kind, arch=Arch.parse(arch)),),
        relocatable=relocatable,
        kernels=kernels,
    )


def library(
    *containers: Container,
    path: str = "vllm/_C.abi3.so",
    form: LibraryForm = LibraryForm.LIBRARY,
) -> Library:
    return Library(path=path, size_bytes=1 << 20, form=form, containers=containers)


def routes(*libraries: Library, device: ComputeCapability = GB10) -> dict[str, FamilyRoute]:
    found = route_families(DeviceCode(libraries=libraries), device)
    return {route.family: route for route in found}


def test_counts_are_kernels_by_route_and_architecture() -> None:
    found = routes(
        library(
            container("sm_120f", Kernel(NVFP4_DENSE, 900, ALIVE)),
            container("sm_120f", Kernel(NVFP4_DENSE, 900, ALIVE)),
            container("compute_80", Kernel(MARLIN)),
        )
    )
    (count,) = found["nvfp4-dense"].counts
    assert (count.route, count.arch, count.kernels, count.names) == (Route.FAMILY, "sm_120f", 2, 1)
    assert found["nvfp4-dense"].opcodes[0].instructions == 192
    assert found["marlin-dense-nvfp4"].counts[0].arch == "compute_80"
    assert found["marlin-dense-nvfp4"].jit


def test_a_body_that_only_traps_is_dead_whatever_its_name() -> None:
    found = routes(library(container("sm_120f", Kernel(NVFP4_DENSE, 900, DEAD))))
    assert found["nvfp4-dense"].route is Route.DEAD_CODE
    assert found["nvfp4-dense"].kernels == 0


def test_dead_code_of_another_generation_spoils_nothing() -> None:
    found = routes(
        library(
            container("sm_120f", Kernel(NVFP4_MOE, 900, ALIVE), Kernel(SM100_MOE, 900, DEAD)),
        )
    )
    assert found["nvfp4-moe"].route is Route.FAMILY
    assert {count.route for count in found["nvfp4-moe"].counts} == {Route.FAMILY, Route.DEAD_CODE}


def test_dead_code_of_another_generation_alone_is_dead_code() -> None:
    found = routes(library(container("sm_120", Kernel(SM100_MOE, 900, DEAD))))
    assert found["nvfp4-moe"].route is Route.DEAD_CODE
    assert not found["nvfp4-moe"].promised


def test_kernels_for_other_generations_are_not_missed() -> None:
    found = routes(library(container("sm_100f", Kernel(SM100_MOE, 900))))
    assert found["nvfp4-moe"].elsewhere == 1
    assert not found["nvfp4-moe"].counts
    on_b200 = routes(
        library(container("sm_100f", Kernel(SM100_MOE, 900, ALIVE))),
        device=ComputeCapability(10, 0),
    )
    assert on_b200["nvfp4-moe"].route is Route.NATIVE


@pytest.mark.parametrize("form", [LibraryForm.ARCHIVE, LibraryForm.OBJECT])
def test_inputs_of_a_link_do_not_count(form: LibraryForm) -> None:
    assert not routes(library(container("sm_120f", Kernel(MARLIN)), form=form))


def test_relocatable_code_and_copies_do_not_count() -> None:
    assert not routes(library(container("sm_120f", Kernel(MARLIN), relocatable=True)))
    twice = routes(
        library(container("sm_121", Kernel(MARLIN)), path="a.so"),
        library(container("sm_121", Kernel(MARLIN)), path="a.so.0"),
    )
    assert twice["marlin-dense-nvfp4"].kernels == 1


def test_loose_files_get_a_route_of_their_own() -> None:
    entry = Entry(kind=CodeKind.CUBIN, arch=Arch(100, "f"))
    loose = LooseCode("flashinfer_cubin/cubins/x.cubin", entry, kernels=(Kernel("fmha"),))
    (route,) = route_families(DeviceCode(libraries=(), loose=(loose,)), GB10)
    assert (route.family, route.route) == ("flashinfer-cubins", Route.NONE)


def judged(*containers: Container, unknowns: tuple[Unknown, ...] = ()) -> dict[str, Criterion]:
    code = DeviceCode(libraries=(library(*containers),), unknowns=unknowns)
    criteria = judge_device_code(code, route_families(code, GB10), GB10)
    return {criterion.name: criterion for criterion in criteria}


def test_a_family_that_was_promised_has_to_work() -> None:
    found = judged(container("sm_120a", Kernel(NVFP4_DENSE)), container("sm_120", Kernel(CORE)))
    assert found["family/nvfp4-dense"].verdict is Verdict.FAIL
    assert found["family/core-ops"].verdict is Verdict.PASS
    assert fold(criterion.verdict for criterion in found.values()) is Verdict.FAIL


def test_a_family_for_others_is_skipped_and_ptx_passes_with_a_warning() -> None:
    found = judged(
        container("sm_100f", Kernel(SM100_MOE)),
        container("sm_120", Kernel(CORE)),
        container("compute_80", Kernel(MARLIN)),
    )
    assert found["family/nvfp4-moe"].verdict is Verdict.SKIPPED
    assert found["family/marlin-dense-nvfp4"].warning
    assert fold(criterion.verdict for criterion in found.values()) is Verdict.PASS


def test_what_every_model_needs_is_promised() -> None:
    found = judged(container("sm_90", Kernel(CORE)))
    assert found["family/core-ops"].verdict is Verdict.FAIL
    assert found["devicecode/loads"].verdict is Verdict.FAIL


def test_what_could_not_be_read_is_inconclusive_and_nothing_is_skipped() -> None:
    gap = Unknown(where="vllm/_C.abi3.so@0x10", why="damaged ZSTD payload", topic="devicecode")
    found = judged(unknowns=(gap,))
    assert found["devicecode/read"].verdict is Verdict.INCONCLUSIVE
    assert found["devicecode/read"].evidence[0].where == gap.where
    assert found["devicecode/loads"].verdict is Verdict.SKIPPED


def test_findings_carry_rules_and_places() -> None:
    found = routes(
        library(
            container("sm_120f", Kernel(NVFP4_DENSE, 900, DEAD)),
            container("sm_120a", Kernel(NVFP4_MOE)),
            container("compute_80", Kernel(MARLIN)),
        )
    )
    problems = {finding.subject: finding for finding in find_problems(tuple(found.values()))}
    assert problems["nvfp4-dense"].rule == "deliver/dead-code"
    assert problems["nvfp4-moe"].rule == "deliver/no-kernel-image"
    assert problems["marlin-dense-nvfp4"].rule == "deliver/ptx-jit"
    assert problems["nvfp4-dense"].evidence[0].place == "vllm/_C.abi3.so@0x1000"
