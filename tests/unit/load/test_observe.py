"""Marks and token counts, from pieces as they arrive."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sparkproof.core.server_port import Ask, Failure, Reply
from sparkproof.load.observe import observe, read_stream

LIVE = Path(__file__).parents[2] / "data" / "live"


def _event(delta: dict[str, object], used: int = 0) -> bytes:
    chunk: dict[str, object] = {"choices": [{"index": 0, "delta": delta}]}
    if used:
        chunk["usage"] = {"prompt_tokens": 9, "completion_tokens": used}
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"


def _reply(*pieces: tuple[float, bytes]) -> Reply:
    return Reply(status=200, content_type="text/event-stream", pieces=pieces, ended_s=9.0)


def test_a_role_is_no_token_and_thinking_is_no_answer() -> None:
    reading = read_stream(
        _reply(
            (0.1, _event({"role": "assistant", "content": ""})),
            (0.2, _event({"reasoning": "hm"}, used=1)),
            (0.4, _event({"content": "yes"}, used=4)),
            (
                0.5,
                b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}\n\n',
            ),
            (0.5, b"data: [DONE]\n\n"),
        )
    )
    assert reading.first_event_us == 100_000
    assert reading.first_token_us == reading.first_reasoning_us == 200_000
    assert reading.first_content_us == 400_000
    assert reading.arrivals_us == (200_000, 400_000)
    assert reading.tokens == (1, 3)
    assert (reading.completion_tokens, reading.prompt_tokens, reading.done) == (4, 9, True)
    assert (reading.content, reading.reasoning) == ("yes", "hm")


def test_a_token_without_text_still_counts() -> None:
    reading = read_stream(_reply((0.3, _event({"content": ""}, used=1))))
    assert (reading.first_token_us, reading.first_content_us) == (300_000, -1)


def test_chunks_are_not_tokens_where_the_server_does_not_count() -> None:
    reading = read_stream(_reply((0.1, _event({"content": "a b c"})), (0.2, b"data: [DONE]\n\n")))
    assert reading.tokens == ()
    assert reading.completion_tokens == -1
    assert reading.arrivals_us == (100_000,)


def test_the_old_name_of_thinking() -> None:
    assert read_stream(_reply((0.1, _event({"reasoning_content": "x"})))).reasoning == "x"


def test_real_streams() -> None:
    chat = read_stream(_reply((1.0, (LIVE / "chat-reasoning.sse").read_bytes())))
    assert chat.reasoning.startswith('{"name": "vllm')
    assert (chat.completion_tokens, chat.done, chat.invalid) == (10, True, 0)
    drafted = read_stream(_reply((1.0, (LIVE / "completion-mtp.sse").read_bytes())))
    assert sum(drafted.tokens) == drafted.completion_tokens == 6


def test_an_error_in_the_stream_and_events_that_are_none() -> None:
    reading = read_stream(
        _reply((0.1, b'data: {"error": {"message": "engine is gone"}}\n\ndata: {oops\n\n'))
    )
    assert (reading.error, reading.invalid, reading.done) == ("engine is gone", 1, False)


def test_an_exchange_keeps_the_first_part_of_a_long_answer() -> None:
    ask = Ask("x", "/v1/completions", b"{}")
    reply = Reply(status=200, content_type="text/plain", pieces=((0.1, b"a" * 100),))
    exchange = observe(ask, reply, kept_bytes=10)
    assert (exchange.body, exchange.body_bytes, exchange.ok) == ("a" * 10, 100, True)
    failed = observe(ask, Reply(status=0, failure=Failure.REFUSED, detail="no"))
    assert not failed.ok


def test_numbers_of_tokens_that_can_be_none_are_not_taken() -> None:
    """No record holds an integer of any size, and no speed comes of one."""
    for wrong in (-5, 2**40, 10**30):
        usage = f'"prompt_tokens": {wrong}, "completion_tokens": {wrong}'
        event = f'data: {{"choices": [{{"text": "x"}}], "usage": {{{usage}}}}}\n\n'
        reading = read_stream(_reply((0.1, event.encode()), (0.2, event.encode())))
        assert reading.content == "xx"
        assert (reading.prompt_tokens, reading.completion_tokens, reading.tokens) == (-1, -1, ())
