"""Heads and chunked bodies."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.formats.http1 import ChunkedReader, parse_head


def test_a_head() -> None:
    head = parse_head(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b: c")
    assert (head.status, head.length, head.chunked, head.keeps) == (200, 5, False, True)
    assert head.headers["x-a"] == "b: c"


@pytest.mark.parametrize(
    ("lines", "length", "chunked", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", -1, True, True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3", -1, True, True),
        (b"HTTP/1.1 200 OK\r\nConnection: close", -1, False, False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 3", 3, False, False),
        (b"HTTP/1.1 204 No Content", 0, False, True),
    ],
)
def test_how_a_body_ends(lines: bytes, length: int, chunked: bool, keeps: bool) -> None:
    head = parse_head(lines)
    assert (head.length, head.chunked, head.keeps) == (length, chunked, keeps)


@pytest.mark.parametrize(
    "data",
    [b"SSH-2.0-x", b"HTTP/2 200", b"HTTP/1.1 2000 OK", b"HTTP/1.1 200 OK\r\nno colon", b"",
     b"HTTP/1.1 200 OK\r\nContent-Length: -1", b"HTTP/1.1 200 OK\r\nContent-Length: 1e5"],
)  # fmt: skip
def test_what_is_no_head(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_head(data)


BODY = b"5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nTrailer: x\r\n\r\n"


def test_chunks_in_any_cut() -> None:
    for size in range(1, len(BODY) + 1):
        reader = ChunkedReader()
        pieces = (BODY[n : n + size] for n in range(0, len(BODY), size))
        assert b"".join(map(reader.feed, pieces)) == b"hello world"
        assert reader.done


@pytest.mark.parametrize("data", [b"zz\r\n", b"5\r\nhelloXX\r\n", b"123456789\r\n", b"1" * 5000])
def test_what_is_no_chunk(data: bytes) -> None:
    with pytest.raises(FormatError):
        ChunkedReader().feed(data)
