"""Random access into a gzip file: inflated once, then from the nearest of a few checkpoints.

The standard library's zlib is used here, because its state can be copied; isal's can't.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from sparkproof.core.errors import FormatError
from sparkproof.core.ports import ByteSource

_INPUT_BYTES = 64 * 1024
_PIECE_BYTES = 256 * 1024
_WBITS_GZIP = 31
_SPACING_BYTES = 4 << 20
_MAX_CHECKPOINTS = 96
"""Of about 40 KiB each."""
_MAX_RATIO = 100
_FREE_BYTES = 1 << 30
_MAGIC = b"\x1f\x8b"


class _State(NamedTuple):
    inflater: zlib._Decompress
    input_at: int
    output_at: int
    ended: bool


class GzipSource:
    """The uncompressed bytes of a ``.gz`` as a `ByteSource`, in a bounded amount of memory."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        first = zlib.decompressobj(wbits=_WBITS_GZIP)
        self._state = _State(first, 0, 0, ended=False)
        self._checkpoints = [self._copy()]
        self._spacing = _SPACING_BYTES
        self._piece = b""
        self._size = -1
        self._limit = max(_FREE_BYTES, source.size_bytes * _MAX_RATIO)

    @property
    def size_bytes(self) -> int:
        """Uncompressed size; reads to the end, and so checks all CRCs, the first time."""
        while self._size < 0:
            self._advance()
        return self._size

    def read_at(self, offset: int, length: int) -> bytes:
        """As `ByteSource.read_at`.

        Raises:
            FormatError: damaged, cut off, or a bomb.
        """
        parts: list[bytes] = []
        end = offset + length
        self._seek(offset)
        while offset < end:
            start = self._state.output_at - len(self._piece)
            if offset < self._state.output_at:
                part = self._piece[offset - start : end - start]
                parts.append(part)
                offset += len(part)
            elif not self._advance():
                break
        return b"".join(parts)

    def close(self) -> None:
        """Close what is underneath."""
        self._source.close()

    def _seek(self, offset: int) -> None:
        here = self._state.output_at
        best = max((c for c in self._checkpoints if c.output_at <= offset), key=lambda c: c[2])
        if offset < here - len(self._piece) or best.output_at > here:
            self._state = _State(best.inflater.copy(), *best[1:])
            self._piece = b""

    def _copy(self) -> _State:
        return self._state._replace(inflater=self._state.inflater.copy())

    def _advance(self) -> bool:
        """Inflate one more piece; False at the end."""
        inflater, input_at, output_at, ended = self._state
        if ended:
            self._size = output_at
            return False
        piece, input_at = self._inflate(inflater, input_at)
        output_at += len(piece)
        if output_at > self._limit:
            raise FormatError(f"more than {output_at} bytes inside: a bomb", offset=input_at)
        if inflater.eof:
            fresh = self._next_member(input_at)
            ended = fresh is None
            inflater = fresh or inflater
        self._state = _State(inflater, input_at, output_at, ended)
        self._piece = piece
        if ended:
            self._size = output_at
        elif output_at - self._checkpoints[-1].output_at >= self._spacing:
            self._checkpoint()
        return True

    def _inflate(self, inflater: zlib._Decompress, input_at: int) -> tuple[bytes, int]:
        while True:
            data = self._source.read_at(input_at, _INPUT_BYTES)
            try:
                piece = inflater.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                raise FormatError(f"does not inflate: {error}", offset=input_at) from error
            left = len(inflater.unused_data if inflater.eof else inflater.unconsumed_tail)
            input_at += len(data) - left
            if piece or inflater.eof:
                return piece, input_at
            if not data:
                raise FormatError("compressed data is cut off", offset=input_at)

    def _next_member(self, input_at: int) -> zlib._Decompress | None:
        rest = self._source.read_at(input_at, _INPUT_BYTES)
        if rest.startswith(_MAGIC):
            return zlib.decompressobj(wbits=_WBITS_GZIP)
        if rest.strip(b"\0"):
            raise FormatError("bytes after the compressed data", offset=input_at)
        return None

    def _checkpoint(self) -> None:
        self._checkpoints.append(self._copy())
        if len(self._checkpoints) > _MAX_CHECKPOINTS:
            self._checkpoints = self._checkpoints[::2]
            self._spacing *= 2
