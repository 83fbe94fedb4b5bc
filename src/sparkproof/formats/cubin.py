"""CUDA ELF images (cubins): architecture, kernels and their code.

Where the architecture stands moved with the toolkit; `parse_arch` knows the three places
(read off wheels of CUDA 12.4 to 13.2, checked with ``cuobjdump`` 13.5, 2026-11-29).
"""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.capability import Arch
from sparkproof.core.errors import FormatError
from sparkproof.formats.elf import (
    MACHINE_CUDA,
    SHT_NOTE,
    STT_FUNC,
    Elf,
    ElfHeader,
    Section,
    parse_notes,
    text_at,
)

_OSABI_OLD, _OSABI_NEW = 0x33, 0x41
_OLD_SPECIFIC, _NEW_SPECIFIC = 0x800, 0x8
_COMPAT_SECTION = b".nv.compat"
_TOOL_NOTE = b".note.nv.tkinfo"
_ATTRIBUTE_TARGET = 0x09
_SYMBOL_IS_KERNEL = 0x10
MAX_KERNELS = 1 << 16
MAX_NAME_BYTES = 1 << 15

_ARCH_OPTION = re.compile(rb"-arch[ =]+(sm_\d{2,3}[af]?)\b")
_TOOL_VERSION = re.compile(rb"\bV(\d+\.\d+\.\d+)\b")


class CubinArch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a bare cubin was compiled for.

    Attributes:
        suffix_known: False where the file does not say whether it is family-specific.
    """

    arch: Arch
    suffix_known: bool


class CubinKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``__global__`` function; its code lies at ``[offset, offset + size)`` of the image."""

    name: str
    offset: int
    size: int


def parse_cubin(image: bytes) -> Elf:
    """Open a cubin.

    Raises:
        FormatError: no ELF, damaged, or not for a CUDA device.
    """
    elf = Elf(image)
    if elf.header.machine != MACHINE_CUDA:
        raise FormatError(f"ELF for machine {elf.header.machine}, not CUDA", offset=18)
    return elf


def parse_kernels(elf: Elf) -> tuple[CubinKernel, ...]:
    """All kernels; device functions that are no entry points are left out.

    Raises:
        FormatError: symbols that lie about names, sections or sizes.
    """
    strings, symbols = elf.symbols()
    kernels: list[CubinKernel] = []
    name_bytes, code_bytes = len(strings), elf.size_bytes
    for symbol in symbols:
        if symbol.kind != STT_FUNC or not symbol.other & _SYMBOL_IS_KERNEL:
            continue
        if len(kernels) == MAX_KERNELS:
            raise FormatError(f"more than {MAX_KERNELS} kernels in one cubin")
        name = text_at(strings, symbol.name_offset)
        if len(name) > MAX_NAME_BYTES:
            raise FormatError(f"kernel name of {len(name)} bytes", offset=symbol.name_offset)
        section = _section(elf, symbol.section)
        if symbol.value + symbol.size > section.size:
            raise FormatError("kernel lies beyond its section", offset=section.offset)
        name_bytes -= len(name)
        code_bytes -= symbol.size
        if name_bytes < 0 or code_bytes < 0:
            raise FormatError("kernels lie over each other", offset=section.offset)
        kernels.append(CubinKernel(name, section.offset + symbol.value, symbol.size))
    return tuple(kernels)


def parse_arch(elf: Elf) -> CubinArch:
    """The architecture, from the cubin alone (a fat binary's entry header says it better).

    Raises:
        FormatError: an ABI that is not known, or a number that is no architecture.
    """
    header = elf.header
    if header.osabi == _OSABI_OLD:
        return _old_arch(header)
    if header.osabi != _OSABI_NEW:
        raise FormatError(f"cubin of unknown ABI {header.osabi:#x}", offset=7)
    number = header.flags >> 8 & 0xFF
    if (told := _told_arch(elf)) and told.number == number:
        return CubinArch(told, suffix_known=True)
    if header.flags & _NEW_SPECIFIC or _compat_specific(elf):
        return CubinArch(_checked(number, "a"), suffix_known=True)
    return CubinArch(_checked(number, ""), suffix_known=False)


def parse_toolkit(elf: Elf) -> str:
    """Version of the assembler that made it, e.g. ``13.0.88``; "" where it does not tell."""
    match = _TOOL_VERSION.search(_tool_note(elf))
    return match[1].decode() if match else ""


def _old_arch(header: ElfHeader) -> CubinArch:
    suffix = "a" if header.flags & _OLD_SPECIFIC else ""
    return CubinArch(_checked(header.flags & 0xFF, suffix), suffix_known=True)


def _checked(number: int, suffix: str) -> Arch:
    if number < 10:
        raise FormatError(f"cubin for unknown architecture {number}", offset=48)
    return Arch(number, suffix)


def _told_arch(elf: Elf) -> Arch | None:
    match = _ARCH_OPTION.search(_tool_note(elf))
    return Arch.parse(match[1].decode()) if match else None


def _tool_note(elf: Elf) -> bytes:
    section = elf.find(_TOOL_NOTE)
    if section is None or section.kind != SHT_NOTE:
        return b""
    return b" ".join(text for _, _, text in parse_notes(bytes(elf.data(section))))


def _compat_specific(elf: Elf) -> bool:
    """Records of {format, attribute, value}; format 4 carries its own length."""
    section = elf.find(_COMPAT_SECTION)
    data = bytes(elf.data(section)) if section else b""
    at = 0
    while at + 4 <= len(data):
        kind, attribute = data[at], data[at + 1]
        value = int.from_bytes(data[at + 2 : at + 4], "little")
        if attribute == _ATTRIBUTE_TARGET and kind in (2, 3):
            return (value & 0xFF if kind == 2 else value) == 1
        at += 4 + (value if kind == 4 else 0)
    return False


def _section(elf: Elf, index: int) -> Section:
    if index >= len(elf.sections):
        raise FormatError(f"symbol in section {index} of {len(elf.sections)}")
    return elf.sections[index]
