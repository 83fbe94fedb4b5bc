"""Our reading of real wheels against the goldens, and of the fixtures against the tools here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import parse_wheel_filename
from tests.oracle import fixtures, nvidia, ours
from tests.oracle.make_goldens import (
    ask_about_fixture,
    describe_opcodes,
    kernels_sha256,
    lines_sha256,
    short_sha256,
)

from sparkproof.adapters.zip_artifact import open_wheel
from sparkproof.core.observations.device_code import Entry, Library
from sparkproof.core.ports import Artifact
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.member import read_member

CONTAINERS = fixtures.containers()
WHEELS = sorted(p.stem for p in fixtures.GOLDENS.glob("*.json") if p.stem != "fixtures")


def _tool(name: str) -> str:
    tool = nvidia.find_tool(name)
    if tool is None:
        pytest.skip(f"{name} is not installed: it is in the dependency group `oracle`")
    return tool


@pytest.mark.oracle
@pytest.mark.parametrize("name", CONTAINERS)
def test_fixture_reads_as_the_installed_cuobjdump_reads_it(name: str, tmp_path: Path) -> None:
    data = CONTAINERS[name]
    path = tmp_path / name
    path.write_bytes(data)
    told, loaded = ask_about_fixture(_tool("cuobjdump"), path)
    view = read_member(name, len(data), ours.chunks(data), None)
    assert view.library is not None
    assert ours.labels(ours.in_tool_order(view.library)) == [str(entry) for entry in told]
    assert ours.labels(ours.loaded(view.library)) == [str(entry) for entry in loaded]


@pytest.mark.oracle
@pytest.mark.parametrize("name", [n for n in fixtures.loose() if n.startswith("mma")])
def test_opcodes_count_as_the_installed_nvdisasm_counts(name: str) -> None:
    told = describe_opcodes(_tool("nvdisasm"), fixtures.FOLDER / name)["kernels"]
    found = ours.opcode_counts((fixtures.FOLDER / name).read_bytes())
    assert {short_sha256(k): v for k, v in found.items()} == {
        k: ours.by_fact(v) for k, v in told.items()
    }


class Judged:
    """One real wheel and its golden."""

    def __init__(self, golden: dict[str, Any], wheel: Artifact) -> None:
        self.golden = golden
        self.wheel = wheel
        self.sizes = {member.path: member.size_bytes for member in wheel.members()}

    def cubins(self, path: str, wanted: ours.Wanted) -> Iterator[ours.Cubin]:
        """Unpacked cubins of one library."""
        return ours.cubins(self.wheel.stream(path), self.sizes[path], wanted)


@pytest.fixture(scope="module", params=WHEELS)
def judged(request: pytest.FixtureRequest, real_wheel: Callable[..., Path]) -> Iterator[Judged]:
    golden = json.loads((fixtures.GOLDENS / f"{request.param}.json").read_text())
    name, version, _, tags = parse_wheel_filename(golden["wheel"])
    platform = "aarch64" if any("aarch64" in tag.platform for tag in tags) else "x86_64"
    path = real_wheel(f"{name}=={version}", platform=platform)
    if path.name != golden["wheel"]:
        pytest.skip(f"the index gives {path.name}, the golden is of {golden['wheel']}")
    wheel = open_wheel(path)
    yield Judged(golden, wheel)
    wheel.close()


@pytest.mark.artifact
def test_inventory_of_a_real_wheel_is_that_of_cuobjdump(judged: Judged) -> None:
    code = read_device_code(judged.wheel)
    assert not code.unknowns
    found = {library.path: library for library in code.libraries}
    assert {path for path, library in found.items() if library.containers} <= set(
        judged.golden["libraries"]
    )
    for path, told in judged.golden["libraries"].items():
        if "refused" not in told:
            _check_library(found.get(path) or Library(path, 0), told)


def _check_library(library: Library, told: dict[str, Any]) -> None:
    labels = ours.labels(ours.in_tool_order(library))
    assert Counter(labels) == told["entries"], library.path
    assert lines_sha256(labels) == told["sequence_sha256"], library.path
    loaded = Counter(ours.labels(ours.loaded(library)))
    assert loaded == told.get("loaded", told["entries"]), library.path


@pytest.mark.artifact
def test_kernels_of_a_real_wheel_are_those_of_cuobjdump(judged: Judged) -> None:
    for path, library in judged.golden["libraries"].items():
        for arch, told in library.get("kernels", {}).items():
            cubins = [ours.kernel_names(cubin.image) for cubin in judged.cubins(path, _only(arch))]
            assert len(cubins) == told["cubins"], (path, arch)
            assert len({name for names in cubins for name in names}) == told["unique"], path
            assert kernels_sha256(cubins) == told["sha256"], (path, arch)


@pytest.mark.artifact
def test_opcodes_of_a_real_wheel_are_those_of_nvdisasm(judged: Judged) -> None:
    for path, samples in judged.golden["opcodes"].items():
        for told in samples:
            [cubin] = judged.cubins(path, ours.one_cubin(told["cubin"]))
            assert ours.sha256(cubin.image) == told["sha256"], (path, told["cubin"])
            found = ours.opcode_counts(cubin.image)
            by_hash = {short_sha256(name): counts for name, counts in found.items()}
            wanted = {k: ours.by_fact(v) for k, v in told["kernels"].items() if k in by_hash}
            assert by_hash == wanted, (path, told["cubin"])


def _only(arch: str) -> Callable[[int, Entry], bool]:
    return lambda _, entry: str(entry.arch) == arch
