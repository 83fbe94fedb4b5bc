"""One header block of a tar archive, and the records that amend it.

Layout: POSIX.1-2017, pax utility, "ustar Interchange Format" and "pax Header Block"; GNU tar
manual 1.35, "Basic Tar Format" for base-256 numbers and long names; checked 2026-11-29.
"""

from __future__ import annotations

from sparkproof.core.errors import FormatError

BLOCK_BYTES = 512
MAX_RECORDS_BYTES = 1 << 20
_EMPTY = bytes(BLOCK_BYTES)
_SPACES = 8 * 0x20
_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_LINK = 0x78, 0x67, 0x4C, 0x4B
AMENDING = (_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_LINK)
"""Flags of the headers whose data amend the next one."""
WITHOUT_DATA = b"123456"
"""Flags of links, devices, folders and pipes, whatever size they state."""
CUT_OFF = "archive is cut off"


def is_header(block: bytes, at: int) -> bool:
    """Whether a block is a header; an empty one ends the archive.

    Raises:
        FormatError: its checksum is wrong.
    """
    if block == _EMPTY:
        return False
    if _number(block[148:156], at) != sum(block) - sum(block[148:156]) + _SPACES:
        raise FormatError("header has a wrong checksum: no tar archive, or damaged", offset=at)
    return True


def stated_size(block: bytes, at: int) -> int:
    """Bytes of data behind a header, before they are amended.

    Raises:
        FormatError: no number.
    """
    return _number(block[124:136], at)


def stated_path(block: bytes) -> str:
    """The name in a header, with its prefix."""
    name = text(block[:100])
    if block[257:263] == b"ustar\0" and (prefix := text(block[345:500])):
        return f"{prefix}/{name}"
    return name


def records_of(flag: int, data: bytes, at: int) -> dict[str, str]:
    """What an amending header says of the next: path, linkpath, size, sparse.

    Raises:
        FormatError: damaged.
    """
    if flag == _GNU_NAME:
        return {"path": text(data)}
    if flag == _GNU_LINK:
        return {"linkpath": text(data)}
    return _pax(data, at) if flag == _PAX else {}


def amended_size(size: int, records: dict[str, str], most_bytes: int, at: int) -> int:
    """Bytes of data behind a header.

    Raises:
        FormatError: no number, or more than `most_bytes`.
    """
    if "size" in records:
        stated = records["size"]
        if not (stated.isascii() and stated.isdigit()) or len(stated) > 20:
            raise FormatError("pax header gives no sensible size", offset=at)
        size = int(stated)
    if size > most_bytes:
        raise FormatError(f"declares {size} bytes, more than any honest member", offset=at)
    return size


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
        if key in (b"path", b"size", b"linkpath"):
            records[key.decode()] = value[:-1].decode(errors="replace")
        elif key.startswith(b"GNU.sparse"):
            records["sparse"] = "1"
        position += length
    return records


def _number(field: bytes, at: int) -> int:
    """An octal or base-256 number.

    Raises:
        FormatError: neither.
    """
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if digits.translate(None, b"01234567"):
        raise FormatError("header has a bad number: no tar archive, or damaged", offset=at)
    return int(digits or b"0", 8)


def text(field: bytes) -> str:
    """What stands before the first zero."""
    return field.split(b"\0", 1)[0].decode(errors="replace")
