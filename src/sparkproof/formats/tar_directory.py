"""The members of a tar archive: ustar, GNU long names and pax headers, never extracted.

Layout: POSIX.1-2017, pax utility, "ustar Interchange Format" and "pax Header Block"; GNU tar
manual 1.35, "Basic Tar Format" for base-256 numbers and long names; checked 2026-11-29.
"""

from __future__ import annotations

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.ports import ByteSource
from sparkproof.core.unknown import Unknown
from sparkproof.formats.safe_path import check_member_path

BLOCK_BYTES = 512
MAX_ENTRIES = 500_000
_MAX_HEADER_DATA_BYTES = 1 << 20
_MAX_MEMBER_BYTES = 16 << 30
_MAX_UNKNOWNS = 1000
_REGULAR = (b"0", b"\0", b"7")
_EXTRA_HEADERS = (b"x", b"g", b"L", b"K")
_WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")
_WHY = {
    b"1": "is a hard link, not followed",
    b"2": "is a symbolic link, not followed",
    b"S": "is a sparse file, not read",
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
    kind: bytes
    path: str
    size: int


def parse_tar_directory(source: ByteSource) -> TarDirectory:
    """Walk the headers from front to back. A folder that holds everything is left out.

    Raises:
        FormatError: no tar archive, damaged, cut off, or with names that lead out of it.
    """
    entries: dict[str, TarEntry] = {}
    unknowns: list[Unknown] = []
    override: dict[str, str] = {}
    at = 0
    while header := _read_header(source, at):
        data_at = at + BLOCK_BYTES
        if header.kind in _EXTRA_HEADERS:
            override |= _header_data(source, header, data_at)
            at = data_at + _padded(header.size)
            continue
        header = _overridden(header, override, at)
        override = {}
        path = header.path.removeprefix("./").rstrip("/")
        if path not in ("", "."):
            _take(header, path, data_at, entries, unknowns)
        at = data_at + (_padded(header.size) if header.kind not in _WITHOUT_DATA else 0)
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
    if header.kind in _REGULAR:
        if path in entries:
            raise FormatError("stands twice in the archive", where=path, offset=data_at)
        if len(entries) >= MAX_ENTRIES:
            raise FormatError(f"more than {MAX_ENTRIES} members", offset=data_at)
        entries[path] = TarEntry(path, data_at, header.size)
    elif header.kind != b"5" and len(unknowns) < _MAX_UNKNOWNS:
        why = _WHY.get(header.kind, "is no regular file")
        unknowns.append(Unknown(where=path, why=why, topic="artifact"))


def _read_header(source: ByteSource, at: int) -> _Header | None:
    block = source.read_at(at, BLOCK_BYTES)
    if not block and at:
        return None
    if len(block) < BLOCK_BYTES:
        raise FormatError("archive is cut off", offset=at + len(block))
    if not block.strip(b"\0"):
        return None
    stated = _number(block[148:156], at)
    if stated != sum(block[:148]) + 8 * 0x20 + sum(block[156:]):
        raise FormatError("header has a wrong checksum: no tar archive, or damaged", offset=at)
    size = _number(block[124:136], at)
    if size > _MAX_MEMBER_BYTES:
        raise FormatError(f"declares {size} bytes, more than any honest member", offset=at)
    name = _text(block[:100])
    if block[257:263] == b"ustar\0" and (prefix := _text(block[345:500])):
        name = f"{prefix}/{name}"
    return _Header(block[156:157], name, size)


def _header_data(source: ByteSource, header: _Header, at: int) -> dict[str, str]:
    if header.size > _MAX_HEADER_DATA_BYTES:
        raise FormatError(f"header of {header.size} bytes", offset=at)
    data = source.read_at(at, header.size)
    if len(data) < header.size:
        raise FormatError("archive is cut off", offset=at + len(data))
    if header.kind == b"L":
        return {"path": _text(data)}
    if header.kind == b"K":
        return {}
    return _pax(data, at) if header.kind == b"x" else {}


def _pax(data: bytes, at: int) -> dict[str, str]:
    records: dict[str, str] = {}
    position = 0
    while position < len(data):
        head, space, _ = data[position : position + 20].partition(b" ")
        length = int(head) if head.isdigit() and space else 0
        record = data[position + len(head) + 1 : position + length]
        key, equals, value = record.partition(b"=")
        if length <= len(head) + 1 or not equals or not value.endswith(b"\n"):
            raise FormatError("pax record is damaged", offset=at + position)
        if key in (b"path", b"size"):
            records[key.decode()] = value[:-1].decode(errors="replace")
        elif key.startswith(b"GNU.sparse"):
            records["sparse"] = "1"
        position += length
    return records


def _overridden(header: _Header, override: dict[str, str], at: int) -> _Header:
    size = override.get("size", str(header.size))
    if not (size.isascii() and size.isdigit()) or len(size) > 20 or int(size) > _MAX_MEMBER_BYTES:
        raise FormatError("pax header gives no sensible size", offset=at)
    kind = b"S" if "sparse" in override else header.kind
    return _Header(kind, override.get("path", header.path), int(size))


def _without_top(entries: dict[str, TarEntry], unknowns: list[Unknown]) -> TarDirectory:
    tops = {path.split("/", 1)[0] for path in entries}
    nested = all("/" in path for path in entries)
    found = list(entries.values())
    if len(tops) == 1 and nested:
        cut = len(tops.pop()) + 1
        found = [msgspec.structs.replace(e, path=e.path[cut:]) for e in found]
    return TarDirectory(tuple(sorted(found, key=lambda e: e.path)), tuple(unknowns))


def _number(field: bytes, at: int) -> int:
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if any(c not in b"01234567" for c in digits):
        raise FormatError("header has a bad number: no tar archive, or damaged", offset=at)
    return int(digits or b"0", 8)


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode(errors="replace")


def _padded(size: int) -> int:
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES
