"""An answer, and the rule that it breaks."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sparkproof.bootlog.call_markup import find_call, parsers_of
from sparkproof.bootlog.response import Answer, parse_answers
from sparkproof.bootlog.response_rules import judge_answer
from sparkproof.facts.book import rules
from sparkproof.facts.call_markup import call_markup

CALLS = (
    '<\uff5cDSML\uff5cfunction_calls><\uff5cDSML\uff5cinvoke name="f"></\uff5cDSML\uff5cinvoke>',
    '<tool_calls><steptml:invoke name="f"></steptml:invoke></tool_calls>',
    "[get_weather(city='Lima')]",
    '{"type": "function", "function": {"name": "f"}}',
    "<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>",
    'Let me look: <tool_call>{"name": "f", "arguments": {}}</tool_call>',
    "I will ask.\n<tool_call>\nf",
    '```\n<tool_call>{"name": "f"}</tool_call>\n```',
)


@pytest.mark.parametrize("text", CALLS)
def test_a_call_in_the_text(text: str) -> None:
    assert judge_answer(Answer(content=text)) == "response/wrong-parser"


@pytest.mark.parametrize("mark", [mark.text for mark in call_markup().calls])
def test_every_mark_that_is_known(mark: str) -> None:
    assert find_call(f"Sure.\n{mark}x")


SPOKEN_OF = (
    'In Hermes format: `<tool_call>{"name": "f"}</tool_call>`. Use it in your prompts.',
    "Write it so:\n```\n<tool_call>\n{}\n</tool_call>\n```\nThat is all.",
    'The tag "<tool_call>" opens a call, "</think>" ends thinking.',
    "A call begins with <tool_call> and ends with its closing tag.",
    "assistantfinal is a word of Harmony, and an analysis is none",
)


@pytest.mark.parametrize("text", SPOKEN_OF)
def test_an_answer_about_markup_is_no_call(text: str) -> None:
    assert judge_answer(Answer(content=text)) == ""


def test_without_tools_asked_for_a_call_is_text() -> None:
    assert judge_answer(Answer(content=CALLS[0], asked_tools=False)) == ""
    assert judge_answer(Answer(content=CALLS[0], asked_tools=True)) == "response/wrong-parser"


def test_the_parsers_that_read_a_mark() -> None:
    assert "hermes" in parsers_of(find_call(CALLS[5]))
    assert parsers_of("JSON") == ()


@pytest.mark.parametrize(
    "text",
    [
        "analysisWe need to answer.assistantfinalHello there",
        "<|channel|>final<|message|>Hello",
        "hm [/THINK] yes",
    ],
)
def test_thinking_that_leaks(text: str) -> None:
    assert judge_answer(Answer(content=text)) == "response/think-leak"


@pytest.mark.parametrize(
    ("arguments", "finish", "rule"),
    [
        ('{"a": ', "length", "response/call-cut"),
        ('{"a": 1}', "length", ""),
        ('{"a": 1}', "tool_calls", ""),
        ("", "tool_calls", ""),
        ("{'a': 1}", "tool_calls", "response/call-broken"),
    ],
)
def test_the_arguments_of_a_call(arguments: str, finish: str, rule: str) -> None:
    answer = Answer(tool_calls=1, arguments=(arguments,), finish_reason=finish)
    assert judge_answer(answer) == rule


def test_a_text_that_was_cut_off() -> None:
    text = "The list is 1, 2, 3"
    assert judge_answer(Answer(content=text, finish_reason="length")) == "response/cut-off"
    assert judge_answer(Answer(content=text, finish_reason="stop")) == ""
    raw = Answer(content=text, finish_reason="length", chat=False)
    assert judge_answer(raw) == "response/cut-off"
    assert judge_answer(msgspec.structs.replace(raw, forced=True)) == ""


@pytest.mark.parametrize("text", ['{"a": 1}', "[1] says so", "{x} is a set", "[link](a)"])
def test_what_is_whole_or_no_json_is_no_cut_json(text: str) -> None:
    cut = Answer(content=text, finish_reason="length")
    assert judge_answer(cut) == "response/cut-off"


@pytest.mark.parametrize(
    ("body", "status", "rule"),
    [
        (b'{"detail":"Not Found"}', 404, "response/no-route"),
        (b'{"detail":"Method Not Allowed"}', 405, "response/no-route"),
        (b'{"detail":[{"loc":["body"],"msg":"Field required"}]}', 400, "response/bad-request"),
        (b'{"status":403,"response":{"detail":"Forbidden"}}', 403, "response/bad-request"),
    ],
)
def test_what_the_web_framework_says(body: bytes, status: int, rule: str) -> None:
    (answer,) = parse_answers(body, "x")
    assert (answer.status, judge_answer(answer)) == (status, rule)


def test_a_model_that_was_forbidden_to_stop_may_run_on() -> None:
    text = "It is Lima." + "</s>" * 30
    forced = Answer(content=text, finish_reason="length", forced=True)
    assert judge_answer(forced) == ""
    assert judge_answer(Answer(content=text, finish_reason="length")) == "response/garbage"
    from_the_start = Answer(content="!" * 40, finish_reason="length", forced=True)
    assert judge_answer(from_the_start) == "response/garbage"


def test_garbage_in_the_thinking_is_no_small_budget() -> None:
    answer = Answer(reasoning="!" * 40, reasoning_field="reasoning", finish_reason="length")
    assert judge_answer(answer) == "response/garbage"


def _recorded(request: dict[str, Any], message: dict[str, Any], finish: str) -> list[str]:
    answer = {"choices": [{"message": message, "finish_reason": finish}]}
    both = {"request": request, "response": answer}
    return [judge_answer(a) for a in parse_answers(json.dumps(both).encode(), "x")]


def test_the_request_beside_the_answer_counts() -> None:
    run = {"content": "It is Lima." + "</s>" * 30}
    assert _recorded({"ignore_eos": True}, run, "length") == [""]
    assert _recorded({"messages": []}, {"content": CALLS[0]}, "stop") == [""]
    assert _recorded({"tools": [{}]}, {"content": CALLS[0]}, "stop") == ["response/wrong-parser"]


def test_arguments_of_a_stream_are_put_together() -> None:
    pieces = ('{"a"', ": 1")
    events: list[dict[str, Any]] = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}}]}
        for piece in pieces
    ]
    events.append({"choices": [{"delta": {}, "finish_reason": "length"}]})
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    (answer,) = parse_answers(text.encode(), "x")
    assert answer.arguments == ('{"a": 1',)
    assert judge_answer(answer) == "response/call-cut"


def test_an_error_in_a_200() -> None:
    rule = judge_answer(Answer(status=200, error="upstream connect error"))
    assert rule == "response/hidden-error"
    assert rule in rules()
