"""Finds every fat binary container in a stream of bytes, in one pass and flat memory.

Payloads are skipped unless the caller wants one. A container that lies about itself becomes an
`Unknown`, and the search resumes right behind the header that lied, so that one bad header
hides nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.device_code import Entry, LibraryForm
from sparkproof.core.unknown import Unknown
from sparkproof.formats import ar
from sparkproof.formats.cursor import ByteCursor
from sparkproof.formats.elf import MACHINE_CUDA
from sparkproof.formats.elf import MAGIC as ELF_MAGIC
from sparkproof.formats.fatbin import (
    CONTAINER_HEADER_BYTES,
    ENTRY_HEADER_BYTES,
    MAGIC,
    parse_container_header,
    parse_entry_header,
)
from sparkproof.formats.host_elf import EXECUTABLE_SECTION, RELOCATABLE_SECTION, HostElf

_MAGIC_PATTERN = re.compile(re.escape(MAGIC))
MAX_ENTRIES = 1 << 18
"""Containers and entries of one file together."""
MAX_UNKNOWNS = 64
TOPIC = "devicecode"

Keeper = Callable[[int, Entry], bool]
"""Asked at each entry, with its index in the container: keep this payload instead of any before?"""


def keep_nothing(_index: int, _entry: Entry) -> bool:
    """For a scan of headers only."""
    return False


class ScannedContainer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One container, with the payload that was wanted.

    Attributes:
        kept: index of the entry whose stored payload (without padding) is `payload`; -1 for none.
    """

    offset: int
    entries: tuple[Entry, ...]
    kept: int = -1
    payload: bytes = b""


class DeviceScan:
    """One pass over one member: iterate, then ask for `form`, `needed`, `is_relocatable`.

    Args:
        chunks: the member's bytes, front to back.
        size_bytes: its declared size; no container reaches beyond it.
        keep: which payloads to keep, at most one a container.
    """

    def __init__(
        self, chunks: Iterator[bytes], size_bytes: int, keep: Keeper = keep_nothing
    ) -> None:
        self._cursor = ByteCursor(chunks)
        self._size = size_bytes
        self._keep = keep
        self._entries = 0
        self._suspects: list[int] = []
        self._hosts: list[HostElf] = []
        self.unknowns: list[Unknown] = []
        self.form = self._recognise(self._cursor.peek(ENTRY_HEADER_BYTES))

    def __iter__(self) -> Iterator[ScannedContainer]:
        if self.form is LibraryForm.ARCHIVE:
            for end in ar.walk_members(self._cursor, self._size):
                yield from self._scan_image(end)
        elif self.form is not LibraryForm.NONE:
            yield from self._scan_image(self._size)
        self._cursor.skip(self._size)
        self._report_suspects()

    @property
    def is_cubin(self) -> bool:
        """Whether the whole is one cubin; before iterating."""
        head = self._cursor.peek(ENTRY_HEADER_BYTES)
        return head.startswith(ELF_MAGIC) and _machine(head) == MACHINE_CUDA

    def read_all(self, limit_bytes: int) -> bytes:
        """The whole member.

        Raises:
            FormatError: larger than `limit_bytes`.
        """
        if self._size > limit_bytes:
            raise FormatError(f"{self._size} bytes are too many to look at")
        data = self._cursor.collect(self._size)
        self._cursor.skip(1)  # to the very end: checksums are compared there
        return data

    def needed(self) -> tuple[str, ...]:
        """``DT_NEEDED`` names; gaps are added to `unknowns`."""
        names: list[str] = []
        for host in self._hosts:
            found, unknowns = host.needed()
            names += found
            self.unknowns += unknowns
        return tuple(dict.fromkeys(names))

    def relocatable_ranges(self) -> list[tuple[int, int]]:
        """Absolute (start, end) of what is input of a device link, never loaded itself."""
        return [r for host in self._hosts for r in host.ranges(RELOCATABLE_SECTION)]

    def _recognise(self, head: bytes) -> LibraryForm:
        if head.startswith(ar.MAGIC):
            return LibraryForm.ARCHIVE
        if head.startswith(MAGIC):
            return LibraryForm.FATBIN
        if not head.startswith(ELF_MAGIC) or len(head) < ENTRY_HEADER_BYTES:
            return LibraryForm.NONE
        if _machine(head) == MACHINE_CUDA:
            return LibraryForm.NONE
        return LibraryForm.OBJECT if head[16] == 1 else LibraryForm.LIBRARY

    def _scan_image(self, end: int) -> Iterator[ScannedContainer]:
        host = self._open_host()
        tap = host.tap if host else _no_tap
        cursor = self._cursor
        while self._entries < MAX_ENTRIES and cursor.find(_MAGIC_PATTERN, len(MAGIC), end, tap):
            start = cursor.position
            stop = self._container_end(start)
            if not stop:
                cursor.skip(len(MAGIC))
                continue
            cursor.skip(CONTAINER_HEADER_BYTES)
            self._entries += 1
            if stop > end:
                self._note(start, f"container claims to end at {stop:#x}, beyond {end:#x}")
            if host:
                host.holds_code = True
            yield self._walk(start, min(stop, end))
        if self._entries >= MAX_ENTRIES:
            self._note(cursor.position, f"more than {MAX_ENTRIES} entries: not read further")

    def _open_host(self) -> HostElf | None:
        if self._cursor.peek(4) != ELF_MAGIC:
            return None
        try:
            host = HostElf(self._cursor)
        except FormatError as error:
            self._note(self._cursor.position, error.reason)
            return None
        self._hosts.append(host)
        return host

    def _container_end(self, start: int) -> int:
        """Where the container at the cursor claims to end; 0 where it is none that we know."""
        head = self._cursor.peek(CONTAINER_HEADER_BYTES)
        if len(head) == CONTAINER_HEADER_BYTES:
            header = parse_container_header(head, start)
            if header.known:
                return start + CONTAINER_HEADER_BYTES + header.payload_bytes
        if len(self._suspects) < MAX_UNKNOWNS:
            self._suspects.append(start)
        return 0

    def _walk(self, start: int, stop: int) -> ScannedContainer:
        entries: list[Entry] = []
        kept, payload = -1, b""
        cursor = self._cursor
        while cursor.position < stop and self._entries < MAX_ENTRIES:
            at = cursor.position
            try:
                header = parse_entry_header(cursor.peek(ENTRY_HEADER_BYTES), at, stop - at)
            except FormatError as error:
                self._note(at, error.reason)
                break
            self._entries += 1
            entries.append(header.entry)
            cursor.skip(header.header_bytes)
            if self._keep(len(entries) - 1, header.entry):
                payload = cursor.collect(header.packed_bytes)
                kept = len(entries) - 1
                passed = len(payload)
            else:
                passed = cursor.skip(header.packed_bytes)
            passed += cursor.skip(header.payload_bytes - header.packed_bytes)
            if passed < header.payload_bytes:
                self._note(at, "entry is cut short by the end of the file")
        return ScannedContainer(start, tuple(entries), kept, payload)

    def _report_suspects(self) -> None:
        """A magic in host code is chance; in a fat binary section it is a container unread."""
        ranges = self.relocatable_ranges()
        ranges += [r for host in self._hosts for r in host.ranges(EXECUTABLE_SECTION)]
        for offset in self._suspects:
            inside = any(begin <= offset < end for begin, end in ranges)
            if inside or self.form is LibraryForm.FATBIN:
                self._note(offset, "container of an unknown version, or cut short")

    def _note(self, offset: int, why: str) -> None:
        if len(self.unknowns) < MAX_UNKNOWNS:
            self.unknowns.append(Unknown(where=f"@{offset:#x}", why=why, topic=TOPIC))


def _machine(head: bytes) -> int:
    return int.from_bytes(head[18:20], "little")


def _no_tap(_offset: int, _data: bytes) -> None:
    """Where there is no ELF around the containers."""
