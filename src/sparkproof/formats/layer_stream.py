"""The uncompressed bytes of an image layer: gzip of any number of members, zstd frames, plain tar.

What a layer is compressed with is told by its first bytes, not by its media type. Formats:
RFC 1952 (gzip), RFC 8878 (Zstandard, with the skippable frames of zstd:chunked); checked
2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, cast

import zstandard

from sparkproof.core.errors import FormatError
from sparkproof.formats.inflate import DeflateError, gzip_inflater

CHUNK_BYTES = 1 << 20
"""Largest piece that is handed out."""
_FIRST_INPUT_BYTES = 64 * 1024
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
PACKED = (_GZIP, _ZSTD)
"""How a compressed layer begins."""
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_ZSTD_WINDOW_BYTES = 128 << 20
_FREE_BYTES = 1 << 30
_MAX_RATIO = 250


def open_layer(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress a layer front to back, in pieces of at most `CHUNK_BYTES`.

    Args:
        chunks: the stored bytes.

    Raises:
        FormatError: damaged, cut off, followed by other bytes, or a bomb.
    """
    counted = _Counted(chunks)
    head = counted.head(4)
    if head[:2] == _GZIP:
        return _bounded(_gunzip(counted), counted)
    if head == _ZSTD or int.from_bytes(head, "little") in _SKIPPABLE:
        return _bounded(_unzstd(counted), counted)
    return iter(counted)


class _Counted:
    """The input, counted, with a look at its beginning."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._pending = b""
        self.taken = 0

    def head(self, count: int) -> bytes:
        while len(self._pending) < count and (chunk := next(self._chunks, b"")):
            self._pending += chunk
        return self._pending[:count]

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        chunk = self._pending or next(self._chunks)
        self._pending = b""
        self.taken += len(chunk)
        return chunk


def _bounded(pieces: Iterator[bytes], counted: _Counted) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > _FREE_BYTES and total > counted.taken * _MAX_RATIO:
            raise FormatError(f"more than {total} bytes inside: a bomb", offset=counted.taken)
        yield piece


def _gunzip(counted: _Counted) -> Iterator[bytes]:
    inflater = gzip_inflater()
    started = True
    try:
        for chunk in counted:
            pending = chunk
            while pending:
                if inflater.eof:
                    pending = _next_member(pending, counted)
                    if not pending:
                        break
                    inflater, started = gzip_inflater(), True
                piece = inflater.decompress(pending, CHUNK_BYTES)
                pending = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
                if piece:
                    yield piece
        while started and not inflater.eof:
            piece = inflater.decompress(b"", CHUNK_BYTES)
            if not piece:
                raise FormatError("compressed data is cut off", offset=counted.taken)
            yield piece
    except DeflateError as error:
        raise FormatError(f"does not inflate: {error}", offset=counted.taken) from error


def _next_member(pending: bytes, counted: _Counted) -> bytes:
    """What follows a gzip member: another one, or the padding of a tape."""
    if pending.startswith(_GZIP):
        return pending
    if len(pending) == 1 and pending == _GZIP[:1]:
        return pending + next(counted, b"")
    if pending.strip(b"\0"):
        raise FormatError("bytes after the compressed data", offset=counted.taken)
    return b""


def _unzstd(counted: _Counted) -> Iterator[bytes]:
    context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    reader = context.stream_reader(
        cast("BinaryIO", _Readable(counted)), read_size=_FIRST_INPUT_BYTES, read_across_frames=True
    )
    try:
        while piece := reader.read(CHUNK_BYTES):
            yield piece
    except zstandard.ZstdError as error:
        raise FormatError(f"does not decompress: {error}", offset=counted.taken) from error


class _Readable:
    """What zstandard reads from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._pending = b""

    def read(self, size: int = -1) -> bytes:
        if not self._pending:
            self._pending = next(self._chunks, b"")
        if size < 0:
            size = len(self._pending)
        piece, self._pending = self._pending[:size], self._pending[size:]
        return piece
