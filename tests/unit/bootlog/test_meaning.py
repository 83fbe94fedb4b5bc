"""Numbers, agreement with a prediction, and answers."""

from __future__ import annotations

import json

import pytest
from tests.unit.bootlog.conftest import LOGS, ReadText, read_file

from sparkproof.bootlog.compare import Expectation, ExpectedBackend, compare_boot, same_version
from sparkproof.bootlog.derive import derive, token_meaning
from sparkproof.bootlog.response import parse_answers
from sparkproof.bootlog.response_rules import judge_answer
from sparkproof.core.errors import FormatError
from sparkproof.facts.book import rules

HEAD = "(EngineCore pid=9) INFO 11-29 20:42:11 [x.py:1] "


def _pool(tokens: str, concurrency: str) -> str:
    return (
        f"{HEAD}Available KV cache memory: 62.31 GiB\n{HEAD}GPU KV cache size: {tokens} tokens\n"
        f"{HEAD}Maximum concurrency for 262,144 tokens per request: {concurrency}x\n"
    )


@pytest.mark.parametrize(
    ("tokens", "concurrency", "meaning"),
    [("582,832", "4.71", "blocks"), ("1,251,446", "4.77", "concurrency")],
)
def test_what_the_pool_size_means(
    tokens: str, concurrency: str, meaning: str, read_text: ReadText
) -> None:
    assert token_meaning(read_text(_pool(tokens, concurrency)).boots[-1]) == meaning


def test_numbers_that_cannot_be_right_are_flagged(read_text: ReadText) -> None:
    text = f"{HEAD}Estimated CUDA graph memory: -20.50 GiB total\n" + _pool("582,832", "4.71")
    assert [d.name for d in derive(read_text(text).boots[-1]) if d.suspicious] == ["graph-estimate"]
    assert not [d for d in derive(read_file("cpu-0.27.1-ngram.log")) if d.suspicious]


def test_prediction_and_log_line_by_line() -> None:
    boot = read_file("h200-0.26.0-moe-nvfp4a16.log")
    expected = Expectation(
        version="0.26.0",
        backends=(
            ExpectedBackend("linear", "MarlinNvFp4LinearKernel", "nvfp4"),
            ExpectedBackend("experts", "FLASHINFER_CUTLASS", "nvfp4"),
            ExpectedBackend("vision-attention", "FLASH_ATTN"),
        ),
        kv_gib=127.19,
        kv_tokens=2_000_000,
        features={"async_scheduling": True, "prefix_caching": True, "speculation": True},
    )
    rows = {row.name: row for row in compare_boot(expected, boot)}
    assert rows["version"].agrees
    assert rows["linear nvfp4"].agrees
    assert rows["experts nvfp4"].agrees is False
    assert "refused at run time" in rows["experts nvfp4"].likely
    assert rows["vision-attention"].agrees is None
    assert rows["KV GiB"].agrees
    assert rows["KV tokens"].agrees is False
    assert rows["async_scheduling"].agrees
    assert rows["prefix_caching"].agrees
    assert rows["speculation"].agrees is False


def test_another_release_is_the_likeliest_reason() -> None:
    boot = read_file("h200-0.26.0-moe-nvfp4a16.log")
    expected = Expectation(version="0.33.0", kv_tokens=1)
    rows = [row for row in compare_boot(expected, boot) if row.predicted]
    assert [row.agrees for row in rows] == [False, False]
    assert rows[1].likely == "another release"
    assert same_version("0.26.0", "0.26.0+cu130")
    assert not same_version("0.26.0+cu129", "0.26.0+cu130")


ANSWERS = {
    "answer-engine-dead.json": "response/dead-engine",
    "answer-starved.json": "response/starved-budget",
    "answer-in-reasoning.json": "response/answer-in-reasoning",
    "answer-no-parser.json": "response/no-parser",
    "answer-sound.json": "",
    "answer-stream.sse": "response/json-cut",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_recorded_answers(name: str) -> None:
    answers = parse_answers((LOGS / name).read_bytes(), name)
    assert [judge_answer(a) for a in answers] == [ANSWERS[name]]


def _message(**fields: object) -> bytes:
    finish = fields.pop("finish_reason", "stop")
    choice = {"message": {"role": "assistant", **fields}, "finish_reason": finish}
    return json.dumps({"choices": [choice]}).encode()


MADE = {
    "response/wrong-parser": _message(content='<tool_call>{"name": "f"}</tool_call>'),
    "response/think-leak": _message(content="hm</think>yes"),
    "response/garbage": _message(content="!" * 40, finish_reason="length"),
    "response/starved-budget": _message(content="<think>still", finish_reason="length"),
    "response/call-in-reasoning": _message(reasoning_content="<tool_call>{}", content=None),
    "response/unclear": _message(content=""),
    "response/template": b'{"error":{"message":"Unexpected reasoning effort max","code":400}}',
    "response/empty-budget": _message(content="", finish_reason="length"),
    "response/cut-off": _message(content="The list is", finish_reason="length"),
    "response/json-cut": _message(content='{"a": [1, 2', finish_reason="length"),
    "response/no-route": b'{"detail":"Not Found"}',
    "response/bad-request": b'{"error":{"message":"temperature must be >= 0","code":400}}',
    "": _message(content=None, tool_calls=[{"function": {"name": "f"}}]),
}


@pytest.mark.parametrize("rule", MADE)
def test_each_rule_and_its_page(rule: str) -> None:
    assert [judge_answer(a) for a in parse_answers(MADE[rule], "x")] == [rule]
    assert not rule or rule in rules()


@pytest.mark.parametrize("data", [b"", b"\xff\0", b"[]", b'{"a": 1}', b"data: nonsense\n"])
def test_no_answer_is_one_error(data: bytes) -> None:
    with pytest.raises(FormatError, match="no answer"):
        parse_answers(data, "x")
