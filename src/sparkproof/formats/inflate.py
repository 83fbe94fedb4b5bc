"""Raw deflate and CRC-32: isal where there is a build of it, else the standard library.

On the 333 MB vLLM 0.33.0 wheel isal inflates about three times as fast as zlib, and its CRC
costs next to nothing (measured 2026-11-29 on two x86-64 cores).
"""

from __future__ import annotations

import contextlib
import zlib
from typing import Any, Protocol, cast

_fast: Any = None
with contextlib.suppress(ImportError):
    from isal import isal_zlib

    _fast = isal_zlib


class Inflater(Protocol):
    """What zlib's and isal's decompression objects have in common."""

    @property
    def eof(self) -> bool:
        """The end of the deflate stream was reached."""
        ...

    @property
    def unconsumed_tail(self) -> bytes:
        """Input that was not used because the output limit was reached."""
        ...

    @property
    def unused_data(self) -> bytes:
        """Input after the end of the stream."""
        ...

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        """At most `max_length` bytes from `data` and what is pending."""
        ...

    def flush(self) -> bytes:
        """What is left inside."""
        ...


DeflateError: tuple[type[Exception], ...] = (
    (zlib.error,) if _fast is None else (zlib.error, _fast.error)
)


def raw_inflater() -> Inflater:
    """A fresh object for one raw deflate stream, without header."""
    if _fast is None:
        return zlib.decompressobj(wbits=-15)
    return cast("Inflater", _fast.decompressobj(wbits=-15))


def gzip_inflater() -> Inflater:
    """A fresh object for one gzip member; its checksum is checked."""
    if _fast is None:
        return zlib.decompressobj(wbits=31)
    return cast("Inflater", _fast.decompressobj(wbits=31))


def pack(data: bytes) -> bytes:
    """The data compressed at the quickest level, for `unpack`: a fifth of the room."""
    return zlib.compress(data, 1) if _fast is None else bytes(_fast.compress(data, 1))


def unpack(data: bytes) -> bytes:
    """What `pack` was given."""
    return zlib.decompress(data)


def crc32(data: bytes, value: int = 0) -> int:
    """CRC-32 of `data`, continued from `value`."""
    return zlib.crc32(data, value) if _fast is None else int(_fast.crc32(data, value))
