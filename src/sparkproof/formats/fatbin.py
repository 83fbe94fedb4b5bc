"""Headers of fat binary containers and their entries.

A container is what the CUDA runtime registers for one translation unit: a 16-byte header, then
entries back to back, each one cubin, PTX text or LTO-IR for one architecture. The layout is
undocumented; it was read off wheels built with CUDA 12.4 to 13.2 and checked against
NVIDIA's ``cuobjdump`` 13.5 (2026-11-29).
"""

from __future__ import annotations

import struct

import msgspec

from sparkproof.core.capability import Arch
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.device_code import CodeKind, Compression, Entry

MAGIC = b"\x50\xed\x55\xba"
CONTAINER_HEADER_BYTES = 16
ENTRY_HEADER_BYTES = 64
MAX_ENTRY_HEADER_BYTES = 4096

_CONTAINER = struct.Struct("<IHHQ")
# kind, -, header size, payload size, compressed size, options, minor, major, arch, name offset,
# name length, flags, -, uncompressed size
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")

_KINDS = {1: CodeKind.PTX, 2: CodeKind.CUBIN, 8: CodeKind.LTO_IR}
_FLAG_LZ4 = 0x2000
_FLAG_ZSTD = 0x8000
_FLAG_ARCH_SPECIFIC = 0x100000
_FLAG_FAMILY = 0x200000


class ContainerHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The 16 bytes before the entries."""

    version: int
    header_bytes: int
    payload_bytes: int

    @property
    def known(self) -> bool:
        """Whether it has the one layout that this module can walk."""
        return self.version == 1 and self.header_bytes == CONTAINER_HEADER_BYTES


class EntryHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry and how to walk over it.

    Attributes:
        header_bytes: from the entry's start to its payload.
        payload_bytes: as stored, with padding: the next entry follows.
        packed_bytes: payload without padding.
    """

    entry: Entry
    header_bytes: int
    payload_bytes: int
    packed_bytes: int


def parse_container_header(data: bytes, offset: int = 0) -> ContainerHeader:
    """Parse 16 bytes that start with `MAGIC`.

    Raises:
        FormatError: too short, or another magic.
    """
    if len(data) < CONTAINER_HEADER_BYTES or not data.startswith(MAGIC):
        raise FormatError("no fat binary container", offset=offset)
    _, version, header_bytes, payload_bytes = _CONTAINER.unpack_from(data)
    return ContainerHeader(version, header_bytes, payload_bytes)


def parse_entry_header(data: bytes, offset: int, room: int) -> EntryHeader:
    """Parse the fixed 64 bytes of an entry.

    Args:
        data: the entry's first 64 bytes.
        offset: where it lies, for errors.
        room: bytes from its start to the end of its container.

    Raises:
        FormatError: sizes that don't fit the container, an unknown kind or suffix.
    """
    if len(data) < ENTRY_HEADER_BYTES:
        raise FormatError("entry header is cut short", offset=offset)
    fields = _ENTRY.unpack_from(data)
    code, _, header_bytes, payload_bytes, packed, _, minor, major, number = fields[:9]
    flags, size_bytes = fields[11], fields[13]
    if not ENTRY_HEADER_BYTES <= header_bytes <= MAX_ENTRY_HEADER_BYTES:
        raise FormatError(f"entry header claims {header_bytes} bytes", offset=offset)
    if header_bytes + payload_bytes > room:
        raise FormatError(
            f"entry claims {header_bytes + payload_bytes} bytes where {room} are left",
            offset=offset,
        )
    kind = _KINDS.get(code)
    if kind is None:
        raise FormatError(f"entry of unknown kind {code:#x}", offset=offset)
    if packed > payload_bytes:
        raise FormatError("compressed size exceeds the payload", offset=offset)
    compression = _compression(flags, offset)
    stored = packed if compression is not Compression.NONE and packed else payload_bytes
    entry = Entry(
        kind=kind,
        arch=_arch(number, flags, offset),
        compression=compression,
        stored_bytes=stored,
        size_bytes=size_bytes if compression is not Compression.NONE else payload_bytes,
        isa_version=(major, minor),
    )
    return EntryHeader(entry, header_bytes, payload_bytes, stored)


def _compression(flags: int, offset: int) -> Compression:
    lz4, zstd = bool(flags & _FLAG_LZ4), bool(flags & _FLAG_ZSTD)
    if lz4 and zstd:
        raise FormatError("entry claims two compressions", offset=offset)
    if lz4:
        return Compression.LZ4
    return Compression.ZSTD if zstd else Compression.NONE


def _arch(number: int, flags: int, offset: int) -> Arch:
    specific, family = bool(flags & _FLAG_ARCH_SPECIFIC), bool(flags & _FLAG_FAMILY)
    if not 10 <= number <= 999:
        raise FormatError(f"entry for unknown architecture {number}", offset=offset)
    if specific and family:
        raise FormatError("entry is architecture- and family-specific at once", offset=offset)
    return Arch(number, "a" if specific else "f" if family else "")
