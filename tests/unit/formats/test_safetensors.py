"""Headers of safetensors files: what a good one says, and how each bad one is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.formats.safetensors import (
    HEADER_LIMIT_BYTES,
    READ_AHEAD_BYTES,
    StoredTensor,
    parse_header,
    read_header,
)
from sparkproof.testing.safetensors import pack_header, shard


class Memory:
    """A `ByteSource` that counts its reads."""

    def __init__(self, data: bytes, size: int = -1) -> None:
        self.data = data
        self.size_bytes = len(data) if size < 0 else size
        self.reads: list[tuple[int, int]] = []

    def read_at(self, offset: int, length: int) -> bytes:
        self.reads.append((offset, length))
        return self.data[offset : offset + length]

    def close(self) -> None:
        """Nothing to close."""


def parse(entries: dict[str, Any] | bytes, data_bytes: int) -> dict[str, StoredTensor]:
    head = pack_header(entries)
    return parse_header(head, len(head) + data_bytes, "x.safetensors").tensors


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_a_good_header() -> None:
    found = parse(
        {
            "__metadata__": {"format": "pt", "dtype": "x"},
            "b": entry("F8_E4M3", [3, 4], 2, 14),
            "a": entry("BF16", [], 0, 2),
            "empty": entry("I64", [0, 7], 14, 14),
            "half": entry("F4", [2, 3], 14, 17),
        },
        17,
    )
    assert found["b"] == StoredTensor("F8_E4M3", (3, 4), (2, 14))
    assert [t.size_bytes for t in found.values()] == [12, 2, 0, 3]
    assert found["half"].elements == 6
    assert "__metadata__" not in found


def test_padding_behind_the_object() -> None:
    head = pack_header(json.dumps({"a": entry("U8", [1], 0, 1)}).encode() + b"   ")
    assert list(parse_header(head, len(head) + 1, "x").tensors) == ["a"]


@pytest.mark.parametrize(
    ("entries", "size", "why"),
    [
        ({"a": entry("U8", [4], 0, 4), "b": entry("U8", [4], 2, 6)}, 6, "`b` overlaps"),
        ({"a": entry("U8", [4], 0, 4), "b": entry("U8", [1], 5, 6)}, 6, "`b` leaves 1 bytes out"),
        ({"a": entry("U8", [4], 0, 4)}, 9, "5 bytes belong to no tensor"),
        ({"a": entry("U8", [4], 0, 4)}, 3, "cut short: 1 of 4 bytes"),
        ({"a": entry("U8", [4], 4, 0)}, 4, "`a` ends before"),
        ({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 1, 0)}, 1, "`b` ends before"),
        ({"a": entry("BF16", [3], 0, 4)}, 4, "4 bytes are no BF16 of shape 3"),
        ({"a": entry("F4", [3], 0, 2)}, 2, "2 bytes are no F4 of shape 3"),
        ({"a": entry("U8", [-2, -2], 0, 4)}, 4, "impossible shape"),
        ({"a": entry("U8", [1 << 62, 4], 0, 4)}, 4, "impossible shape"),
        ({"a": entry("NEW", [-1, 2], 0, 4)}, 4, "impossible shape"),
        ({"a": entry("U8", [1] * 65, 0, 1)}, 1, "impossible shape"),
        ({"a": {"shape": [1], "data_offsets": [0, 1]}}, 1, "no dtype"),
        ({"x" * 2000: entry("U8", [1], 0, 1)}, 1, "no dtype or name"),
        ({"a": 7}, 0, "no safetensors header"),
        ({"a": entry("U8", ["1"], 0, 1)}, 1, "no safetensors header"),  # type: ignore[list-item]
        (b"[]", 0, "does not begin with an object"),
        (b"", 0, "does not begin with an object"),
        (b'{"a":', 0, "no safetensors header"),
        (b'{"\xff": {}}', 0, "no safetensors header"),
        (b'{"a":' * 3000, 0, "nested too deeply"),
    ],
)
def test_refusals(entries: dict[str, Any] | bytes, size: int, why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        parse(entries, size)
    assert caught.value.where == "x.safetensors"


@pytest.mark.parametrize(
    "text",
    [
        '{"a":E(0,1),"a":E(0,1)}',
        '{"a":E(0,1),"\\u0061":E(0,1)}',
        '{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        '{"__metadata__":{"k":"1","k":"2","shape":""},"a":E(0,1)}',
    ],
)
def test_a_key_that_stands_twice(text: str) -> None:
    for begin in (0, 1):
        told = f'{{"dtype":"U8","shape":[1],"data_offsets":[{begin},{begin + 1}]}}'
        text = text.replace(f"E({begin},{begin + 1})", told)
    with pytest.raises(FormatError, match="stands twice"):
        parse(text.encode(), 1)


def test_escapes_and_metadata_that_look_like_fields_are_fine() -> None:
    text = (
        '{"__metadata__":{"dtype":"shape","shape":""},"a\\u00e4":'
        '{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    )
    assert list(parse(text.encode(), 1)) == ["aä"]


def test_a_type_that_is_not_known_is_kept_and_named() -> None:
    head = pack_header({"a": entry("F2_E1M0", [8], 0, 2), "b": entry("U8", [1], 2, 3)})
    found = parse_header(head, len(head) + 3, "x.safetensors")
    assert found.tensors["a"].size_bytes == 2
    assert [unknown.why for unknown in found.unknowns] == ["type F2_E1M0 of `a` is not known here"]


@pytest.mark.parametrize("length", [HEADER_LIMIT_BYTES + 1, 1 << 63, (1 << 64) - 1, 1000])
def test_a_length_that_cannot_be(length: int) -> None:
    with pytest.raises(FormatError, match="a header of"):
        read_header(Memory(length.to_bytes(8, "little") + b"{}"), "x.safetensors")


@pytest.mark.parametrize("size", range(8))
def test_a_file_of_a_few_bytes(size: int) -> None:
    with pytest.raises(FormatError, match="no safetensors file"):
        read_header(Memory(bytes(size)), "x.safetensors")


def test_a_git_lfs_pointer_is_named() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    with pytest.raises(FormatError) as caught:
        read_header(Memory(pointer), "x.safetensors")
    assert "git lfs pull" in caught.value.hint


@pytest.mark.parametrize("around", [-9, -8, -7, -1, 0, 1, 7, 8, 9, 4096])
def test_every_length_around_what_is_read_at_once(around: int) -> None:
    """The last byte of the header is in the first read, on its edge, or in the second."""
    wanted = READ_AHEAD_BYTES + around
    head, size = shard({"a": ("BF16", (3, 5)), "b": ("U8", (7,))}, header_bytes=wanted)
    assert len(head) == wanted
    source = Memory(head + bytes(size - len(head)))
    found = read_header(source, "x.safetensors")
    assert (found.header_bytes, len(found.tensors)) == (wanted, 2)
    assert len(source.reads) == (2 if around > 0 else 1)
    assert sum(length for _, length in source.reads) <= max(READ_AHEAD_BYTES, wanted)


def test_a_source_that_gives_less_than_it_said() -> None:
    head, size = shard({"a": ("U8", (9,))}, header_bytes=READ_AHEAD_BYTES + 100)
    with pytest.raises(FormatError, match="header bytes"):
        read_header(Memory(head[:-50], size), "x.safetensors")
