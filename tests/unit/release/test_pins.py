"""Whose METADATA counts, and what it counts for."""

from __future__ import annotations

from sparkproof.release.pins import BOX, read_metadata
from sparkproof.testing.artifacts import MemoryArtifact

STAMP = {"vllm/_version.py": b"__version__ = version = '0.33.0'\n"}


def metadata(version: str, pin: str) -> dict[str, bytes]:
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\nRequires-Dist: {pin}\n\n"
    return {f"vllm-{version}.dist-info/METADATA": text.encode()}


OLD, NEW = metadata("0.32.0", "torch==1"), metadata("0.33.0", "torch==2")


def test_the_metadata_that_agrees_with_the_stamp() -> None:
    found = read_metadata(MemoryArtifact({**OLD, **NEW, **STAMP}), "vllm", BOX)
    assert (found.version, [pin.specifier for pin in found.pins]) == ("0.33.0", ["==2"])
    assert found.unknowns == ()


def test_a_stamp_that_no_metadata_agrees_with_counts_and_the_requirements_are_open() -> None:
    found = read_metadata(MemoryArtifact({**OLD, **STAMP}), "vllm", BOX)
    assert (found.version, found.source.path) == ("0.33.0", "vllm/_version.py")
    [unknown] = found.unknowns
    assert unknown.why.startswith("states 0.32.0, vllm/_version.py 0.33.0")


def test_a_local_part_is_no_other_version() -> None:
    found = read_metadata(
        MemoryArtifact({**metadata("0.33.0+cu130", "torch==2"), **STAMP}), "vllm", BOX
    )
    assert (found.version, found.unknowns) == ("0.33.0+cu130", ())
