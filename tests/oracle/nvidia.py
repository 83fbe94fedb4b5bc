"""NVIDIA's own readers, asked in the way that gives true answers.

``cuobjdump --list-elf`` drops the ``f`` of ``sm_120f``; a bare ``-all`` prints one short block for
every entry, in file order, with the full label, and ``-symbols`` adds the kernels. Both take about
the same two seconds on a 90 MB library (measured with 13.5.37, 2026-11-29).
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_PACKAGES = {"cuobjdump": "nvidia-cuda-cuobjdump", "nvdisasm": "nvidia-cuda-nvdisasm"}
_KINDS = {"elf": "cubin", "ptx": "ptx", "nvvm": "lto-ir"}
_BLOCK = re.compile(r"Fatbin (\w+) code:")
_VERSION = re.compile(r"code version = \[(\d+),(\d+)\]")
_LABEL = re.compile(r"\.text\.(\S+):")
_INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);\s*/\* (0x[0-9a-f]{16}) \*/")


class ToolEntry(NamedTuple):
    """One entry as cuobjdump tells it; `kernels` only where symbols were asked for."""

    kind: str
    arch: str = ""
    version: str = ""
    compressed: bool = False
    kernels: tuple[str, ...] = ()

    def __str__(self) -> str:
        packed = " compressed" if self.compressed else ""
        return f"{self.kind} {self.arch} {self.version}{packed}"


class Opcodes(NamedTuple):
    """Instruction counts of one kernel: those that decide real or dead, and all."""

    counts: dict[str, int]
    instructions: int


class Disassembly(NamedTuple):
    """What nvdisasm told of one cubin: kernels by name, and mnemonic to low twelve bits."""

    kernels: dict[str, Opcodes]
    encodings: dict[str, set[int]]


class ToolRefusedError(Exception):
    """The vendor's tool gave up on a file, after it had told of `entries`."""

    def __init__(self, complaint: str, entries: tuple[ToolEntry, ...] = ()) -> None:
        super().__init__(complaint.splitlines()[0] if complaint else "no reason given")
        self.entries = entries


def find_tool(name: str) -> str | None:
    """Path of ``cuobjdump`` or ``nvdisasm``: from its package, else from PATH."""
    try:
        files = importlib.metadata.files(_PACKAGES[name]) or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()
    for file in files:
        if file.name in (name, f"{name}.exe"):
            return str(file.locate())
    return shutil.which(name)


def tool_version(tool: str) -> str:
    """``cuobjdump 13.5.37``."""
    told = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"\bV(\d+\.\d+\.\d+)", told)
    return f"{Path(tool).stem} {found[1] if found else 'unknown'}"


def list_entries(
    tool: str, path: Path, *, everything: bool = True, symbols: bool = False
) -> list[ToolEntry]:
    """Entries of one library, archive or fat binary, in the tool's order.

    Args:
        everything: with relocatable code; else only what is loaded where there is any.
        symbols: read kernel names too.

    Raises:
        ToolRefusedError: the tool stops with an error.
    """
    words = [tool, *(["-all"] if everything else []), *(["-symbols"] if symbols else []), str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        entries = list(_parse_entries(run.stdout))
        complaint = run.stderr.read().strip()
    if run.returncode and "does not contain device code" not in complaint:
        raise ToolRefusedError(complaint, tuple(entries))
    return entries


def _parse_entries(lines: Iterable[str]) -> Iterator[ToolEntry]:
    entry: ToolEntry | None = None
    kernels: list[str] = []
    for line in lines:
        if block := _BLOCK.match(line):
            if entry:
                yield entry._replace(kernels=tuple(kernels))
            entry, kernels = ToolEntry(_KINDS[block[1]]), []
        elif entry and line.startswith("arch = "):
            entry = entry._replace(arch=line.split()[2])
        elif entry and (code := _VERSION.match(line)):
            entry = entry._replace(version=f"{code[1]}.{code[2]}")
        elif entry and line.rstrip() == "compressed":
            entry = entry._replace(compressed=True)
        elif line.startswith("FUNC") and (words := line.split())[3] == "ENTRY":
            kernels.append(words[-1])
    if entry:
        yield entry._replace(kernels=tuple(kernels))


def list_cubin_names(tool: str, path: Path) -> list[str]:
    """The names that `extract_cubin` takes, one for each cubin entry, in the order of entries.

    Their label is not to be trusted (it lacks the ``f``).
    """
    words = [tool, "-all", "-lelf", str(path)]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in told.splitlines() if line.startswith("ELF file")]


def extract_cubin(tool: str, path: Path, name: str, folder: Path) -> Path:
    """Write one cubin, unpacked, into `folder`."""
    words = [tool, "-all", "-xelf", name, str(path.resolve())]
    subprocess.run(words, check=True, capture_output=True, cwd=folder)
    return folder / name


def disassemble(tool: str, cubin: Path) -> Disassembly:
    """Count matrix instructions and traps in every kernel of one cubin.

    Raises:
        ToolRefusedError: the tool stops with an error.
    """
    kernels: dict[str, Opcodes] = {}
    encodings: dict[str, set[int]] = {}
    words = [tool, "-c", "-hex", str(cubin)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        _count(run.stdout, kernels, encodings)
        complaint = run.stderr.read().strip()
    if run.returncode:
        raise ToolRefusedError(complaint)
    return Disassembly(kernels, encodings)


def _count(
    lines: Iterable[str], kernels: dict[str, Opcodes], encodings: dict[str, set[int]]
) -> None:
    name, total = "", 0
    counts: Counter[str] = Counter()
    for line in lines:
        if match := _INSTRUCTION.match(line):
            total += 1
            mnemonic = _mnemonic(match[1])
            if mnemonic.endswith("MMA") or mnemonic == "BPT":
                counts[mnemonic] += 1
                encodings.setdefault(mnemonic, set()).add(int(match[2], 16) & 0xFFF)
        elif match := _LABEL.match(line):
            if name:
                kernels[name] = Opcodes(dict(sorted(counts.items())), total)
            name, total, counts = match[1], 0, Counter()
    if name:
        kernels[name] = Opcodes(dict(sorted(counts.items())), total)


def _mnemonic(text: str) -> str:
    """``OMMA`` of ``@!P0 OMMA.SF.16864.F32 R8, ...``."""
    words = text.split()
    first = words[1] if words[0].startswith("@") and len(words) > 1 else words[0]
    return first.split(".")[0]
