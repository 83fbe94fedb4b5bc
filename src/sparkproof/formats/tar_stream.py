"""The entries of a tar archive that can only be read once, front to back.

Links, devices and sparse files are entries like any other, so that whoever merges layers can
respect them; nothing is extracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from sparkproof.core.errors import FormatError
from sparkproof.formats import tar_header
from sparkproof.formats.tar_header import BLOCK_BYTES, CUT_OFF

MAX_ENTRIES = 4_000_000
_MAX_MEMBER_BYTES = 1 << 40


class EntryKind(StrEnum):
    """What a tar entry is."""

    FILE = "file"
    FOLDER = "folder"
    HARD_LINK = "hard link"
    SYMBOLIC_LINK = "symbolic link"
    SPARSE = "sparse file"
    SPECIAL = "device or pipe"


_KINDS = {
    0x30: EntryKind.FILE,
    0x00: EntryKind.FILE,
    0x37: EntryKind.FILE,
    0x31: EntryKind.HARD_LINK,
    0x32: EntryKind.SYMBOLIC_LINK,
    0x33: EntryKind.SPECIAL,
    0x34: EntryKind.SPECIAL,
    0x35: EntryKind.FOLDER,
    0x36: EntryKind.SPECIAL,
    0x53: EntryKind.SPARSE,
}
_OLD_SPARSE = 0x53


class TarMember(NamedTuple):
    """One entry: `path` as written, without its leading ``./`` or ``/`` and trailing slash."""

    path: str
    kind: EntryKind
    size_bytes: int
    target: str
    offset: int


class TarStream:
    """Iterate for the entries; `chunks` or `read` give the data of the one just met.

    Data that nobody asks for is passed over.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._buffer = b""
        self._at = 0
        self._base = 0
        self._left = 0
        self._pad = 0
        self._ended = False

    @property
    def position(self) -> int:
        """Offset of the next unread byte."""
        return self._base + self._at

    def __iter__(self) -> Iterator[TarMember]:
        """All entries.

        Raises:
            FormatError: no tar archive, damaged, or cut off.
        """
        extra: dict[str, str] = {}
        count = 0
        while True:
            self._skip(self._left + self._pad)
            self._left = self._pad = 0
            at = self.position
            block = self._header(at)
            if block is None:
                self._drain()
                return
            flag = block[156]
            size = tar_header.stated_size(block, at)
            if flag in tar_header.AMENDING:
                extra |= self._extra(flag, size, at)
                continue
            count += 1
            if count > MAX_ENTRIES:
                raise FormatError(f"more than {MAX_ENTRIES} entries", offset=at)
            member = _member(block, size, extra, at)
            extra = {}
            if flag not in tar_header.WITHOUT_DATA and member.kind is not EntryKind.FOLDER:
                self._left = member.size_bytes
                self._pad = -member.size_bytes % BLOCK_BYTES
            if flag == _OLD_SPARSE and block[482]:
                self._pass_sparse_maps(at)
            yield member

    def chunks(self) -> Iterator[bytes]:
        """Data of the present entry that was not read yet.

        Raises:
            FormatError: cut off.
        """
        while self._left:
            if self._at >= len(self._buffer):
                self._pull()
            piece = self._buffer[self._at : self._at + self._left]
            self._at += len(piece)
            self._left -= len(piece)
            yield piece

    def read(self) -> bytes:
        """All of it at once; the caller has looked at the size."""
        return b"".join(self.chunks())

    def _header(self, at: int) -> bytes | None:
        buffer, start = self._buffer, self._at
        if start + BLOCK_BYTES <= len(buffer):
            block = buffer[start : start + BLOCK_BYTES]
            self._at = start + BLOCK_BYTES
        else:
            block = self._take(BLOCK_BYTES)
            if not block and at:
                return None
            if len(block) < BLOCK_BYTES:
                fault = CUT_OFF if at else "no tar archive"
                raise FormatError(fault, offset=at + len(block))
        return block if tar_header.is_header(block, at) else None

    def _extra(self, flag: int, size: int, at: int) -> dict[str, str]:
        if size > tar_header.MAX_RECORDS_BYTES:
            raise FormatError(f"header of {size} bytes", offset=at)
        data = self._take(size)
        if len(data) < size:
            raise FormatError(CUT_OFF, offset=at)
        self._skip(-size % BLOCK_BYTES)
        return tar_header.records_of(flag, data, at)

    def _pass_sparse_maps(self, at: int) -> None:
        while True:
            more = self._take(BLOCK_BYTES)
            if len(more) < BLOCK_BYTES:
                raise FormatError(CUT_OFF, offset=at)
            if not more[504]:
                return

    def _take(self, count: int) -> bytes:
        parts = []
        while count and (self._at < len(self._buffer) or self._more()):
            piece = self._buffer[self._at : self._at + count]
            self._at += len(piece)
            count -= len(piece)
            parts.append(piece)
        return b"".join(parts)

    def _skip(self, count: int) -> None:
        while count:
            if self._at >= len(self._buffer):
                self._pull()
            step = min(count, len(self._buffer) - self._at)
            self._at += step
            count -= step

    def _drain(self) -> None:
        """Read to the end, so that whoever checks the whole has all of it."""
        while self._more():
            pass
        self._at = len(self._buffer)

    def _pull(self) -> None:
        if not self._more():
            raise FormatError(CUT_OFF, offset=self.position)

    def _more(self) -> bool:
        piece = b""
        while not piece:
            if self._ended:
                return False
            found = next(self._pieces, None)
            if found is None:
                self._ended = True
                return False
            piece = found
        self._base += len(self._buffer)
        self._buffer = piece
        self._at = 0
        return True


def clean_path(path: str) -> str:
    """Without a leading ``./`` or ``/`` and without a trailing slash."""
    while path.startswith(("./", "/")):
        path = path[2:] if path[0] == "." else path[1:]
    path = path.rstrip("/")
    return "" if path == "." else path


def _member(block: bytes, size: int, extra: dict[str, str], at: int) -> TarMember:
    path = extra["path"] if "path" in extra else tar_header.stated_path(block)
    size = tar_header.amended_size(size, extra, _MAX_MEMBER_BYTES, at)
    kind = _KINDS.get(block[156], EntryKind.SPECIAL)
    if kind is EntryKind.FILE and ("sparse" in extra or path.endswith("/")):
        kind = EntryKind.SPARSE if "sparse" in extra else EntryKind.FOLDER
    target = ""
    if kind in (EntryKind.HARD_LINK, EntryKind.SYMBOLIC_LINK):
        target = extra.get("linkpath") or tar_header.text(block[157:257])
    return TarMember(clean_path(path), kind, size, target, at)
