"""How an answer came: streams without their end, lines that break, errors in disguise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.gates.rewritten import (
    Change,
    hidden_errors,
    renamed_metrics,
    rewritten,
    with_body,
)

from sparkproof.core.errors import FormatError
from sparkproof.core.report import Report
from sparkproof.core.results.why import WhyResult
from sparkproof.core.server_port import Ask, Failure, Reply
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.why import why

MESSAGES = [{"role": "user", "content": "What is the capital of Peru?"}]


def ask(change: Change, path: Path | None = None, **behaviour: Any) -> Report[WhyResult]:
    return why("http://stand-in", replay=path, port=rewritten(change, **behaviour))


def write(folder: Path, **body: Any) -> Path:
    path = folder / "request.json"
    path.write_bytes(msgspec.json.encode({"model": "tiny", **body}))
    return path


def _streams(change: Any) -> Change:
    def apply(ask: Ask, reply: Reply) -> Reply:
        return change(reply) if "event-stream" in reply.content_type else reply

    return apply


def _bad_event(reply: Reply) -> Reply:
    return with_body(reply, b"data: {oops\n\n" + reply.body)


def _no_end(reply: Reply) -> Reply:
    return with_body(reply, reply.body.replace(b"data: [DONE]\n\n", b""))


def _whole(reply: Reply) -> Reply:
    answer = {"choices": [{"message": {"content": "Lima."}, "finish_reason": "stop"}]}
    return with_body(reply, msgspec.json.encode(answer), content_type="application/json")


def _cut(reply: Reply) -> Reply:
    half = reply.pieces[: len(reply.pieces) // 2]
    return msgspec.structs.replace(
        reply, pieces=half, failure=Failure.DROPPED, detail="closed in the middle of the answer"
    )


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        (_bad_event, "why/stream-only", "are no JSON"),
        (_no_end, "why/stream-only", "without [DONE]"),
        (_whole, "why/stream-only", "in one piece"),
        (_cut, "why/line-breaks", "in one piece the answer comes whole"),
    ],
)
def test_a_stream_that_only_looks_sound(change: Any, rule: str, words: str) -> None:
    report = ask(_streams(change))
    assert [f.rule for f in report.findings] == [rule]
    assert report.verdict is Verdict.FAIL
    assert words in report.summary


def test_a_line_that_breaks_with_the_server_gone() -> None:
    alive = True

    def change(ask: Ask, reply: Reply) -> Reply:
        nonlocal alive
        if ask.method == "POST":
            alive = False
            return _cut(reply)
        return reply if alive else Reply(0, failure=Failure.REFUSED, detail="nothing listens")

    report = ask(change)
    assert report.result is not None
    assert report.result.rule == "response/dead-engine"
    assert report.result.health_after == 0


def test_a_gateway_whose_stream_has_no_end(tmp_path: Path) -> None:
    path = write(tmp_path, messages=MESSAGES)
    report = why(
        "http://x",
        replay=path,
        gateway="http://gateway",
        port=rewritten(lambda _, reply: reply),
        other=rewritten(_streams(_no_end)),
    )
    assert [f.rule for f in report.findings] == ["why/gateway-breaks"]
    assert "without [DONE]" in report.summary


def test_what_failed_is_never_called_sound() -> None:
    def compressed(ask: Ask, reply: Reply) -> Reply:
        return msgspec.structs.replace(
            reply, pieces=(), failure=Failure.NOT_HTTP, detail="compressed, though declined"
        )

    report = ask(compressed)
    assert [f.rule for f in report.findings] == ["why/unreadable"]
    assert "compressed" in report.summary


def test_an_error_that_comes_with_status_200() -> None:
    report = ask(hidden_errors)
    assert [f.rule for f in report.findings] == ["response/hidden-error"]
    assert "upstream connect error" in report.summary


def test_what_a_gateway_says_of_its_server_is_no_dead_engine() -> None:
    def gone(ask: Ask, reply: Reply) -> Reply:
        return with_body(reply, b"<h1>502 Bad Gateway</h1>", status=502, content_type="text/html")

    report = ask(gone)
    assert [f.rule for f in report.findings] == ["why/server-error"]
    assert "502 Bad Gateway" in report.summary


def test_the_server_is_quoted(tmp_path: Path) -> None:
    report = ask(
        lambda _, reply: reply,
        write(tmp_path, messages=MESSAGES),
        status=400,
        status_text="tiny is not a multimodal model",
    )
    assert [f.rule for f in report.findings] == ["response/bad-request"]
    assert report.summary.endswith(": tiny is not a multimodal model")
    assert report.result is not None
    assert not any("/tokenize" in words for words in report.result.could_not)


def test_the_names_that_would_have_done(tmp_path: Path) -> None:
    def terse(ask: Ask, reply: Reply) -> Reply:
        if reply.status != 404:
            return reply
        return with_body(reply, b'{"error": {"message": "The model `x` does not exist."}}')

    report = ask(terse, write(tmp_path, messages=MESSAGES, model="x"), names=("tiny", "alias"))
    assert report.summary.endswith("it has tiny, alias")


def test_a_tokenize_that_refuses_is_not_one_that_is_not_there(tmp_path: Path) -> None:
    def change(ask: Ask, reply: Reply) -> Reply:
        if ask.path != "/tokenize":
            return reply
        return with_body(reply, b'{"error": {"message": "no such role"}}', status=400)

    report = ask(change, write(tmp_path, messages=MESSAGES), reasoning_parser="eager")
    assert report.result is not None
    assert any("400 no such role" in words for words in report.result.could_not)


def test_an_odd_variant_does_not_make_the_request_odd(tmp_path: Path) -> None:
    def change(ask: Ask, reply: Reply) -> Reply:
        empty = b'{"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}'
        return with_body(reply, empty) if ask.label == "direct/quiet" else reply

    report = ask(change, write(tmp_path, messages=MESSAGES, max_tokens=7, ignore_eos=True))
    assert [f.rule for f in report.findings] == ["why/nothing-shown"]


def test_an_answer_that_was_cut_off(tmp_path: Path) -> None:
    body = {"messages": MESSAGES, "max_tokens": 3, "temperature": 0}
    report = ask(lambda _, reply: reply, write(tmp_path, **body))
    assert [f.rule for f in report.findings] == ["response/cut-off"]
    assert "(max_tokens 3); with a larger budget it comes whole" in report.summary


def test_answers_that_are_sampled_are_not_compared(tmp_path: Path) -> None:
    def leaks(reply: Reply) -> Reply:
        return with_body(reply, reply.body.replace(b" Lima", b"</think> Lima"))

    sampled = ask(_streams(leaks), write(tmp_path, messages=MESSAGES, temperature=1))
    assert [f.rule for f in sampled.findings] == ["response/think-leak"]
    greedy = ask(_streams(leaks), write(tmp_path, messages=MESSAGES, temperature=0))
    assert [f.rule for f in greedy.findings] == ["why/stream-only"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"input": "What is the capital of Peru?"}, "/v1/responses"),
        ({"messages": MESSAGES, "system": "hi", "max_tokens": 9}, "/v1/messages"),
        ({"messages": MESSAGES, "tools": [{"name": "f", "input_schema": {}}]}, "/v1/messages"),
    ],
)
def test_a_request_of_another_api(body: dict[str, Any], path: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=path):
        ask(lambda _, reply: reply, write(tmp_path, **body))


def test_a_hang_is_not_claimed_from_counters_that_are_not_there() -> None:
    def silent(ask: Ask, reply: Reply) -> Reply:
        if ask.method == "POST":
            return Reply(0, failure=Failure.TIMEOUT, detail="not whole after 9 s")
        return renamed_metrics(ask, reply)

    report = ask(silent)
    assert report.findings[0].rule == "why/hung-engine"
    assert "the server tells nothing of itself" in report.summary


def test_the_larger_budget_goes_where_the_request_has_its_own(tmp_path: Path) -> None:
    path = write(tmp_path, messages=MESSAGES, temperature=0, max_completion_tokens=3)
    report = ask(lambda _, reply: reply, path)
    assert report.result is not None
    larger = report.result.exchange("direct/large")
    assert larger is not None
    body = msgspec.json.decode(larger.request)
    assert body["max_completion_tokens"] > 3
    assert "max_tokens" not in body
    assert "(max_completion_tokens 3); with a larger budget" in report.summary


def test_a_call_that_was_cut_off(tmp_path: Path) -> None:
    def change(ask: Ask, reply: Reply) -> Reply:
        if ask.label != "direct/whole":
            return reply
        call = {"function": {"name": "f", "arguments": '{"path": "a'}}
        answer = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "length"}]}
        return with_body(reply, msgspec.json.encode(answer))

    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    report = ask(change, write(tmp_path, messages=MESSAGES, tools=tools, max_tokens=9))
    assert [f.rule for f in report.findings] == ["response/call-cut"]
    assert "(max_tokens 9)" in report.summary
