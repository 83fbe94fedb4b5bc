"""The bytes of one zip member, inflated in a flat amount of memory and checked."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sparkproof.core.errors import FormatError
from sparkproof.core.ports import CHUNK_BYTES, ByteSource
from sparkproof.formats.inflate import DeflateError, crc32, raw_inflater
from sparkproof.formats.zip_directory import (
    DEFLATED,
    FLAG_DESCRIPTOR,
    FLAG_ENCRYPTED,
    FLAG_MASKED_HEADERS,
    FLAG_STRONG_ENCRYPTION,
    LOCAL_HEADER_BYTES,
    STORED,
    U32,
    ZipEntry,
)

_LOCAL = struct.Struct("<4s5H3L2H")
INPUT_BYTES = 256 * 1024
_ENCRYPTED = FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION | FLAG_MASKED_HEADERS


def member_data_offset(source: ByteSource, entry: ZipEntry) -> int:
    """Where a member's stored bytes begin, once its local header agrees with the directory.

    Raises:
        FormatError: encrypted, compressed in another way, or contradicting the directory.
    """
    fault = ""
    if entry.flags & _ENCRYPTED:
        fault = "is encrypted"
    elif entry.method not in (STORED, DEFLATED):
        fault = f"is compressed by method {entry.method}, which wheels don't use"
    if fault:
        raise FormatError(fault, where=entry.path, offset=entry.header_offset)
    raw = source.read_at(entry.header_offset, LOCAL_HEADER_BYTES + len(entry.raw_name))
    if len(raw) < LOCAL_HEADER_BYTES + len(entry.raw_name):
        raise FormatError("is cut off", where=entry.path, offset=entry.header_offset + len(raw))
    fields = _LOCAL.unpack_from(raw)
    signature, _, flags, method, _, _, crc, stored, size, name_len, extra_len = fields
    if signature != b"PK\x03\x04":
        fault = "has no local header where the directory says"
    elif name_len != len(entry.raw_name) or raw[LOCAL_HEADER_BYTES:] != entry.raw_name:
        fault = "has another name in its local header"
    elif method != entry.method or (flags ^ entry.flags) & (_ENCRYPTED | FLAG_DESCRIPTOR):
        fault = "has another method or other flags in its local header"
    elif not flags & FLAG_DESCRIPTOR and (
        crc != entry.crc32
        or stored not in (entry.stored_bytes, U32)
        or size not in (entry.size_bytes, U32)
    ):
        fault = "has another size or checksum in its local header"
    start: int = entry.header_offset + LOCAL_HEADER_BYTES + name_len + extra_len
    if not fault and start + entry.stored_bytes > entry.end_limit:
        fault = "overlaps the member after it"
    if fault:
        raise FormatError(fault, where=entry.path, offset=entry.header_offset)
    return start


def stream_member(
    source: ByteSource, entry: ZipEntry, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[bytes]:
    """A member front to back, at most `chunk_bytes` at a time, its CRC checked at the end.

    Raises:
        FormatError: as `member_data_offset`; or it is cut off, does not inflate, holds more or
            less than declared, or its checksum is wrong.
    """
    start = member_data_offset(source, entry)
    stored = _stored(source, entry, start)
    chunks = _inflate(stored, entry, start, chunk_bytes) if entry.method == DEFLATED else stored
    total = checksum = 0
    for chunk in chunks:
        total += len(chunk)
        if total > entry.size_bytes:
            raise FormatError(
                f"holds more than the {entry.size_bytes} bytes that it declares",
                where=entry.path,
                offset=start,
            )
        checksum = crc32(chunk, checksum)
        for at in range(0, len(chunk), chunk_bytes):
            yield chunk if len(chunk) <= chunk_bytes else chunk[at : at + chunk_bytes]
    if total != entry.size_bytes:
        raise FormatError(
            f"holds {total} bytes where it declares {entry.size_bytes}",
            where=entry.path,
            offset=start,
        )
    if checksum != entry.crc32:
        raise FormatError(
            f"checksum is {checksum:08x} where {entry.crc32:08x} is declared: damaged",
            where=entry.path,
            offset=start,
        )


def _stored(source: ByteSource, entry: ZipEntry, start: int) -> Iterator[bytes]:
    end = start + entry.stored_bytes
    while start < end:
        data = source.read_at(start, min(INPUT_BYTES, end - start))
        if not data:
            raise FormatError("is cut off", where=entry.path, offset=start)
        start += len(data)
        yield data


def _inflate(
    stored: Iterator[bytes], entry: ZipEntry, start: int, chunk_bytes: int
) -> Iterator[bytes]:
    inflater = raw_inflater()
    try:
        for data in stored:
            pending = data
            while pending and not inflater.eof:
                chunk = inflater.decompress(pending, chunk_bytes)
                pending = inflater.unconsumed_tail
                if chunk:
                    yield chunk
            start += len(data)
            if inflater.eof:
                _refuse_rest(inflater.unused_data, stored, entry, start)
                return
        if chunk := inflater.flush():
            yield chunk
    except DeflateError as error:
        raise FormatError(f"does not inflate: {error}", where=entry.path, offset=start) from error
    if not inflater.eof:
        raise FormatError("compressed data is cut off", where=entry.path, offset=start)


def _refuse_rest(unused: bytes, stored: Iterator[bytes], entry: ZipEntry, start: int) -> None:
    if unused or next(stored, b""):
        raise FormatError(
            "has bytes after its compressed data", where=entry.path, offset=start - len(unused)
        )
