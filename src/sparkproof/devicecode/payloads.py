"""From one kept payload to its kernels, with opcode counts where a judgement needs them."""

from __future__ import annotations

from functools import cache

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.device_code import CodeKind, Entry, Kernel, Opcodes
from sparkproof.devicecode.families import family_book
from sparkproof.facts.loading import opcodes
from sparkproof.formats.cubin import CubinKernel, parse_cubin, parse_kernels, parse_toolkit
from sparkproof.formats.elf import Elf
from sparkproof.formats.payload import iterate_payload, unpack_payload
from sparkproof.formats.ptx import parse_ptx, parse_ptx_header
from sparkproof.formats.sass import INSTRUCTION_BYTES, count_opcodes


class PayloadView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one payload holds."""

    kernels: tuple[Kernel, ...]
    toolkit: str = ""


def read_payload(entry: Entry, payload: bytes, offset: int, *, loads: bool) -> PayloadView:
    """Kernels of one entry.

    Args:
        payload: as stored, without padding.
        offset: of its container, for errors.
        loads: count opcodes for families whose kernels have to prove themselves alive.

    Raises:
        FormatError: damaged, or larger than the bound.
    """
    if entry.kind is CodeKind.PTX:
        text = iterate_payload(payload, entry.compression, entry.size_bytes, offset=offset)
        scan = parse_ptx(text)
        if scan.header.arch != entry.arch:
            raise FormatError(
                f"PTX for {scan.header.arch} in an entry for {entry.arch}", offset=offset
            )
        return PayloadView(tuple(Kernel(name) for name in scan.kernels), scan.header.toolkit)
    image = unpack_payload(payload, entry.compression, entry.size_bytes, offset=offset)
    return read_cubin(image, loads=loads)


def read_cubin(image: bytes, *, loads: bool) -> PayloadView:
    """Kernels of one cubin.

    Raises:
        FormatError: damaged.
    """
    elf = parse_cubin(image)
    found = parse_kernels(elf)
    if not loads:
        kernels = tuple(Kernel(kernel.name, kernel.size) for kernel in found)
        return PayloadView(kernels, parse_toolkit(elf))
    members = family_book().sort([kernel.name for kernel in found])
    kernels = tuple(
        Kernel(kernel.name, kernel.size, _count(elf, kernel) if member.opcode_test else None)
        for kernel, member in zip(found, members, strict=True)
    )
    return PayloadView(kernels, parse_toolkit(elf))


def read_toolkit(entry: Entry, payload: bytes) -> str:
    """Version of the toolkit that made one entry ("" if it does not tell).

    Raises:
        FormatError: as `read_payload`.
    """
    if entry.kind is CodeKind.PTX:
        text = iterate_payload(payload, entry.compression, entry.size_bytes)
        return parse_ptx_header(next(text, b"")).toolkit
    return parse_toolkit(parse_cubin(unpack_payload(payload, entry.compression, entry.size_bytes)))


@cache
def _codes() -> tuple[int, ...]:
    return tuple(code for opcode in opcodes() for code in opcode.codes)


def _count(elf: Elf, kernel: CubinKernel) -> Opcodes:
    counts = count_opcodes(elf.slice(kernel.offset, kernel.size), _codes())
    sums = {opcode.name: sum(counts[code] for code in opcode.codes) for opcode in opcodes()}
    traps = {opcode.name for opcode in opcodes() if not opcode.mma}
    return Opcodes(
        mma={name: count for name, count in sums.items() if count and name not in traps},
        trap=sum(sums[name] for name in traps),
        total=kernel.size // INSTRUCTION_BYTES,
    )
