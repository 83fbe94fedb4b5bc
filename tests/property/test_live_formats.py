"""Any cut of a stream gives the same events; any bytes end in a value or in one error."""

from __future__ import annotations

import contextlib

from hypothesis import example, given
from hypothesis import strategies as st

from sparkproof.core.errors import FormatError
from sparkproof.core.server_port import Reply
from sparkproof.formats.http1 import ChunkedReader, parse_head
from sparkproof.formats.openai_answer import Answer, error_message, parse_as
from sparkproof.formats.sse import SseReader
from sparkproof.formats.vllm_metrics import read_counts
from sparkproof.gates.fingerprint import read_trace
from sparkproof.load.observe import read_stream

_WORDS = st.sampled_from(
    [b"data: ", b"data:", b"event: x", b"\n", b"\r", b"\r\n", b"\n\n", b": c", b"[DONE]",
     b"\xef\xbb\xbf", b'{"choices": [{"delta": {"content": "a"}}]}', b"\xff", b"x"]
)  # fmt: skip
_STREAM = st.one_of(st.binary(max_size=200), st.lists(_WORDS, max_size=40).map(b"".join))


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(place, len(data)) for place in places} | {len(data)})
    return [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def _events(pieces: list[bytes]) -> list[tuple[str, str, int]]:
    reader = SseReader()
    found = [event for piece in pieces for event in reader.feed(piece)] + reader.finish()
    return [(event.data, event.event, event.at) for event in found]


@given(_STREAM, st.lists(st.integers(0, 400), max_size=12))
@example(b"data: a\r\n\r\ndata: b\r\r", [8, 9])
@example(b"\xef\xbb\xbfdata: a\n\n", [1, 2])
@example(b"data: a\n\ndata: b\n\n", [9])
def test_any_cut_gives_the_same_events(data: bytes, places: list[int]) -> None:
    assert (
        _events(_cut(data, places))
        == _events([data])
        == _events([data[n : n + 1] for n in range(len(data))])
    )


@given(_STREAM)
def test_any_stream_is_read_as_far_as_it_goes(data: bytes) -> None:
    reading = read_stream(
        Reply(status=200, content_type="text/event-stream", pieces=((0.1, data),))
    )
    assert reading.events >= reading.invalid
    assert len(reading.tokens) in (0, len(reading.arrivals_us))


@given(
    st.lists(st.binary(min_size=1, max_size=30), max_size=8),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_any_cut_of_a_chunked_body_gives_the_body(parts: list[bytes], places: list[int]) -> None:
    wire = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    reader = ChunkedReader()
    assert b"".join(map(reader.feed, _cut(wire, places))) == b"".join(parts)
    assert reader.done


@given(st.one_of(st.binary(max_size=200), st.text(max_size=80).map(str.encode)))
def test_any_bytes_end_in_a_value_or_one_error(data: bytes) -> None:
    error_message(data)
    for parse in (
        parse_head,
        lambda b: ChunkedReader().feed(b),
        lambda b: parse_as(Answer, b, "x"),
        lambda b: read_counts(b, "x"),
        lambda b: read_counts(b"vllm:" + b, "x"),
        lambda b: read_trace("x", b),
    ):
        with contextlib.suppress(FormatError):
            parse(data)


@given(st.binary(max_size=60))
def test_a_damaged_scrape_ends_in_a_value_or_one_error(noise: bytes) -> None:
    good = b'# TYPE vllm:a counter\nvllm:prompt_tokens_total{engine="0"} 3\n'
    for place in (0, 10, 30, len(good)):
        with contextlib.suppress(FormatError):
            read_counts(good[:place] + noise + good[place:], "x")
