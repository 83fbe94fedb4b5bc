"""The central directory of a zip archive, zip64 too, read without trusting any of it.

Layout as in PKWARE's APPNOTE 6.3.10 (2022-11-01), sections 4.3.7 to 4.3.16 and 4.5.3,
checked 2026-11-29.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.ports import ByteSource
from sparkproof.formats.safe_path import check_member_path

STORED = 0
DEFLATED = 8
FLAG_ENCRYPTED = 0x1
FLAG_DESCRIPTOR = 0x8
FLAG_STRONG_ENCRYPTION = 0x40
FLAG_UTF8 = 0x800
FLAG_MASKED_HEADERS = 0x2000

LOCAL_HEADER_BYTES = 30
U16 = 0xFFFF
U32 = 0xFFFFFFFF

_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_MAX_COMMENT = 65535
MAX_DIRECTORY_BYTES = 128 << 20
MAX_ENTRIES = 500_000
MAX_MEMBER_BYTES = 16 << 30
_MAX_DEFLATE_RATIO = 1032
_MAX_TOTAL_RATIO = 100
_FREE_TOTAL_BYTES = 1 << 30


class ZipEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of the archive as the central directory declares it.

    Attributes:
        raw_name: name as stored, to compare with the local header.
        end_limit: offset at which the next member or the directory starts.
    """

    path: str
    raw_name: bytes
    flags: int
    method: int
    crc32: int
    stored_bytes: int
    size_bytes: int
    header_offset: int
    end_limit: int


class _End(msgspec.Struct, frozen=True):
    entries: int
    size: int
    offset: int
    position: int


def parse_zip_directory(source: ByteSource) -> tuple[ZipEntry, ...]:
    """All files of an archive, sorted by path; folders are left out.

    Raises:
        FormatError: no zip, damaged, split over disks, or with names, sizes or places that no
            honest archive has (absolute, climbing, duplicate, overlapping, bomb).
    """
    end = _find_end(source)
    if end.size > MAX_DIRECTORY_BYTES or end.entries > MAX_ENTRIES:
        raise FormatError(
            f"directory of {end.entries} entries in {end.size} bytes is too large",
            offset=end.offset,
        )
    if end.offset + end.size != end.position:
        raise FormatError(
            f"directory of {end.size} bytes at {end.offset:#x} does not end where it should",
            offset=end.position,
        )
    data = source.read_at(end.offset, end.size)
    if len(data) != end.size:
        raise FormatError("directory is cut off", offset=end.offset + len(data))
    entries = _parse_entries(data, end)
    return _check_together(entries, end, source.size_bytes)


def _find_end(source: ByteSource) -> _End:
    size = source.size_bytes
    tail_at = max(0, size - _END.size - _MAX_COMMENT)
    tail = source.read_at(tail_at, size - tail_at)
    at = len(tail) - _END.size
    while (at := tail.rfind(b"PK\x05\x06", 0, at + 4)) >= 0:
        fields = _END.unpack_from(tail, at)
        if at + _END.size + fields[7] == len(tail):
            break
        at -= 1
    if at < 0:
        raise FormatError("no zip archive, or cut off: no end-of-directory record", offset=size)
    _, disk, first_disk, here, total, directory_size, directory_at, _ = fields
    position = tail_at + at
    # As pip's own reader: a zip64 record counts wherever there is one, needed or not.
    if zip64 := _find_end64(source, position):
        return zip64
    if disk or first_disk or here != total:
        raise FormatError("archive is split over several files", offset=position)
    return _End(total, directory_size, directory_at, position)


def _find_end64(source: ByteSource, end_at: int) -> _End | None:
    locator_at = end_at - _LOCATOR64.size
    if locator_at < 0:
        return None
    raw = source.read_at(locator_at, _LOCATOR64.size)
    signature, disk, record_at, disks = _LOCATOR64.unpack(raw)
    if signature != b"PK\x06\x07":
        return None
    if record_at + _END64.size > locator_at:
        raise FormatError("zip64 record lies outside the archive", offset=locator_at)
    raw = source.read_at(record_at, _END64.size)
    signature, _, _, _, this, first, here, total, size, offset = _END64.unpack(raw)
    if signature != b"PK\x06\x06":
        raise FormatError("zip64 record is not where its locator says", offset=record_at)
    if disk or disks > 1 or this or first or here != total:
        raise FormatError("archive is split over several files", offset=record_at)
    return _End(total, size, offset, record_at)


def _parse_entries(data: bytes, end: _End) -> list[ZipEntry]:
    entries: list[ZipEntry] = []
    at = 0
    for _ in range(end.entries):
        if at + _ENTRY.size > len(data):
            raise FormatError("directory ends inside an entry", offset=end.offset + at)
        entry, at = _parse_entry(data, at, end)
        if entry is not None:
            entries.append(entry)
    if at != len(data):
        raise FormatError(
            f"{len(data) - at} stray bytes after the last entry", offset=end.offset + at
        )
    return entries


def _parse_entry(data: bytes, at: int, end: _End) -> tuple[ZipEntry | None, int]:
    place = end.offset + at
    fields = _ENTRY.unpack_from(data, at)
    if fields[0] != b"PK\x01\x02":
        raise FormatError("directory entry has no signature", offset=place)
    flags, method = fields[5], fields[6]
    crc, stored, size, name_len, extra_len, comment_len, disk, _, _, header_at = fields[9:]
    name_at = at + _ENTRY.size
    extra_at = name_at + name_len
    following = extra_at + extra_len + comment_len
    if following > len(data):
        raise FormatError("directory ends inside an entry", offset=place)
    raw = data[name_at:extra_at]
    if U32 in (size, stored, header_at) or disk == U16:
        wide = _zip64_values(data[extra_at : extra_at + extra_len], place)
        size, stored, header_at = (
            next(wide) if value == U32 else value for value in (size, stored, header_at)
        )
        disk = 0 if disk == U16 else disk
    if disk:
        raise FormatError("archive is split over several files", offset=place)
    path = decode_name(raw, flags, place)
    if path.endswith("/"):
        check_member_path(path[:-1], place)
        if size or stored > 2:
            raise FormatError("folder has a content", where=path, offset=place)
        return None, following
    check_member_path(path, place)
    entry = ZipEntry(path, raw, flags, method, crc, stored, size, header_at, 0)
    _check_sizes(entry, end, place)
    return entry, following


def _zip64_values(extra: bytes, place: int) -> Iterator[int]:
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<2H", extra, at)
        body = extra[at + 4 : at + 4 + length]
        at += 4 + length
        if tag == 1:
            for (value,) in struct.iter_unpack("<Q", body[: len(body) & ~7]):
                yield value
            break
    raise FormatError("zip64 field is missing or cut off", offset=place)


def decode_name(raw: bytes, flags: int, place: int) -> str:
    """Name of a member: UTF-8 where flagged, else the old PC code page.

    Raises:
        FormatError: flagged as UTF-8, but not.
    """
    try:
        utf8 = flags & FLAG_UTF8 or raw.isascii()  # where both agree, UTF-8 is quicker
        return raw.decode("utf-8" if utf8 else "cp437")
    except UnicodeDecodeError as error:
        raise FormatError("name is not UTF-8", offset=place) from error


def _check_sizes(entry: ZipEntry, end: _End, place: int) -> None:
    reason = ""
    if entry.size_bytes > MAX_MEMBER_BYTES:
        reason = f"declares {entry.size_bytes} bytes, more than any honest member"
    elif entry.method == STORED and entry.size_bytes != entry.stored_bytes:
        reason = "is stored as it is, yet with two different sizes"
    elif entry.method == DEFLATED and (
        entry.size_bytes > entry.stored_bytes * _MAX_DEFLATE_RATIO + 4096
    ):
        reason = f"declares {entry.size_bytes} bytes from {entry.stored_bytes}: a zip bomb"
    elif entry.header_offset + LOCAL_HEADER_BYTES + entry.stored_bytes > end.offset:
        reason = "reaches past the members into the directory"
    if reason:
        raise FormatError(reason, where=entry.path, offset=place)


def _check_together(entries: list[ZipEntry], end: _End, file_bytes: int) -> tuple[ZipEntry, ...]:
    total = sum(e.size_bytes for e in entries)
    if total > max(_FREE_TOTAL_BYTES, file_bytes * _MAX_TOTAL_RATIO):
        raise FormatError(f"declares {total} bytes in {file_bytes}: a zip bomb", offset=end.offset)
    seen: set[str] = set()
    bounded: list[ZipEntry] = []
    limit = end.offset
    for entry in sorted(entries, key=lambda e: e.header_offset, reverse=True):
        if entry.path in seen:
            raise FormatError(
                "stands twice in the directory", where=entry.path, offset=entry.header_offset
            )
        seen.add(entry.path)
        least = LOCAL_HEADER_BYTES + len(entry.raw_name) + entry.stored_bytes
        if entry.header_offset + least > limit:
            raise FormatError(
                "overlaps the member after it", where=entry.path, offset=entry.header_offset
            )
        bounded.append(msgspec.structs.replace(entry, end_limit=limit))
        limit = entry.header_offset
    return tuple(sorted(bounded, key=lambda e: e.path))
