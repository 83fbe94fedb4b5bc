"""What a streamed host ELF says about itself: where its sections lie, what it links.

Section headers and often the dynamic strings stand behind the device code, so both are
captured while they pass: ranges that the headers announce, and the few strings that can
matter, each with its offset. Nothing is read twice and memory stays flat. Section names are
looked for only behind the first container: linkers put them after all that is loaded.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right

from sparkproof.core.unknown import Unknown
from sparkproof.formats.cursor import ByteCursor, Window
from sparkproof.formats.elf import (
    HEADER_BYTES,
    PROGRAM_HEADER_BYTES,
    PT_DYNAMIC,
    PT_LOAD,
    SECTION_HEADER_BYTES,
    SHT_NOBITS,
    ElfHeader,
    Program,
    parse_header,
    parse_programs,
    parse_sections,
)

EXECUTABLE_SECTION = b".nv_fatbin\0"
RELOCATABLE_SECTION = b"__nv_relfatbin\0"

_MAX_TABLE_BYTES = 1 << 20
_MAX_STRINGS = 16384
_MAX_NAME_BYTES = 255
_MAX_NEEDED = 1024
_SECTION_NAME_END = re.compile(rb"fatbin\0")  # a literal: an alternation is six times slower
_LIBRARY_MARK = re.compile(rb"\.so")
_DYNAMIC = struct.Struct("<QQ")
_DT_NEEDED, _DT_STRTAB = 1, 5


class HostElf:
    """Collects while a cursor passes over one ELF, answers afterwards.

    Args:
        cursor: stands at the ELF's first byte.

    Raises:
        FormatError: no 64-bit little-endian ELF.
    """

    def __init__(self, cursor: ByteCursor) -> None:
        self._start = cursor.position
        self.header: ElfHeader = parse_header(cursor.peek(HEADER_BYTES))
        self._programs = self._read_programs(cursor)
        self._dynamic = self._watch_dynamic(cursor)
        self._sections = self._watch_sections(cursor)
        self._strings: dict[int, bytes] = {}
        self._starts: list[int] = []
        self._names: dict[int, bytes] = {}
        self.holds_code = False
        """Set once a container was met: section names stand behind it."""
        self._tail = b""
        self._tail_end = -1

    def tap(self, offset: int, data: bytes) -> None:
        """Note the strings of a stretch that holds no device code."""
        if offset == self._tail_end:
            data, offset = self._tail + data, offset - len(self._tail)
        if self.holds_code:
            self._note_section_names(offset, data)
        self._note_library_names(offset, data)
        self._tail, self._tail_end = data[-_MAX_NAME_BYTES:], offset + len(data)

    def ranges(self, name: bytes) -> list[tuple[int, int]]:
        """Absolute (start, end) of the sections with that name, a constant of this module."""
        if self._sections is None:
            return []
        sections = parse_sections(self._sections.data)
        if self.header.names_index >= len(sections):
            return []
        names = sections[self.header.names_index].offset
        return [
            (self._start + section.offset, self._start + section.offset + section.size)
            for section in sections
            if section.kind != SHT_NOBITS and self._names.get(names + section.name_offset) == name
        ]

    def needed(self) -> tuple[tuple[str, ...], list[Unknown]]:
        """``DT_NEEDED`` names, and what could not be told of them."""
        if self._dynamic is None:
            return (), []
        data = self._dynamic.data
        whole = data[: len(data) // _DYNAMIC.size * _DYNAMIC.size]
        pairs = list(_DYNAMIC.iter_unpack(whole))
        table = next((value for tag, value in pairs if tag == _DT_STRTAB), None)
        base = None if table is None else self._file_offset(table)
        self._starts = sorted(self._strings)
        names, unknowns = [], []
        for value in [value for tag, value in pairs if tag == _DT_NEEDED][:_MAX_NEEDED]:
            name = "" if base is None else self._string(base + value)
            if name:
                names.append(name)
            else:
                unknowns.append(
                    Unknown(
                        where=f"DT_NEEDED {value:#x}", why="library name not found", topic="elf"
                    )
                )
        return tuple(names), unknowns[:16]

    def _read_programs(self, cursor: ByteCursor) -> tuple[Program, ...]:
        header = self.header
        end = header.program_offset + header.program_count * PROGRAM_HEADER_BYTES
        if end > _MAX_TABLE_BYTES:
            return ()
        return parse_programs(cursor.peek(end)[header.program_offset : end])

    def _watch_dynamic(self, cursor: ByteCursor) -> Window | None:
        for program in self._programs:
            if program.kind == PT_DYNAMIC:
                size = min(program.size, _MAX_TABLE_BYTES)
                return cursor.watch(self._start + program.offset, size)
        return None

    def _watch_sections(self, cursor: ByteCursor) -> Window | None:
        size = self.header.section_count * SECTION_HEADER_BYTES
        if not size:
            return None
        return cursor.watch(self._start + self.header.section_offset, size)

    def _note_section_names(self, offset: int, data: bytes) -> None:
        for match in _SECTION_NAME_END.finditer(data):
            for name in (EXECUTABLE_SECTION, RELOCATABLE_SECTION):
                at = match.end() - len(name)
                if at >= 0 and data.startswith(name, at) and len(self._names) < _MAX_STRINGS:
                    self._names[offset + at - self._start] = name

    def _note_library_names(self, offset: int, data: bytes) -> None:
        for match in _LIBRARY_MARK.finditer(data):
            at = match.start()
            begin = data.rfind(b"\0", max(0, at - _MAX_NAME_BYTES), at) + 1
            end = data.find(b"\0", at, at + _MAX_NAME_BYTES)
            if end >= 0 and begin > 0 and len(self._strings) < _MAX_STRINGS:
                self._strings[offset + begin - self._start] = data[begin:end]

    def _file_offset(self, address: int) -> int | None:
        for program in self._programs:
            if program.kind == PT_LOAD and 0 <= address - program.address < program.size:
                return address - program.address + program.offset
        return None

    def _string(self, offset: int) -> str:
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return ""
        start = self._starts[index]
        return self._strings[start][offset - start :].decode("utf-8", "backslashreplace")
