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
    """SASS instruction counts that tell a real kernel from a dead one; the classes are facts."""

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


class LibraryForm(StrEnum):
    """What kind of file holds the containers, by its first bytes."""

    LIBRARY = "library"
    """Linked: a shared library, extension module or program."""
    OBJECT = "object"
    ARCHIVE = "archive"
    FATBIN = "fatbin"
    NONE = "none"
    """Nothing that could hold containers."""


class Container(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fat binary container: one translation unit; the loader takes one entry of it.

    Attributes:
        offset: byte offset inside the member.
        relocatable: lies in ``__nv_relfatbin``: input of a device link, never loaded itself.
        chosen: index into `entries` of the entry that the device's loader takes, -1 for none
            and where no device was asked for.
        named_by: index of the entry that `kernels` were read from: the chosen one, or, where none
            is chosen, the one that names them best; -1 where no kernels were read.
        kernels: of that entry.
    """

    offset: int
    entries: tuple[Entry, ...]
    relocatable: bool = False
    chosen: int = -1
    named_by: int = -1
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
    form: LibraryForm = LibraryForm.LIBRARY
    containers: tuple[Container, ...] = ()
    needed: tuple[str, ...] = ()
    toolkit: str = ""
    sha256: str = ""


class LooseCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``.cubin`` or ``.ptx`` file: the program that ships it loads it by path.

    Attributes:
        suffix_known: False where the file does not tell whether it is architecture- or
            family-specific; then the architecture's number is all that is sure.
        toolkit: ptxas version ("" if not told).
    """

    path: str
    entry: Entry
    suffix_known: bool = True
    kernels: tuple[Kernel, ...] = ()
    toolkit: str = ""


class DeviceCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All device code of one artifact."""

    libraries: tuple[Library, ...]
    loose: tuple[LooseCode, ...] = ()
    """Loose ``.cubin`` and ``.ptx`` files."""
    unknowns: tuple[Unknown, ...] = ()
