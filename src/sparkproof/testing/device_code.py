"""Libraries with device code, made by hand: cubins, PTX and fat binaries with any kernel names.

The code in them does nothing; names, architectures and layout are what readers look at. The layout
is that of CUDA 13 (see `sparkproof.formats`), uncompressed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from sparkproof.core.capability import Arch

_ELF = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_CONTAINER = struct.Struct("<IHHQ")
_CUDA, _AARCH64 = 190, 183
_STRTAB, _SYMTAB, _PROGBITS = 3, 2, 1
_KERNEL, _GLOBAL_FUNCTION = 0x10, 0x12
_PTX, _CUBIN = 1, 2
_SUFFIX_FLAGS = {"": 0, "a": 0x100000, "f": 0x200000}
_NOP = bytes.fromhex("1879000000000000000000000000ea0f")


def cubin(arch: Arch, kernels: Sequence[str]) -> bytes:
    """A CUDA ELF with one empty kernel a name."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in kernels)
    symbols, at = [bytes(_SYMBOL.size)], 1
    for index, name in enumerate(kernels):
        place = index * len(_NOP)
        symbols.append(_SYMBOL.pack(at, _GLOBAL_FUNCTION, _KERNEL, 3, place, len(_NOP)))
        at += len(name.encode()) + 1
    bodies = (names, b"".join(symbols), _NOP * len(kernels))
    kinds = ((_STRTAB, 0), (_SYMTAB, 1), (_PROGBITS, 0))
    flags = 0x6000002 | arch.number << 8
    return _elf(_CUDA, bodies, kinds, osabi=(0x41, 8), flags=flags)


def ptx(arch: Arch, kernels: Sequence[str]) -> bytes:
    """A PTX text with one empty entry a name."""
    lines = [".version 9.0", f".target sm_{arch.short}", ".address_size 64"]
    lines += [f".visible .entry {name}()\n{{\n ret;\n}}" for name in kernels]
    return ("\n".join(lines) + "\n").encode() + b"\0"


def container(kernels: Sequence[str], archs: Iterable[str]) -> bytes:
    """One fat binary, as of one translation unit: the same kernels for each architecture.

    Args:
        kernels: mangled names.
        archs: ``sm_120f`` for machine code, ``compute_80`` for PTX.
    """
    entries = b"".join(_entry(label, kernels) for label in archs)
    return _CONTAINER.pack(0xBA55ED50, 1, 16, len(entries)) + entries


def library(containers: Iterable[bytes]) -> bytes:
    """A shared library that carries the fat binaries, and nothing else."""
    return _elf(_AARCH64, (), ()) + b"".join(map(_padded, containers))


def _entry(label: str, kernels: Sequence[str]) -> bytes:
    arch, is_ptx = Arch.parse(label), label.startswith("compute")
    payload = _padded(ptx(arch, kernels) if is_ptx else cubin(arch, kernels))
    kind, minor, major = (_PTX, 0, 9) if is_ptx else (_CUBIN, 8, 1)
    flags = 0x11 | _SUFFIX_FLAGS[arch.suffix]
    size = len(payload)
    head = _ENTRY.pack(
        kind, 0x101, _ENTRY.size, size, 0, 0, minor, major, arch.number, 0, 0, flags, 0, 0
    )
    return head + payload


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def _elf(
    machine: int,
    bodies: Sequence[bytes],
    kinds: Sequence[tuple[int, int]],
    *,
    osabi: tuple[int, int] = (0, 0),
    flags: int = 0,
) -> bytes:
    """An ELF of the sections given as (kind, link); section 1 holds their names too."""
    data, headers = b"", [bytes(_SECTION.size)] if bodies else []
    for body, (kind, link) in zip(bodies, kinds, strict=True):
        place = _ELF.size + len(data)
        headers.append(_SECTION.pack(0, kind, 0, 0, place, len(body), link, 0, 1, 0))
        data += _padded(body)
    ident = b"\x7fELF\x02\x01\x01" + bytes(osabi) + bytes(7)
    table = _ELF.size + len(data) if headers else 0
    names = 1 if headers else 0
    head = _ELF.pack(ident, 2, machine, 1, 0, 0, table, flags, 64, 56, 0, 64, len(headers), names)
    return head + data + b"".join(headers)
