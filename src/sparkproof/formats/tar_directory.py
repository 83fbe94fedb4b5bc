"""Where the files of a tar archive lie, found by its headers alone; never extracted."""

from __future__ import annotations

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.ports import ByteSource
from sparkproof.core.unknown import Unknown
from sparkproof.formats import tar_header
from sparkproof.formats.safe_path import check_member_path
from sparkproof.formats.tar_header import BLOCK_BYTES, CUT_OFF

MAX_ENTRIES = 500_000
_MAX_MEMBER_BYTES = 16 << 30
_MAX_UNKNOWNS = 1000
_REGULAR = (ord("0"), 0, ord("7"))
_FOLDER, _SPARSE = ord("5"), ord("S")
_WHY = {
    ord("1"): "is a hard link, not followed",
    ord("2"): "is a symbolic link, not followed",
    _SPARSE: "is a sparse file, not read",
}


class TarEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One regular file: where its bytes lie in the uncompressed archive."""

    path: str
    offset: int
    size_bytes: int


class TarDirectory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All regular files, sorted by path, and what was no regular file."""

    entries: tuple[TarEntry, ...]
    unknowns: tuple[Unknown, ...] = ()


class _Header(msgspec.Struct, frozen=True):
    flag: int
    path: str
    size: int


def parse_tar_directory(source: ByteSource) -> TarDirectory:
    """Walk the headers from front to back. A folder that holds everything is left out.

    Raises:
        FormatError: no tar archive, damaged, cut off, or with names that lead out of it.
    """
    entries: dict[str, TarEntry] = {}
    unknowns: list[Unknown] = []
    records: dict[str, str] = {}
    at = 0
    while header := _read_header(source, at):
        data_at = at + BLOCK_BYTES
        if header.flag in tar_header.AMENDING:
            records |= _records(source, header, data_at)
            at = data_at + _padded(header.size)
            continue
        header = _amended(header, records, at)
        records = {}
        path = header.path.removeprefix("./").rstrip("/")
        if path not in ("", "."):
            _take(header, path, data_at, entries, unknowns)
        at = data_at + (_padded(header.size) if header.flag not in tar_header.WITHOUT_DATA else 0)
    if not entries and not at:
        raise FormatError("no tar archive", offset=0)
    for entry in entries.values():
        if entry.offset + entry.size_bytes > source.size_bytes:
            raise FormatError("is cut off", where=entry.path, offset=entry.offset)
    return _without_top(entries, unknowns)


def _take(
    header: _Header,
    path: str,
    data_at: int,
    entries: dict[str, TarEntry],
    unknowns: list[Unknown],
) -> None:
    check_member_path(path, data_at - BLOCK_BYTES)
    if header.flag in _REGULAR:
        if path in entries:
            raise FormatError("stands twice in the archive", where=path, offset=data_at)
        if len(entries) >= MAX_ENTRIES:
            raise FormatError(f"more than {MAX_ENTRIES} members", offset=data_at)
        entries[path] = TarEntry(path, data_at, header.size)
    elif header.flag != _FOLDER and len(unknowns) < _MAX_UNKNOWNS:
        why = _WHY.get(header.flag, "is no regular file")
        unknowns.append(Unknown(where=path, why=why, topic="artifact"))


def _read_header(source: ByteSource, at: int) -> _Header | None:
    block = source.read_at(at, BLOCK_BYTES)
    if not block and at:
        return None
    if len(block) < BLOCK_BYTES:
        raise FormatError(CUT_OFF, offset=at + len(block))
    if not tar_header.is_header(block, at):
        return None
    size = tar_header.amended_size(tar_header.stated_size(block, at), {}, _MAX_MEMBER_BYTES, at)
    return _Header(block[156], tar_header.stated_path(block), size)


def _records(source: ByteSource, header: _Header, at: int) -> dict[str, str]:
    if header.size > tar_header.MAX_RECORDS_BYTES:
        raise FormatError(f"header of {header.size} bytes", offset=at)
    data = source.read_at(at, header.size)
    if len(data) < header.size:
        raise FormatError(CUT_OFF, offset=at + len(data))
    return tar_header.records_of(header.flag, data, at)


def _amended(header: _Header, records: dict[str, str], at: int) -> _Header:
    size = tar_header.amended_size(header.size, records, _MAX_MEMBER_BYTES, at)
    flag = _SPARSE if "sparse" in records else header.flag
    return _Header(flag, records.get("path", header.path), size)


def _without_top(entries: dict[str, TarEntry], unknowns: list[Unknown]) -> TarDirectory:
    tops = {path.split("/", 1)[0] for path in entries}
    nested = all("/" in path for path in entries)
    found = list(entries.values())
    if len(tops) == 1 and nested:
        cut = len(tops.pop()) + 1
        found = [msgspec.structs.replace(e, path=e.path[cut:]) for e in found]
    return TarDirectory(tuple(sorted(found, key=lambda e: e.path)), tuple(unknowns))


def _padded(size: int) -> int:
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES
