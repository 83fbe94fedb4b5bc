"""The header of a safetensors file: names, types and places of its tensors, never their data.

Eight bytes of length, that many bytes of JSON, then the data without holes. Source: the format's
own description (safetensors 0.8, `docs/source/metadata_parsing.mdx` and `tensor.rs`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from math import prod

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.ports import ByteSource
from sparkproof.core.unknown import Unknown

READ_AHEAD_BYTES = 128 << 10
"""Read at once, in the hope that the header ends within; a shard of 5 GB has 10 to 100 KiB."""
HEADER_LIMIT_BYTES = 100_000_000
"""The format's own limit."""
LENGTH_BYTES = 8
_MAX_DIMENSIONS = 64
_MAX_SIDE = 1 << 48
_MAX_NAME = 1024
_BITS = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
}
_METADATA = "__metadata__"
_FIELDS = (b'"dtype"', b'"shape"', b'"data_offsets"')
_TOPIC = "declare"


class StoredTensor(msgspec.Struct, frozen=True, gc=False):
    """One tensor, as its header describes it; fields are named as they stand in the file.

    Attributes:
        data_offsets: first byte and the one after the last, counted from the end of the header.
    """

    dtype: str = ""
    shape: tuple[int, ...] = ()
    data_offsets: tuple[int, int] = (0, 0)

    @property
    def size_bytes(self) -> int:
        """Bytes of its data."""
        return self.data_offsets[1] - self.data_offsets[0]

    @property
    def elements(self) -> int:
        """Numbers as stored; packed ones count as one."""
        return prod(self.shape)


class ShardHeader(msgspec.Struct, frozen=True):
    """The header of one file.

    Attributes:
        header_bytes: of length and JSON together; the data begin there.
        data_bytes: of all tensors.
        unknowns: types that are not known here; their sizes are taken from the offsets.
    """

    where: str
    header_bytes: int
    data_bytes: int
    tensors: dict[str, StoredTensor]
    unknowns: tuple[Unknown, ...] = ()


def read_header(source: ByteSource, where: str) -> ShardHeader:
    """Read a file's header in one step where it is short, in two where it is not.

    Raises:
        FormatError: as `parse_header`.
        UnreachableError: the source went away.
    """
    size = source.size_bytes
    start = source.read_at(0, min(READ_AHEAD_BYTES, size))
    needed = header_end(start, size, where)
    if needed > len(start):
        start += source.read_at(len(start), needed - len(start))
    return parse_header(start[:needed], size, where)


def header_end(start: bytes, size_bytes: int, where: str) -> int:
    """Where the data begin, from a file's first eight bytes.

    Raises:
        FormatError: the length is impossible for a file of `size_bytes`.
    """
    if len(start) < LENGTH_BYTES:
        raise FormatError(f"{size_bytes} bytes are no safetensors file", where=where, offset=0)
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if length > HEADER_LIMIT_BYTES:
        raise FormatError(
            f"a header of {length} bytes; the format allows {HEADER_LIMIT_BYTES}",
            where=where,
            offset=0,
            hint=_hint(start),
        )
    if LENGTH_BYTES + length > size_bytes:
        raise FormatError(
            f"a header of {length} bytes in a file of {size_bytes}", where=where, offset=0
        )
    return LENGTH_BYTES + length


def _hint(start: bytes) -> str:
    if start.startswith(b"version "):
        return "this is a Git LFS pointer: fetch the file itself with `git lfs pull`"
    return ""


def parse_header(data: bytes, size_bytes: int, where: str) -> ShardHeader:
    """Parse length and JSON.

    Args:
        data: the file's beginning, exactly up to its data.
        size_bytes: of the whole file.

    Raises:
        FormatError: not JSON of the format's shape, a key twice, offsets that overlap, leave
            holes or lie beyond the file, or a shape that does not fit its bytes.
    """
    end = header_end(data, size_bytes, where)
    if len(data) != end:
        raise FormatError(f"{len(data)} of {end} header bytes", where=where, offset=len(data))
    tensors = _decode(data[LENGTH_BYTES:], where)
    _check_places(tensors, size_bytes - end, where)
    odd = _check_shapes(tensors, where)
    return ShardHeader(where, end, size_bytes - end, tensors, odd)


def _decode(text: bytes, where: str) -> dict[str, StoredTensor]:
    if not text.startswith(b"{"):
        raise FormatError("the header does not begin with an object", where=where, offset=8)
    try:
        found = msgspec.json.decode(text, type=dict[str, StoredTensor])
    except RecursionError as error:
        raise FormatError("nested too deeply", where=where, offset=8) from error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _decode_slowly(text, where)
    found.pop(_METADATA, None)
    # The decoder keeps the last of two equal keys; the counts tell, unless something is escaped.
    if b"\\" in text or any(text.count(field) != len(found) for field in _FIELDS):
        return _decode_slowly(text, where)
    return found


def _decode_slowly(text: bytes, where: str) -> dict[str, StoredTensor]:
    """With every key looked at; free metadata may use the tensors' own words."""
    try:
        raw = json.loads(text, object_pairs_hook=_Unique(where).pairs)
        raw.pop(_METADATA, None)
        return msgspec.convert(raw, dict[str, StoredTensor])
    except RecursionError as error:
        raise FormatError("nested too deeply", where=where, offset=8) from error
    except (ValueError, msgspec.MsgspecError) as error:
        raise FormatError(_told(error), where=where, offset=8) from error


class _Unique:
    def __init__(self, where: str) -> None:
        self._where = where

    def pairs(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            [(again, _)] = Counter(key for key, _ in pairs).most_common(1)
            raise FormatError(f"key `{_shown(again)}` stands twice", where=self._where, offset=8)
        return found


def _told(error: Exception) -> str:
    text = re.sub(r"`\$[^`]*`", "an entry", str(error))
    shown = "".join(char if char.isprintable() else "?" for char in text[:120])
    return f"no safetensors header: {shown[:1].lower()}{shown[1:]}"


def _shown(name: str) -> str:
    text = "".join(char if char.isprintable() else "?" for char in name[:81])
    return text if len(name) <= 80 else text[:80] + "…"


def _check_places(tensors: dict[str, StoredTensor], data_bytes: int, where: str) -> None:
    """The data is covered from its first byte to its last, each byte once."""
    at = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
        begin, end = tensor.data_offsets
        if begin != at or end < begin:
            if not tensor.dtype:
                raise FormatError(f"`{_shown(name)}` has no dtype", where=where, offset=8)
            what = "overlaps what is before it" if begin < at else f"leaves {begin - at} bytes out"
            what = "ends before it begins" if end < begin else what
            raise FormatError(f"`{_shown(name)}` {what}", where=where, offset=8)
        at = end
    if at > data_bytes:
        raise FormatError(
            f"cut short: {at - data_bytes} of {at} bytes of tensors are missing",
            where=where,
            offset=8,
            hint="download it again",
        )
    if at < data_bytes:
        raise FormatError(f"{data_bytes - at} bytes belong to no tensor", where=where, offset=8)


def _check_shapes(tensors: dict[str, StoredTensor], where: str) -> tuple[Unknown, ...]:
    odd: dict[str, str] = {}
    for name, tensor in tensors.items():
        bits = _BITS.get(tensor.dtype)
        if len(name) > _MAX_NAME or not tensor.dtype:
            raise FormatError(f"`{_shown(name)}` has no dtype or name", where=where, offset=8)
        sides = tensor.shape
        if sides and (min(sides) < 0 or max(sides) > _MAX_SIDE or len(sides) > _MAX_DIMENSIONS):
            raise FormatError(f"`{_shown(name)}` has an impossible shape", where=where, offset=8)
        if bits is None:
            odd.setdefault(tensor.dtype, name)
            continue
        if prod(sides) * bits != tensor.size_bytes * 8:
            raise FormatError(
                f"`{_shown(name)}`: {tensor.size_bytes} bytes are no {tensor.dtype} of shape "
                f"{'x'.join(map(str, sides)) or 'scalar'}",
                where=where,
                offset=8,
            )
    return tuple(
        Unknown(where, f"type {_shown(dtype)} of `{_shown(name)}` is not known here", _TOPIC)
        for dtype, name in list(odd.items())[:8]
    )
