"""Writes the goldens of device code: what NVIDIA's tools say of the fixtures and of real wheels.

Usage, from the repository's root:

    python -m tests.oracle.make_goldens fixtures
    python -m tests.oracle.make_goldens wheel PATH.whl ...

Libraries are unpacked to a temporary folder one at a time. Long lists become a count and a hash:
``sequence_sha256`` is over one line per entry in file order; a kernel hash is over the names of
each cubin of that architecture, one a line and sorted, a blank line behind each, cubins sorted.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import shutil
import struct
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.oracle import fixtures, nvidia
from tests.oracle.nvidia import ToolEntry, ToolRefusedError

MACHINE_CUDA = 190
LARGEST_CUBIN_BYTES = 8 << 20
KERNEL_ARCHS = "sm_12"

SAMPLES = (
    "MainloopSm120TmaWarpSpecializedBlockScaled",
    "MainloopSm120ArrayTmaWarpSpecializedBlockScaled",
    "cutlass_3x_gemm_fp8_blockwise",
    "cutlass_3x_gemm_sm120",
    "MainloopSm100ArrayTmaUmmaWarpSpecializedBlockScaled",
    "MacheteCollectiveMma",
    "Marlin",
    "ELl562949953487106E",
    "cvt_fp16_to_fp4",
)
"""One cubin is disassembled for each of these that a library's sm_12x kernels mention."""


def lines_sha256(lines: Iterable[str]) -> str:
    """Hash of lines, each with its newline."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def kernels_sha256(cubins: Iterable[Sequence[str]]) -> str:
    """Hash of the kernel names of several cubins, by the rule of the module's docstring."""
    return lines_sha256(line for names in sorted(map(sorted, cubins)) for line in (*names, ""))


def short_sha256(text: str) -> str:
    """The first 16 digits: enough to tell names of one cubin apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def require_tool(name: str) -> str:
    """The tool's path, or the end of the run."""
    tool = nvidia.find_tool(name)
    if tool is None:
        raise SystemExit(f"{name} is not installed: it is in the dependency group `oracle`")
    return tool


def describe_library(cuobjdump: str, path: Path) -> tuple[dict[str, Any], list[ToolEntry]]:
    """What cuobjdump says of one library."""
    try:
        entries = nvidia.list_entries(cuobjdump, path, symbols=True)
        loaded = nvidia.list_entries(cuobjdump, path, everything=False)
    except ToolRefusedError as error:
        return {"refused": str(error).replace(str(path), path.name)}, []
    golden: dict[str, Any] = {
        "entries": dict(sorted(Counter(map(str, entries)).items())),
        "sequence_sha256": lines_sha256(map(str, entries)),
    }
    if len(loaded) != len(entries):
        golden["loaded"] = dict(sorted(Counter(map(str, loaded)).items()))
    archs = sorted({e.arch for e in entries if e.kind == "cubin"})
    golden["kernels"] = {
        arch: describe_kernels([e.kernels for e in entries if e[:2] == ("cubin", arch)])
        for arch in archs
        if arch.startswith(KERNEL_ARCHS)
    }
    return golden, entries


def describe_kernels(cubins: list[tuple[str, ...]]) -> dict[str, Any]:
    """Kernels of all cubins of one architecture in one library."""
    return {
        "cubins": len(cubins),
        "empty": sum(not names for names in cubins),
        "total": sum(map(len, cubins)),
        "unique": len({name for names in cubins for name in names}),
        "sha256": kernels_sha256(cubins),
    }


def pick_samples(entries: list[ToolEntry]) -> dict[int, str]:
    """Ordinal among cubins to token: the cubin with the fewest kernels for each sample token."""
    picked: dict[int, str] = {}
    cubins = [e for e in entries if e.kind == "cubin"]
    for token in SAMPLES:
        for arch in sorted({e.arch for e in cubins if e.arch.startswith(KERNEL_ARCHS)}):
            holders = [
                (len(e.kernels), i)
                for i, e in enumerate(cubins)
                if e.arch == arch and any(token in name for name in e.kernels)
            ]
            if holders:
                picked.setdefault(min(holders)[1], token)
    return picked


def describe_opcodes(nvdisasm: str, cubin: Path) -> dict[str, Any]:
    """Opcode counts of one cubin, kernels by the hash of their name."""
    told = nvidia.disassemble(nvdisasm, cubin)
    data = cubin.read_bytes()
    return {
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "kernels": {
            short_sha256(name): {**kernel.counts, "instructions": kernel.instructions}
            for name, kernel in sorted(told.kernels.items())
        },
        "encodings": {
            mnemonic: [f"{code:#05x}" for code in sorted(codes)]
            for mnemonic, codes in sorted(told.encodings.items())
        },
    }


def sample_opcodes(
    tools: tuple[str, str], library: Path, entries: list[ToolEntry]
) -> Iterator[dict[str, Any]]:
    """Disassemble the picked cubins of one library."""
    cuobjdump, nvdisasm = tools
    picked = pick_samples(entries)
    if not picked:
        return
    names = nvidia.list_cubin_names(cuobjdump, library)
    archs = [e.arch for e in entries if e.kind == "cubin"]
    for ordinal, token in sorted(picked.items()):
        with tempfile.TemporaryDirectory() as folder:
            cubin = nvidia.extract_cubin(cuobjdump, library, names[ordinal], Path(folder))
            if cubin.stat().st_size > LARGEST_CUBIN_BYTES:
                continue
            told = describe_opcodes(nvdisasm, cubin)
        yield {"cubin": ordinal, "arch": archs[ordinal], "picked_for": token, **told}


def host_images(wheel: zipfile.ZipFile) -> Iterator[str]:
    """Members that can hold fat binaries: ELF that are no cubins, and archives."""
    for member in sorted(wheel.namelist()):
        with wheel.open(member) as file:
            head = file.read(20)
        machine = struct.unpack_from("<H", head, 18)[0] if len(head) == 20 else 0
        if head.startswith(b"!<arch>\n") or (
            head.startswith(b"\x7fELF") and machine != MACHINE_CUDA
        ):
            yield member


def describe_wheel(path: Path) -> dict[str, Any]:
    """The golden of one wheel."""
    tools = require_tool("cuobjdump"), require_tool("nvdisasm")
    libraries: dict[str, Any] = {}
    opcodes: dict[str, Any] = {}
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        for member in host_images(wheel):
            library = Path(folder) / Path(member).name
            with wheel.open(member) as source, library.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            libraries[member], entries = describe_library(tools[0], library)
            if samples := list(sample_opcodes(tools, library, entries)):
                opcodes[member] = samples
            library.unlink()
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"wheel": path.name, "sha256": digest, "libraries": libraries, "opcodes": opcodes}


def ask_about_fixture(cuobjdump: str, path: Path) -> tuple[list[ToolEntry], list[ToolEntry]]:
    """All entries, and those that are loaded; of a head, which has no payload, its labels only."""
    try:
        told = nvidia.list_entries(cuobjdump, path, symbols=True)
        return told, nvidia.list_entries(cuobjdump, path, everything=False)
    except ToolRefusedError as error:
        if path.suffix != ".head":
            raise
        return list(error.entries), list(error.entries)


def describe_fixtures() -> dict[str, Any]:
    """The golden of the fixtures."""
    cuobjdump, nvdisasm = require_tool("cuobjdump"), require_tool("nvdisasm")
    described: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, data in fixtures.containers().items():
            path = Path(folder) / name
            path.write_bytes(data)
            told, loaded = ask_about_fixture(cuobjdump, path)
            entries = [[str(entry), *sorted(entry.kernels)] for entry in told]
            described[name] = {"entries": entries, "loaded": [str(entry) for entry in loaded]}
            path.unlink()
    cubins = sorted(fixtures.FOLDER.glob("*.cubin"))
    return {
        "containers": described,
        "cubins": {p.name: describe_opcodes(nvdisasm, p) for p in cubins},
    }


def write_golden(name: str, golden: dict[str, Any]) -> None:
    """Write one golden with the tools that made it."""
    tools = [nvidia.tool_version(require_tool(tool)) for tool in ("cuobjdump", "nvdisasm")]
    head = {
        "made_by": "tests/oracle/make_goldens.py",
        "tools": tools,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    text = json.dumps(head | golden, indent=1, sort_keys=True) + "\n"
    (fixtures.GOLDENS / f"{name}.json").write_text(text)


def main(words: list[str]) -> None:
    """Dispatch on the first word."""
    if words[:1] == ["fixtures"]:
        write_golden("fixtures", describe_fixtures())
    elif words[:1] == ["wheel"] and words[1:]:
        for wheel in map(Path, words[1:]):
            write_golden(wheel.stem, describe_wheel(wheel))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
