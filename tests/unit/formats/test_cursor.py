"""The forward-only reader: offsets and windows hold whatever the chunks are."""

from __future__ import annotations

import re

import pytest

from sparkproof.formats.cursor import ByteCursor

DATA = bytes(range(256)) * 3


def chunked(size: int) -> ByteCursor:
    return ByteCursor(iter([DATA[i : i + size] for i in range(0, len(DATA), size)]))


@pytest.mark.parametrize("size", [1, 7, 256, 4096])
def test_take_skip_and_collect_walk_the_same_bytes(size: int) -> None:
    cursor = chunked(size)
    assert cursor.take(10) == DATA[:10]
    assert cursor.skip(300) == 300
    assert cursor.position == 310
    assert cursor.peek(5) == DATA[310:315]
    assert cursor.collect(400) == DATA[310:710]
    assert cursor.skip(1000) == len(DATA) - 710
    assert cursor.take(3) == b""


@pytest.mark.parametrize("size", [1, 3, 100, 4096])
def test_find_stops_at_a_literal_and_shows_all_that_was_passed(size: int) -> None:
    passed: list[tuple[int, bytes]] = []
    cursor = chunked(size)
    literal = bytes([250, 251, 252])
    assert cursor.find(
        re.compile(literal), 3, len(DATA), lambda at, data: passed.append((at, data))
    )
    assert cursor.position == 250
    assert b"".join(data for _, data in passed) == DATA[:250]
    assert all(DATA[at : at + len(data)] == data for at, data in passed)


@pytest.mark.parametrize("size", [1, 3, 100, 4096])
def test_find_does_not_look_beyond_its_end(size: int) -> None:
    cursor = chunked(size)
    assert not cursor.find(re.compile(rb"\xfa\xfb\xfc"), 3, 252, lambda _at, _data: None)
    assert cursor.position == 252


@pytest.mark.parametrize("size", [1, 64, 4096])
def test_a_window_captures_what_passes_by_skipping_too(size: int) -> None:
    cursor = chunked(size)
    cursor.take(10)
    window, late = cursor.watch(300, 50), cursor.watch(0, 4)
    cursor.skip(len(DATA))
    assert window.data == DATA[300:350]
    assert late.data in (b"", DATA[:4])
    assert cursor.watch(len(DATA), 10).data == b""
