"""Regenerates the nvcc-made device-code fixtures and their entries in ``tests/data/MANIFEST.toml``.

Usage: ``python tests/data/device_code/make_fixtures.py`` with nvcc on PATH (or its path in
``NVCC``) and GNU binutils. The same toolkit gives the same bytes, wherever it runs; another one
gives other bytes, and the manifest then says so.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

HERE = Path(__file__).parent
MANIFEST = HERE.parent / "MANIFEST.toml"
# nvcc hashes the absolute path of a source into LTO-IR and relocatable code.
WORKSHOP = Path("/tmp/sparkproof-fixtures")
MADE_BY = "tests/data/device_code/make_fixtures.py"

# No start-up files, no unwind tables, no build id: what is left is nearly all device code.
SHARED = (
    "-shared -Xcompiler -fPIC,-nostdlib,-fno-exceptions,-fno-asynchronous-unwind-tables"
    " -Xlinker -z,noseparate-code,--build-id=none,-s,-z,norelro"
)
NO_RUNTIME = " -cudart none"


class Fixture(NamedTuple):
    """One file to make: what it covers, and the command lines (``{out}`` is its name)."""

    name: str
    covers: str
    commands: tuple[str, ...]


def sm(*archs: str) -> str:
    """Machine code for each architecture."""
    return " ".join(f"-gencode arch=compute_{a},code=sm_{a}" for a in archs)


def ptx(*archs: str) -> str:
    """PTX for each architecture."""
    return " ".join(f"-gencode arch=compute_{a},code=compute_{a}" for a in archs)


def lto(*archs: str) -> str:
    """LTO-IR for each architecture."""
    return " ".join(f"-gencode arch=compute_{a},code=lto_{a}" for a in archs)


def so(name: str, covers: str, flags: str, source: str = "scale.cu") -> Fixture:
    """A shared library without the runtime."""
    words = f"nvcc {SHARED}{NO_RUNTIME} --keep {flags} {source} -o {{out}}"
    return Fixture(f"{name}.so", covers, (" ".join(words.split()),))


def loose(name: str, covers: str, flags: str, source: str = "scale.cu") -> Fixture:
    """A file that nvcc writes by itself: cubin, PTX, fat binary."""
    return Fixture(name, covers, (f"nvcc {flags} {source} -o {{out}}",))


SUFFIXES = ("90a", "100a", "100f", "103f", "110", "120", "120a", "120f", "121", "121a", "121f")
RELOCATABLE = f"-rdc=true {sm('120')} {ptx('80')} caller.cu callee.cu"
VLLM_LIKE = f"{sm('80', '90a', '100f', '120f')} {ptx('80')}"

FIXTURES = (
    *(so(f"elf_{a}", f"one cubin, sm_{a}", sm(a)) for a in SUFFIXES),
    so("elf_plain", "a cubin for each plain architecture", sm("75", "80", "86", "89", "90", "100")),
    so("ptx_80", "PTX only, plain: JIT on any later device", ptx("80")),
    so("ptx_120", "PTX only, plain", ptx("120")),
    so("ptx_120f", "PTX only, family-specific", ptx("120f")),
    so("ptx_specific", "PTX only, architecture-specific", ptx("90a", "120a", "121a")),
    so("lto_90", "LTO-IR only", lto("90")),
    so("lto_120f", "LTO-IR beside a cubin and PTX", f"{lto('120f')} {sm('90a')} {ptx('90')}"),
    so("mixed_120_120a", "plain and architecture-specific side by side", sm("120", "120a")),
    so("mixed_120f_121a", "family and exact side by side", sm("120f", "121a")),
    so("mixed_120_ptx80", "plain cubin and a PTX fallback", f"{sm('120')} {ptx('80')}"),
    so("mixed_many", "the spread that a real wheel has", VLLM_LIKE),
    so("pack_none", "--compress-mode=none", f"--compress-mode=none {VLLM_LIKE}"),
    so("pack_default", "--compress-mode=default", f"--compress-mode=default {VLLM_LIKE}"),
    so("pack_size", "--compress-mode=size: ZSTD cubins", f"--compress-mode=size {VLLM_LIKE}"),
    so(
        "pack_speed",
        "-compress-all with --compress-mode=speed: LZ4 cubins and PTX",
        f"-Xfatbin -compress-all --compress-mode=speed {VLLM_LIKE}",
    ),
    so(
        "pack_balance",
        "-compress-all with --compress-mode=balance",
        f"-Xfatbin -compress-all --compress-mode=balance {VLLM_LIKE}",
    ),
    so("empty", "cubins without a kernel", sm("90", "120f"), "empty.cu"),
    so("mma", "real and dead kernels by architecture", sm("80", "100f", "120"), "mma.cu"),
    so(
        "mma_120f",
        "real FP4, FP8 and half kernels; ZSTD",
        f"--compress-mode=size {sm('120f')}",
        "mma.cu",
    ),
    Fixture(
        "two_units.so",
        "two containers with different answers: sm_120f here, PTX only there",
        (
            f"nvcc -c -Xcompiler -fPIC {sm('120f')} shift.cu -o shift.o",
            f"nvcc -c -Xcompiler -fPIC {ptx('80')} scale.cu -o scale.o",
            f"nvcc {SHARED}{NO_RUNTIME} shift.o scale.o -o {{out}}",
        ),
    ),
    Fixture(
        "relocatable.so",
        "-rdc=true, device-linked: PTX only in __nv_relfatbin, so no JIT fallback",
        (f"nvcc {SHARED} -cudart shared --keep {RELOCATABLE} -o {{out}}",),
    ),
    so("relocatable_only", "-rdc=true without a device link: nothing of it loads", RELOCATABLE, ""),
    Fixture(
        "relocatable.o",
        "-rdc=true, one object before the device link",
        (f"nvcc --keep -dc -Xcompiler -fPIC {sm('120f')} callee.cu -o {{out}}",),
    ),
    Fixture(
        "cudart.so",
        "DT_NEEDED libcudart.so.13; a second container, empty, from the device linker",
        (f"nvcc {SHARED},--no-as-needed -cudart shared {sm('120f')} scale.cu -o {{out}}",),
    ),
    Fixture(
        "archive.a",
        "static archive: two member objects with a fat binary each",
        (
            f"nvcc --keep -c {sm('90', '120f')} scale.cu -o scale.o",
            f"nvcc --keep -c {sm('120')} shift.cu -o shift.o",
            "ar rcD {out} scale.o shift.o",
        ),
    ),
    loose(
        "bare.fatbin", "a container without an ELF around it", f"-fatbin {sm('120f')} {ptx('80')}"
    ),
    *(
        loose(f"scale_{a}.cubin", f"loose cubin, sm_{a}", f"-cubin -arch=sm_{a}")
        for a in ("80", "90a", "100a", "120", "120a", "120f", "121a")
    ),
    *(
        loose(f"scale_{a}.ptx", f"loose PTX, compute_{a}", f"-ptx -arch=compute_{a}")
        for a in ("80", "120f")
    ),
    *(
        loose(f"mma_{a}.cubin", "opcodes of mma.sync", f"-cubin -arch=sm_{a}", "mma.cu")
        for a in ("120", "120f")
    ),
    *(
        loose(
            f"mma_wide_{a}.cubin",
            "opcodes of one architecture",
            f"-cubin -arch=sm_{a}",
            "mma_wide.cu",
        )
        for a in ("90a", "100f")
    ),
)


def tool_version(nvcc: str) -> str:
    """``nvcc 13.0.88, gcc 12.2.0``."""
    told = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"V(\d+\.\d+\.\d+)", told)
    gcc = subprocess.run(["gcc", "-dumpfullversion"], check=True, capture_output=True, text=True)
    return f"nvcc {found[1] if found else 'unknown'}, gcc {gcc.stdout.strip()}"


def make(fixture: Fixture, nvcc: str) -> list[str]:
    """Run the commands beside copies of the sources and take what comes out."""
    shutil.copytree(HERE / "src", WORKSHOP)
    try:
        lines = [line.format(out=fixture.name) for line in fixture.commands]
        for line in lines:
            words = line.split()
            words[0] = nvcc if words[0] == "nvcc" else words[0]
            subprocess.run(words, cwd=WORKSHOP, check=True)
        shutil.copyfile(WORKSHOP / fixture.name, HERE / fixture.name)
    finally:
        shutil.rmtree(WORKSHOP)
    return lines


def birth_certificate(fixture: Fixture, lines: list[str], tool: str) -> dict[str, Any]:
    """The manifest entry of a fixture that has just been made."""
    data = (HERE / fixture.name).read_bytes()
    return {
        "path": f"device_code/{fixture.name}",
        "covers": fixture.covers,
        "made_by": MADE_BY,
        "tool": tool,
        "commands": lines,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "date": datetime.datetime.now(datetime.UTC).date(),
    }


def main() -> None:
    """Make all, keep the date of what did not change, leave other makers' entries alone."""
    nvcc = os.environ.get("NVCC", "nvcc")
    tool = tool_version(nvcc)
    old = tomllib.loads(MANIFEST.read_text()).get("fixture", []) if MANIFEST.exists() else []
    dates = {(e["path"], e["sha256"]): e["date"] for e in old}
    entries = [e for e in old if e["made_by"] != MADE_BY]
    for fixture in FIXTURES:
        entry = birth_certificate(fixture, make(fixture, nvcc), tool)
        entry["date"] = dates.get((entry["path"], entry["sha256"]), entry["date"])
        entries.append(entry)
    entries.sort(key=lambda e: str(e["path"]))
    MANIFEST.write_text(tomli_w.dumps({"fixture": entries}))


if __name__ == "__main__":
    main()
