"""Event streams as the HTML standard has them, and as servers really send them."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.formats.sse import SseReader


def read(*pieces: bytes) -> list[str]:
    reader = SseReader()
    found = [event.data for piece in pieces for event in reader.feed(piece)]
    return found + [event.data for event in reader.finish()]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_any_line_end(end: bytes) -> None:
    stream = b"data: a" + end + b"data: b" + end + end + b": hush" + end + b"data:c" + end + end
    assert read(stream) == ["a\nb", "c"]
    assert read(*(bytes([byte]) for byte in stream)) == ["a\nb", "c"]


def test_what_no_blank_line_closed_is_no_event() -> None:
    assert read(b"data: whole\n\ndata: half") == ["whole"]


def test_a_byte_order_mark_and_fields_that_do_not_matter() -> None:
    assert read(b"\xef", b"\xbb\xbfdata: x\n\n") == ["x"]
    assert read(b"id: 7\nretry: 5\nnonsense\n\ndata: y\n\n") == ["y"]


def test_an_event_has_its_type_and_its_place() -> None:
    (event,) = SseReader().feed(b"event: error\ndata: {}\n\n")
    assert (event.event, event.data, event.at) == ("error", "{}", 23)


def test_bytes_that_are_no_utf8_do_not_stop_it() -> None:
    assert read(b"data: \xff\xfe\n\n") == ["\ufffd\ufffd"]


@pytest.mark.parametrize("piece", [b"xx", b"data: xx\n"])
def test_one_endless_event_is_refused(piece: bytes) -> None:
    reader = SseReader(limit_bytes=100)
    pieces = [piece] * 60
    with pytest.raises(FormatError, match="more than 100 bytes"):
        list(map(reader.feed, pieces))
