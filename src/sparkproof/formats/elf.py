"""64-bit little-endian ELF: header, sections, symbols; what device code needs and no more."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import msgspec

from sparkproof.core.errors import FormatError

MAGIC = b"\x7fELF"
HEADER_BYTES = 64
SECTION_HEADER_BYTES = 64
PROGRAM_HEADER_BYTES = 56
MACHINE_CUDA = 190

PT_LOAD, PT_DYNAMIC = 1, 2
SHT_SYMTAB, SHT_NOTE, SHT_NOBITS = 2, 7, 8
STT_FUNC = 2

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOTE = struct.Struct("<III")


class ElfHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of the ELF header that matter here."""

    osabi: int
    machine: int
    flags: int
    program_offset: int
    program_count: int
    section_offset: int
    section_count: int
    names_index: int


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One section header; its name lies in the section of names."""

    name_offset: int
    kind: int
    offset: int
    size: int
    link: int


class Program(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One program header."""

    kind: int
    offset: int
    address: int
    size: int


class Symbol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One symbol; `name_offset` points into the string table."""

    name_offset: int
    kind: int
    other: int
    section: int
    value: int
    size: int


def parse_header(data: bytes) -> ElfHeader:
    """Parse the first 64 bytes.

    Raises:
        FormatError: no 64-bit little-endian ELF, or cut short.
    """
    if not data.startswith(MAGIC):
        raise FormatError("no ELF", offset=0)
    if len(data) < HEADER_BYTES:
        raise FormatError("ELF header is cut short", offset=len(data))
    if data[4] != 2 or data[5] != 1:
        raise FormatError("not a 64-bit little-endian ELF", offset=4)
    ident, _, machine, _, _, phoff, shoff, flags, _, phsize, phnum, shsize, shnum, names = (
        _HEADER.unpack_from(data)
    )
    if phnum and phsize != PROGRAM_HEADER_BYTES:
        raise FormatError(f"program headers of {phsize} bytes", offset=54)
    if shnum and shsize != SECTION_HEADER_BYTES:
        raise FormatError(f"section headers of {shsize} bytes", offset=58)
    return ElfHeader(ident[7], machine, flags, phoff, phnum, shoff, shnum, names)


def parse_sections(table: bytes) -> tuple[Section, ...]:
    """Parse a section header table; a partial last header is left out."""
    whole = table[: len(table) // SECTION_HEADER_BYTES * SECTION_HEADER_BYTES]
    return tuple(
        Section(name, kind, offset, size, link)
        for name, kind, _, _, offset, size, link, _, _, _ in _SECTION.iter_unpack(whole)
    )


def parse_programs(table: bytes) -> tuple[Program, ...]:
    """Parse a program header table; a partial last header is left out."""
    whole = table[: len(table) // PROGRAM_HEADER_BYTES * PROGRAM_HEADER_BYTES]
    return tuple(
        Program(kind, offset, address, size)
        for kind, _, offset, address, _, size, _, _ in _PROGRAM.iter_unpack(whole)
    )


class Elf:
    """A whole ELF image in memory, read with bounds checks.

    Raises:
        FormatError: from the constructor and every method, where the image lies.
    """

    def __init__(self, image: bytes) -> None:
        self.header = parse_header(image)
        self._image = memoryview(image)
        count = self.header.section_count
        table = self.slice(self.header.section_offset, count * SECTION_HEADER_BYTES)
        self.sections = parse_sections(bytes(table))
        self._names = self._read_names()

    @property
    def size_bytes(self) -> int:
        """Of the image."""
        return len(self._image)

    def slice(self, offset: int, size: int) -> memoryview:
        """``[offset, offset + size)`` of the image."""
        if offset + size > len(self._image):
            raise FormatError(
                f"{size} bytes lie beyond the end of the ELF ({len(self._image)})", offset=offset
            )
        return self._image[offset : offset + size]

    def data(self, section: Section) -> memoryview:
        """The contents of one section."""
        if section.kind == SHT_NOBITS:
            return memoryview(b"")
        return self.slice(section.offset, section.size)

    def find(self, name: bytes) -> Section | None:
        """The first section of that name."""
        wanted = name + b"\0"
        return next(
            (
                section
                for section in self.sections
                if self._names.startswith(wanted, section.name_offset)
            ),
            None,
        )

    def symbols(self) -> tuple[bytes, Iterator[Symbol]]:
        """String table and symbols of ``.symtab``; empty where there is none."""
        table = next((s for s in self.sections if s.kind == SHT_SYMTAB), None)
        if table is None:
            return b"", iter(())
        if table.link >= len(self.sections):
            raise FormatError("symbol table names no string table", offset=table.offset)
        strings = bytes(self.data(self.sections[table.link]))
        raw = self.data(table)
        whole = raw[: len(raw) // _SYMBOL.size * _SYMBOL.size]
        return strings, (
            Symbol(name, info & 15, other, index, value, size)
            for name, info, other, index, value, size in _SYMBOL.iter_unpack(whole)
        )

    def _read_names(self) -> bytes:
        index = self.header.names_index
        if not self.sections:
            return b""
        if index >= len(self.sections):
            raise FormatError("no section names", offset=62)
        return bytes(self.data(self.sections[index]))


def text_at(strings: bytes, offset: int) -> str:
    """The NUL-terminated string at `offset`; undecodable bytes are escaped.

    Raises:
        FormatError: beyond the table, or unterminated.
    """
    end = strings.find(b"\0", offset)
    if offset > len(strings) or end < 0:
        raise FormatError("string lies beyond its table", offset=offset)
    return strings[offset:end].decode("utf-8", "backslashreplace")


def parse_notes(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Notes of one section as (type, name, description); stops at the first that does not fit."""
    at = 0
    while at + _NOTE.size <= len(data):
        name_size, desc_size, kind = _NOTE.unpack_from(data, at)
        name_end = at + _NOTE.size + name_size
        desc_at = (name_end + 3) & ~3
        if desc_at + desc_size > len(data):
            return
        name = data[at + _NOTE.size : name_end].rstrip(b"\0")
        yield kind, name, data[desc_at : desc_at + desc_size]
        at = (desc_at + desc_size + 3) & ~3
