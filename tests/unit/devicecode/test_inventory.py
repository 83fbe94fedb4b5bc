"""Reading whole artifacts: real little fixtures, in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkproof.core.capability import Arch, ComputeCapability
from sparkproof.core.observations.device_code import DeviceCode, LibraryForm
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.jit import find_jit_parts
from sparkproof.testing.artifacts import MemoryArtifact

DATA = Path(__file__).parents[2] / "data" / "device_code"
GB10 = ComputeCapability(12, 1)


def files(*names: str, folder: str = "pkg/") -> dict[str, bytes]:
    return {folder + name: (DATA / name).read_bytes() for name in names}


def read(*names: str, device: ComputeCapability | None = GB10) -> DeviceCode:
    return read_device_code(MemoryArtifact(files(*names)), device)


def test_a_container_gives_the_kernels_of_the_entry_that_loads() -> None:
    (library,) = read("mixed_120f_121a.so").libraries
    (found,) = library.containers
    assert found.entries[found.chosen].arch == Arch(121, "a")
    assert found.named_by == found.chosen
    assert found.kernels


def test_headers_alone_tell_no_kernels_but_the_toolkit() -> None:
    (library,) = read("elf_120f.so", device=None).libraries
    assert library.containers[0].entries[0].arch == Arch(120, "f")
    assert not library.containers[0].kernels
    assert library.toolkit == "13.0.88"


def test_where_none_loads_the_kernels_are_named_all_the_same() -> None:
    (library,) = read("elf_90a.so").libraries
    assert library.containers[0].chosen == -1
    assert library.containers[0].kernels


def test_relocatable_code_is_kept_apart() -> None:
    (library,) = read("relocatable.so").libraries
    apart = [container.relocatable for container in library.containers]
    assert True in apart
    assert False in apart


def test_archives_are_read_and_told_as_such() -> None:
    (library,) = read("archive.a").libraries
    assert library.form is LibraryForm.ARCHIVE
    assert len(library.containers) == 2


def test_loose_files_are_known_by_their_content() -> None:
    code = read_device_code(
        MemoryArtifact({"a/no-suffix": (DATA / "scale_120f.cubin").read_bytes()}), GB10
    )
    assert code.loose[0].entry.arch == Arch(120, "f")
    assert code.loose[0].suffix_known


def test_a_library_needs_no_suffix_and_text_is_not_opened() -> None:
    data = (DATA / "elf_120.so").read_bytes()
    code = read_device_code(MemoryArtifact({"vllm-rs": data, "x.py": data, "y.cu": data}), GB10)
    assert [library.path for library in code.libraries] == ["vllm-rs"]


def test_two_doors_find_what_one_finds() -> None:
    members = files(*(path.name for path in sorted(DATA.glob("*.so"))))
    one = read_device_code(MemoryArtifact(members), GB10)
    two = read_device_code(
        MemoryArtifact(members), GB10, more_doors=[lambda: MemoryArtifact(members)]
    )
    assert one == two


@pytest.mark.parametrize("name", ["elf_120.so", "scale_80.ptx", "scale_120.cubin"])
def test_a_damaged_member_is_an_unknown_and_the_rest_is_read(name: str) -> None:
    members = files(name, "elf_120f.so")
    artifact = MemoryArtifact(members, damaged=frozenset({f"pkg/{name}"}))
    code = read_device_code(artifact, GB10)
    assert "pkg/elf_120f.so" in [library.path for library in code.libraries]
    assert [name in unknown.where for unknown in code.unknowns] == [True]


def test_linked_libraries_are_named() -> None:
    (library,) = read("cudart.so").libraries
    assert any(name.startswith("libcudart.so") for name in library.needed)


class Steps:
    """A progress that adds up."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.done = 0
        self.finished = False

    def start(self, label: str, total: int | None = None) -> None:
        self.total = total

    def advance(self, amount: int) -> None:
        self.done += amount

    def finish(self) -> None:
        self.finished = True


def test_progress_comes_to_its_end() -> None:
    steps = Steps()
    read_device_code(MemoryArtifact(files("elf_120.so", "scale_80.ptx")), GB10, steps)
    assert steps.total == steps.done > 0
    assert steps.finished


@pytest.mark.parametrize(
    ("path", "package", "tools"),
    [
        ("flashinfer/jit/cpp_ext.py", "flashinfer", ("ninja", "nvcc")),
        ("vllm/third_party/deep_gemm/include/deep_gemm/a.cuh", "deepgemm", ("nvcc",)),
        ("flashinfer_cubin/cubins/x/scale_120f.cubin", "flashinfer-cubin", ()),
    ],
)
def test_packages_that_compile_at_run_time(path: str, package: str, tools: tuple[str, ...]) -> None:
    data = (DATA / "scale_120f.cubin").read_bytes() if path.endswith(".cubin") else bytes(100)
    artifact = MemoryArtifact({path: data, "other/file.py": b""})
    code = read_device_code(artifact)
    (part,) = find_jit_parts(artifact.members(), code, GB10)
    assert (part.package, part.tools) == (package, tools)
    assert [count.arch for count in part.prebuilt] == ["sm_120f"] * path.endswith(".cubin")
