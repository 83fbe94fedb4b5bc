"""Architecture arithmetic and what a source build gets."""

from __future__ import annotations

import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.errors import FormatError
from sparkproof.formats.cmake_text import parse_cmake
from sparkproof.release.arch_list import loose_intersection, read_arch, runs_on, split_list
from sparkproof.release.builds import read_builds
from sparkproof.testing.artifacts import MemoryArtifact

GB10 = ComputeCapability(12, 1)


@pytest.mark.parametrize(
    ("wanted", "given", "built"),
    [
        ("12.0f", "12.1a", "12.1a"),
        ("12.0f", "12.0", "12.0f"),
        ("12.0f", "9.0 10.0", ""),
        ("12.0a 12.1a", "12.0", "12.0a"),
        ("12.0a 12.1a", "12.1", "12.1a"),
        ("8.0+PTX 12.0f", "9.0", "8.0+PTX"),
        ("8.0+PTX 12.0f", "12.1", "12.1"),
        ("10.0f 10.7f", "10.7", "10.7f"),
        ("8.0 8.6", "8.9 9.0", "8.6"),
        ("7.5 8.0 8.6 9.0 9.0a", "8.0 8.6 8.9 9.0 9.0a", "9.0a 8.0 8.6"),
    ],
)
def test_matching(wanted: str, given: str, built: str) -> None:
    assert loose_intersection(wanted.split(), given.split()) == tuple(built.split())


def test_the_older_matching_lets_a_family_go_first() -> None:
    given = ("10.7",)
    assert loose_intersection(("10.0f", "10.7f"), given) == ("10.7f",)
    assert loose_intersection(("10.0f", "10.7f"), given, exact_first=False) == ("10.7", "10.7f")


@pytest.mark.parametrize(
    ("arch", "runs"),
    [
        ("12.1a", True),
        ("12.0a", False),
        ("12.0f", True),
        ("12.0", True),
        ("12.1", True),
        ("9.0+PTX", True),
        ("9.0", False),
        ("10.0f", False),
        ("9.0a+PTX", False),
        ("nonsense", False),
    ],
)
def test_what_runs_on_a_gb10(arch: str, *, runs: bool) -> None:
    assert runs_on(arch, GB10) is runs


def test_entries_of_a_list() -> None:
    assert split_list("9.0 10.0+PTX;12.1a") == ("9.0", "10.0+PTX", "12.1a")
    assert read_arch("12.0f") == (12, 0, "f", False)
    assert read_arch("sm_120") is None


CMAKE = """
# [comment] with ( a bracket
find_package(Torch REQUIRED)
if(DEFINED CMAKE_CUDA_COMPILER_VERSION AND
   CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
  set(CUDA_SUPPORTED_ARCHS "9.0;10.0;12.0")
else()
  set(CUDA_SUPPORTED_ARCHS "9.0;10.0;12.0;12.1")
endif()
cuda_archs_loose_intersection(CUDA_ARCHS "${CUDA_SUPPORTED_ARCHS}" "${CUDA_ARCHS}")
if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 13.0)
  cuda_archs_loose_intersection(SLED_ARCHS "12.0f" "${CUDA_ARCHS}")
else()
  cuda_archs_loose_intersection(SLED_ARCHS "12.0a;12.1a" "${CUDA_ARCHS}")
endif()
if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 12.8 AND SLED_ARCHS)
  set(SLED_SRCS "csrc/sled.cu")
  set_gencode_flags_for_srcs(SRCS "${SLED_SRCS}" CUDA_ARCHS "${SLED_ARCHS}")
  list(APPEND VLLM_GPU_FLAGS "-DENABLE_SLED=1")
else()
  message(STATUS "no sled")
endif()
"""
UTILS = 'if("${_base}" IN_LIST _TGT_CUDA_ARCHS)\nendif()\n'


def builds(cuda: str, arch_list: str) -> list[tuple[str, tuple[str, ...], bool, str]]:
    files = {"CMakeLists.txt": CMAKE.encode(), "cmake/utils.cmake": UTILS.encode()}
    rows = read_builds(MemoryArtifact(files), cuda, split_list(arch_list), GB10)
    return [(row.family, row.built, row.serves, row.guard) for row in rows]


@pytest.mark.parametrize(
    ("cuda", "arch_list", "built", "serves"),
    [
        ("13.0", "12.1a", ("12.0f",), True),
        ("13.2", "", ("12.0f",), True),
        ("13.0", "9.0 10.0+PTX", (), False),
        ("12.9", "12.0", ("12.0a",), False),
        ("12.9", "12.1", ("12.1a",), True),
    ],
)
def test_what_a_build_gets(
    cuda: str, arch_list: str, built: tuple[str, ...], *, serves: bool
) -> None:
    (row,) = builds(cuda, arch_list)
    assert row[1:3] == (built, serves)
    assert row[0] == ("sled (ENABLE_SLED)" if built else "sled")


def test_a_compiler_that_is_too_old() -> None:
    (row,) = builds("12.4", "12.1")
    assert row[1:] == ((), False, "needs CUDA 12.8")


@pytest.mark.parametrize(
    "files",
    [
        {"setup.py": b""},
        {"CMakeLists.txt": b"project(x)\n"},
        {"CMakeLists.txt": b"set(A (", "cmake/utils.cmake": b""},
        {"CMakeLists.txt": b"set(A)\n", "cmake/utils.cmake": b""},
        {"CMakeLists.txt": b"endif()\n", "cmake/utils.cmake": b""},
        {"CMakeLists.txt": b")\n", "cmake/utils.cmake": b""},
        {"CMakeLists.txt": b'set(A "x\n', "cmake/utils.cmake": b""},
    ],
)
def test_other_sources_are_refused(files: dict[str, bytes]) -> None:
    with pytest.raises(FormatError):
        read_builds(MemoryArtifact(files), "13.0", (), GB10)


def test_commands_with_their_lines() -> None:
    found = parse_cmake('a(b "c d" # e\n  ${f})\n\nG(NOT (h))\n', "x")
    assert [tuple(item) for item in found] == [
        ("a", ("b", "c d", "${f}"), 1),
        ("g", ("NOT", "(", "h", ")"), 4),
    ]
