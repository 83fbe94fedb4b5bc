"""Unpacking of one fat binary entry, with hard bounds."""

from __future__ import annotations

from collections.abc import Iterator

import lz4.block
import zstandard

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.device_code import Compression

MAX_PAYLOAD_BYTES = 192 << 20
"""The largest PTX text of the wheels that were looked at has a third of it."""

_CHUNK_BYTES = 1 << 20

_LZ4_MAX_RATIO = 255
"""Of the format: one byte of a match length stands for at most 255 bytes."""

_ZSTD_MAX_WINDOW_BYTES = 1 << 27


def unpack_payload(
    data: bytes,
    compression: Compression,
    size_bytes: int,
    *,
    limit_bytes: int = MAX_PAYLOAD_BYTES,
    offset: int = -1,
) -> bytes:
    """The bytes of an entry as the driver would see them.

    Args:
        data: stored payload without padding.
        size_bytes: size once unpacked, as the entry's header claims.

    Raises:
        FormatError: damaged, larger than `limit_bytes`, or of another size than claimed.
    """
    if compression is Compression.NONE:
        return data
    if size_bytes > limit_bytes:
        raise FormatError(
            f"entry claims {size_bytes} bytes, more than {limit_bytes}", offset=offset
        )
    if compression is Compression.LZ4:
        result = _unpack_lz4(data, size_bytes, offset)
    else:
        result = _unpack_zstd(data, size_bytes, offset)
    if len(result) != size_bytes:
        raise FormatError(
            f"entry unpacks to {len(result)} bytes, its header claims {size_bytes}", offset=offset
        )
    return result


def iterate_payload(
    data: bytes,
    compression: Compression,
    size_bytes: int,
    *,
    limit_bytes: int = MAX_PAYLOAD_BYTES,
    offset: int = -1,
) -> Iterator[bytes]:
    """As `unpack_payload`, piece by piece where the compression allows it: PTX texts are large.

    Raises:
        FormatError: as `unpack_payload`, perhaps after some pieces.
    """
    if compression is not Compression.ZSTD or size_bytes > limit_bytes:
        yield unpack_payload(data, compression, size_bytes, limit_bytes=limit_bytes, offset=offset)
        return
    unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW_BYTES)
    total = 0
    try:
        reader = unpacker.stream_reader(data)
        while piece := reader.read(_CHUNK_BYTES):
            total += len(piece)
            if total > size_bytes:
                break
            yield piece
    except (zstandard.ZstdError, MemoryError) as error:
        raise FormatError("damaged ZSTD payload", offset=offset) from error
    if total != size_bytes:
        raise FormatError(
            f"entry unpacks to {total} bytes or more, its header claims {size_bytes}", offset=offset
        )


def _unpack_lz4(data: bytes, size_bytes: int, offset: int) -> bytes:
    if size_bytes > _LZ4_MAX_RATIO * len(data) + 64:
        raise FormatError(f"{len(data)} LZ4 bytes can't hold {size_bytes}", offset=offset)
    try:
        return bytes(lz4.block.decompress(data, uncompressed_size=size_bytes))
    except (lz4.block.LZ4BlockError, ValueError, MemoryError, OverflowError) as error:
        raise FormatError("damaged LZ4 payload", offset=offset) from error


def _unpack_zstd(data: bytes, size_bytes: int, offset: int) -> bytes:
    try:
        # Checked first: the decompressor allocates what the frame itself claims.
        claimed = zstandard.frame_content_size(data)
        if claimed not in (-1, size_bytes):
            raise FormatError(
                f"ZSTD frame claims {claimed} bytes, its entry {size_bytes}", offset=offset
            )
        unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW_BYTES)
        return unpacker.decompress(data, max_output_size=size_bytes)
    except (zstandard.ZstdError, MemoryError) as error:
        raise FormatError("damaged ZSTD payload", offset=offset) from error
