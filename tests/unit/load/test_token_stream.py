"""Ids, log-probabilities and calls out of a stream, as vLLM 0.32.0 writes it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sparkproof.core.observations.ab_run import Token
from sparkproof.core.server_port import Reply
from sparkproof.formats.openai_tokens import parse_token_chunk
from sparkproof.load.token_stream import SaidTokens, read_tokens


def said(*events: Any) -> SaidTokens:
    body = "".join(f"data: {e if isinstance(e, str) else json.dumps(e)}\n\n" for e in events)
    return read_tokens(Reply(200, "text/event-stream", pieces=((0.1, body.encode()),)))


def chunk(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, **choice}], "system_fingerprint": "vllm-0.32.0-x"}


def test_a_completion_gives_its_ids_and_the_likeliest_others() -> None:
    logprobs = {
        "tokens": ["token_id:7"],
        "token_logprobs": [-0.25],
        "top_logprobs": [{"token_id:7": -0.25, "token_id:9": -1.5}],
    }
    found = said(chunk(text="x", token_ids=[7], logprobs=logprobs), "[DONE]")
    assert found.tokens == (Token(7, -0.25, ((7, -0.25), (9, -1.5))),)
    assert (found.text, found.system_fingerprint) == ("x", "vllm-0.32.0-x")


def test_a_chat_gives_text_before_thought_and_calls_in_pieces() -> None:
    top = [{"token": "token_id:3", "logprob": -0.1}]
    content = [{"token": "token_id:3", "logprob": -0.1, "top_logprobs": top}]
    calls = [
        [{"index": 0, "function": {"name": "get", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"a": '}}],
        [{"index": 1, "function": {"name": "put", "arguments": "{}"}}],
        [{"index": 0, "function": {"arguments": "1}"}}],
    ]
    found = said(
        chunk(delta={"role": "assistant", "content": ""}),
        chunk(delta={"reasoning": "hm"}, token_ids=[3], logprobs={"content": content}),
        chunk(delta={"content": "yes"}, token_ids=[4]),
        *(chunk(delta={"tool_calls": call}) for call in calls),
    )
    assert found.text == "yes"
    assert found.calls == (("get", '{"a": 1}'), ("put", "{}"))
    assert found.tokens == (Token(3, -0.1, ((3, -0.1),)), Token(4))


def test_ids_that_can_be_none_are_left_out() -> None:
    """No record holds an integer of any size."""
    for wrong in (-1, 10**11, 10**30):
        assert said(chunk(text="x", token_ids=[wrong])).tokens == ()
    logprobs = {"tokens": ["token_id:7"], "token_logprobs": [1e308], "top_logprobs": [None]}
    assert said(chunk(text="x", token_ids=[7], logprobs=logprobs)).tokens == (Token(7, 1e4),)


def test_a_thought_alone_is_the_text() -> None:
    assert said(chunk(delta={"reasoning": "hm"})).text == "hm"


def test_log_probabilities_that_do_not_fit_the_ids_are_left_out() -> None:
    logprobs = {"tokens": ["token_id:7"], "token_logprobs": [-0.25], "top_logprobs": []}
    assert said(chunk(text="x", token_ids=[7, 8], logprobs=logprobs)).tokens == (Token(7), Token(8))


def test_names_without_ids_are_no_tokens() -> None:
    logprobs = {"tokens": ["x"], "token_logprobs": [-0.25], "top_logprobs": [{"x": -0.25}]}
    assert said(chunk(text="x", logprobs=logprobs)).tokens == ()
    with_ids = said(chunk(text="x", token_ids=[7], logprobs=logprobs)).tokens
    assert with_ids == (Token(7, -0.25, ()),)


@given(st.text(max_size=200))
def test_whatever_an_event_holds_nothing_is_raised(text: str) -> None:
    parse_token_chunk(text)


@given(st.binary(max_size=400))
def test_whatever_comes_in_something_is_read(data: bytes) -> None:
    read_tokens(Reply(200, "text/event-stream", pieces=((0.0, b"data: "), (0.1, data))))
