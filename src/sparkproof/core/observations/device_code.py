"""Device code as found in an artifact: containers, entries, kernels. No judgement here."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.capability import Arch
from sparkproof.core.unknown import Unknown


class CodeKind(StrEnum):
    """What an entry holds."""

    CUBIN = "cubin"
    PTX = "ptx"
    LTO_IR = "lto-ir"


class Compression(StrEnum):
    """How an entry's payload is stored."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Opcodes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """SASS instruction counts that tell a real kernel from a dead one (opcode classes are facts)."""

    mma: dict[str, int] = {}
    trap: int = 0
    total: int = 0


class Kernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``__global__`` function in one cubin or PTX entry.

    Attributes:
        name: mangled symbol.
        code_bytes: size of its SASS (0 for PTX).
        opcodes: counted only where a judgement needs them.
    """

    name: str
    code_bytes: int = 0
    opcodes: Opcodes | None = None


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One header of a fat binary container, or one loose cubin or PTX file."""

    kind: CodeKind
    arch: Arch
    compression: Compression = Compression.NONE
    stored_bytes: int = 0
    size_bytes: int = 0
    isa_version: tuple[int, int] = (0, 0)
    """PTX ISA version for PTX, cubin ABI for cubins, as (major, minor)."""


class Container(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fat binary container: one translation unit; the loader takes one entry of it.

    Attributes:
        offset: byte offset inside the member.
        relocatable: lies in ``__nv_relfatbin``: input of a device link, never loaded itself.
        chosen: index into `entries` of the entry that the device's loader takes, -1 for none
            and where no device was asked for.
        kernels: of the chosen entry; where none is chosen, of the entry that names them best.
    """

    offset: int
    entries: tuple[Entry, ...]
    relocatable: bool = False
    chosen: int = -1
    kernels: tuple[Kernel, ...] = ()


class Library(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member of an artifact that holds, or could hold, device code.

    Attributes:
        sha256: of the whole member ("" where not computed).
        needed: ``DT_NEEDED`` names of an ELF, e.g. ``libcudart.so.13``.
        toolkit: ptxas version as in ``.note.nv.tkinfo``, e.g. ``13.0.88`` ("" if not told).
    """

    path: str
    size_bytes: int
    containers: tuple[Container, ...] = ()
    needed: tuple[str, ...] = ()
    toolkit: str = ""
    sha256: str = ""


class DeviceCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All device code of one artifact."""

    libraries: tuple[Library, ...]
    loose: tuple[tuple[str, Entry], ...] = ()
    """Loose ``.cubin`` and ``.ptx`` files: (path, entry)."""
    unknowns: tuple[Unknown, ...] = ()
