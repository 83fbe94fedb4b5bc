"""Fixtures against what NVIDIA's tools said of them (tests/oracle/make_goldens.py)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from tests.oracle import fixtures, ours
from tests.oracle.make_goldens import kernels_sha256, short_sha256

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.device_code import CodeKind
from sparkproof.devicecode.member import read_member
from sparkproof.facts.loading import opcodes
from sparkproof.formats.device_scan import DeviceScan
from sparkproof.formats.elf import parse_header

GOLDEN: dict[str, Any] = json.loads((fixtures.GOLDENS / "fixtures.json").read_text())
CONTAINERS = fixtures.containers()
LOOSE = fixtures.loose()
GB10 = ComputeCapability(12, 1)


def test_every_fixture_has_a_birth_certificate_that_fits() -> None:
    told = {str(entry["path"]).removeprefix("device_code/"): entry for entry in fixtures.manifest()}
    there = {p.name: p.read_bytes() for p in fixtures.FOLDER.iterdir() if p.is_file()}
    there = {name: data for name, data in there.items() if not name.endswith(".py")}
    assert set(there) == set(told)
    for name, data in there.items():
        assert told[name]["sha256"] == hashlib.sha256(data).hexdigest(), name
        assert told[name]["bytes"] == len(data), name
    assert sum(map(len, there.values())) < 600 << 10


def test_cut_outs_are_small_and_say_where_they_come_from() -> None:
    for entry in fixtures.manifest():
        if str(entry["made_by"]).endswith("cut_out.py"):
            assert int(str(entry["bytes"])) <= 1024
            assert {"wheel", "wheel_sha256", "member", "offset"} <= set(entry)


def test_the_golden_speaks_of_every_fixture() -> None:
    assert set(GOLDEN["containers"]) == set(CONTAINERS)
    assert set(GOLDEN["cubins"]) == {name for name in LOOSE if name.endswith(".cubin")}


@pytest.mark.parametrize("name", CONTAINERS)
def test_entries_are_those_that_cuobjdump_lists(name: str) -> None:
    data = CONTAINERS[name]
    view = read_member(name, len(data), ours.chunks(data), None)
    assert view.library is not None
    told = GOLDEN["containers"][name]
    assert ours.labels(ours.in_tool_order(view.library)) == [row[0] for row in told["entries"]]
    assert ours.labels(ours.loaded(view.library)) == told["loaded"]
    assert not view.unknowns or name.endswith(".head")


@pytest.mark.parametrize("name", [n for n in CONTAINERS if not n.endswith(".head")])
def test_kernels_of_every_cubin_are_those_that_cuobjdump_lists(name: str) -> None:
    data = CONTAINERS[name]
    told = [row[1:] for row in GOLDEN["containers"][name]["entries"] if row[0].startswith("cubin")]
    found = {}
    for ordinal in range(len(told)):
        for cubin in ours.cubins(ours.chunks(data), len(data), ours.one_cubin(ordinal)):
            found[cubin.ordinal] = ours.kernel_names(cubin.image)
    assert [found[i] for i in range(len(told))] == told


@pytest.mark.parametrize("name", GOLDEN["cubins"])
def test_opcode_counts_are_those_of_nvdisasm(name: str) -> None:
    told = GOLDEN["cubins"][name]["kernels"]
    found = {short_sha256(k): v for k, v in ours.opcode_counts(LOOSE[name]).items()}
    assert found == {k: ours.by_fact(v) for k, v in told.items()}


def test_every_encoding_that_nvdisasm_showed_is_a_known_opcode() -> None:
    known = {opcode.name: set(opcode.codes) for opcode in opcodes()}
    goldens = [json.loads(p.read_text()) for p in fixtures.GOLDENS.glob("*.json")]
    samples = [s for g in goldens for s in g.get("cubins", {}).values()]
    samples += [s for g in goldens for rows in g.get("opcodes", {}).values() for s in rows]
    for sample in samples:
        for mnemonic, codes in sample["encodings"].items():
            assert {int(code, 16) for code in codes} <= known[ours.fact_of(mnemonic)], mnemonic


@pytest.mark.parametrize("name", [n for n in LOOSE if not n.startswith("mma")])
def test_loose_code_tells_its_architecture_with_its_suffix(name: str) -> None:
    data = LOOSE[name]
    view = read_member(name, len(data), ours.chunks(data), GB10)
    assert view.loose is not None
    assert view.loose.entry.arch.short == name.removeprefix("scale_").partition(".")[0]
    assert view.loose.suffix_known
    assert [kernel.name for kernel in view.loose.kernels] == ["scale"]
    assert view.loose.toolkit == "13.0.88"


@pytest.mark.parametrize(
    ("name", "number", "specific"),
    [("loose_cubin_103a.head", 103, True), ("loose_cubin_100f.head", 100, False)],
)
def test_heads_of_other_generators_keep_the_masked_flags(
    name: str, number: int, specific: bool
) -> None:
    flags = parse_header((fixtures.FOLDER / name).read_bytes()).flags
    assert flags >> 24 == 0x0F
    assert flags >> 8 & 0xFF == number
    assert bool(flags & 0x8) is specific


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("elf_120a.so", []),
        ("elf_121f.so", ["sm_121f"]),
        ("mixed_120f_121a.so", ["sm_121a"]),
        ("mixed_120_120a.so", ["sm_120"]),
        ("mixed_many.so", ["sm_120f"]),
        ("ptx_120f.so", ["sm_120f"]),
        ("ptx_specific.so", ["sm_121a"]),
        ("lto_120f.so", ["sm_90"]),
        ("relocatable.so", ["sm_120"]),
        ("relocatable_only.so", []),
        ("two_units.so", ["sm_120f", "sm_80"]),
        ("elf_plain.so", []),
        ("pack_speed.so", ["sm_120f"]),
        ("lto_90.so", []),
    ],
)
def test_gb10_takes_what_the_rules_say(name: str, chosen: list[str]) -> None:
    data = CONTAINERS[name]
    view = read_member(name, len(data), ours.chunks(data), GB10)
    assert view.library is not None
    taken = [c.entries[c.chosen] for c in view.library.containers if c.chosen >= 0]
    assert [str(entry.arch) for entry in taken] == chosen


def test_needed_libraries_and_toolkit_are_read() -> None:
    data = CONTAINERS["cudart.so"]
    view = read_member("cudart.so", len(data), ours.chunks(data), GB10)
    assert view.library is not None
    assert view.library.needed == ("libcudart.so.13",)
    assert view.library.toolkit == "13.0.88"


def test_chunk_borders_change_nothing() -> None:
    data = CONTAINERS["mixed_many.so"]
    whole = list(DeviceScan(iter([data]), len(data)))
    for size in (1, 7, 64, 4096):
        pieces = (data[at : at + size] for at in range(0, len(data), size))
        assert list(DeviceScan(pieces, len(data))) == whole


def test_hash_rule_is_stable() -> None:
    """What the goldens' kernel hashes mean: sorted names a cubin, a blank line behind each."""
    told = hashlib.sha256(b"\na\nb\n\nc\n\n").hexdigest()
    assert kernels_sha256([["c"], ["b", "a"], []]) == told


def test_kinds_have_the_names_of_the_goldens() -> None:
    assert {kind.value for kind in CodeKind} == {"cubin", "ptx", "lto-ir"}
