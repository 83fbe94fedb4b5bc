"""The bundled set never changes in silence; a user's file is read strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.live.tiny_tasks import tiny_tasks

from sparkproof.core.errors import FormatError
from sparkproof.gates.ab_scorers import SCORERS, fault_of_expected
from sparkproof.gates.ab_task_file import parse_tasks
from sparkproof.gates.ab_task_kinds import KINDS
from sparkproof.gates.ab_tasks import TASK_SET, Form, bundled_tasks, request_body, set_digest

_DIGEST = "sha256:9bb44c55498d4405a8b457a6f61632f80f1ea29461c03f19c53648c8be6e2a6f"


def test_the_set_is_what_its_name_says() -> None:
    """If this fails, the tasks changed: give the set another name, for results name it."""
    assert TASK_SET == "extraction-1"
    assert set_digest(bundled_tasks(256)) == _DIGEST


@pytest.mark.parametrize("form", Form)
def test_every_kind_its_own_and_answerable(form: Form) -> None:
    tasks = bundled_tasks(480, form=form)
    assert len({task.id for task in tasks}) == len({(t.prompt, t.messages) for t in tasks}) == 480
    raw = {Form.RAW: 480, Form.CHAT: 0, Form.MIXED: 240}[form]
    assert sum(bool(task.prompt) for task in tasks) == raw
    assert {task.kind for task in tasks} == set(KINDS) - ({"tool-call"} if raw == 480 else set())
    for task in tasks:
        asked = task.prompt or task.messages[0].content
        if task.scorer:
            assert not fault_of_expected(task.scorer, task.expected)
            assert SCORERS[task.scorer](task.expected, task.expected).exact
            assert task.max_tokens > len(task.expected)
        else:
            assert task.kind == "probe"
            assert not task.stop
        if task.scorer == "exact":
            assert task.expected in asked
            assert "\n" not in task.expected


def test_a_larger_set_begins_with_the_smaller() -> None:
    assert bundled_tasks(60)[:24] == bundled_tasks(24)
    assert bundled_tasks(24, "2") != bundled_tasks(24)


def test_copies_are_long() -> None:
    copies = [len(t.expected) for t in bundled_tasks(600) if t.kind == "copy"]
    assert min(copies) > 100
    assert max(copies) > 800


def test_what_goes_into_the_request() -> None:
    tool = next(task for task in bundled_tasks(24) if task.tools)
    body = request_body(tool)
    assert body["messages"][0]["role"] == "user"
    assert json.loads(tool.expected)["name"] in {t["function"]["name"] for t in body["tools"]}
    assert set(request_body(bundled_tasks(2)[1])) == {"max_tokens", "prompt", "stop"}


def _line(**more: Any) -> bytes:
    base = {"id": "a", "prompt": "x", "max_tokens": 8, "expected": "y", "scorer": "exact"}
    return json.dumps({k: v for k, v in {**base, **more}.items() if v is not ...}).encode()


def test_a_file_of_ones_own() -> None:
    chat = [{"role": "user", "content": "x"}]
    tools = [{"type": "function", "function": {"name": "f"}}]
    call = {"name": "f", "arguments": {}}
    lines = [
        _line(),
        b"\n",
        _line(id="b", expected={"k": 1}, scorer="json", stop=["\n"], kind="mine"),
        _line(id="c", expected=..., scorer=...),
        _line(
            id="d", prompt=..., messages=chat, tools=tools, expected=call, scorer="tool-arguments"
        ),
    ]
    one, two, three, four = parse_tasks(lines, "t.jsonl")
    assert (one.kind, one.expected) == ("own", "y")
    assert (two.kind, two.expected, two.stop) == ("mine", '{"k": 1}', ("\n",))
    assert (three.scorer, three.expected) == ("", "")
    assert json.loads(four.tools) == tools
    own = parse_tasks([_line(scorer=..., expected=[1])], "t", own_scorer="command")
    assert (own[0].scorer, own[0].expected) == ("command", "[1]")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "not JSON"),
        (b"[]", "no object"),
        (_line(prompt="half \ud800"), "half a surrogate pair"),
        (_line(prompts="x"), "unknown field `prompts`"),
        (_line(id=""), "`id`"),
        (_line(prompt=...), "either `prompt` or `messages`"),
        (_line(prompt=""), "`prompt` is empty"),
        (_line(messages=[{"role": "user", "content": "x"}]), "and not both"),
        (_line(prompt=..., messages=[{"role": "user"}]), "no list of role and content"),
        (_line(prompt=..., messages=[]), "`messages` is empty"),
        (_line(max_tokens=...), "`max_tokens` is missing"),
        (_line(max_tokens=0), "`max_tokens` is outside"),
        (_line(scorer="exakt"), "no scorer `exakt`"),
        (_line(scorer=...), "`expected` without a scorer"),
        (_line(expected=...), "`expected` is missing"),
        (_line(expected=7), "no text"),
        (_line(scorer="regex", expected="("), "no regular expression"),
        (_line(tools=[{"type": "function"}]), "`tools` go with `messages`"),
        (_line(tools="f"), "`tools` is no list of objects"),
        (_line(id="first"), "id `first` stands in line 1 too"),
    ],
)
def test_a_line_that_is_no_task(line: bytes, why: str) -> None:
    with pytest.raises(FormatError, match=r"t\.jsonl:2: ") as caught:
        parse_tasks([_line(id="first"), line], "t.jsonl")
    assert why in caught.value.message
    assert caught.value.hint


def test_a_file_without_a_task() -> None:
    with pytest.raises(FormatError, match="no task"):
        parse_tasks([b"\n"], "t.jsonl")


def test_the_tiny_checkpoints_tasks_come_the_same_way() -> None:
    tasks = parse_tasks(tiny_tasks(60).splitlines(), "tiny.jsonl")
    assert {task.kind for task in tasks} == {"extract", "count"}
    assert {bool(task.prompt) for task in tasks} == {True, False}
    # what the checkpoint answered to such a task (vLLM 0.32.0 for CPUs, 2026-11-29)
    first = next(task for task in tasks if task.kind == "extract" and task.prompt)
    assert first.prompt.startswith("Extract: ")
    assert first.prompt.endswith(".\n")
    said = json.loads(first.expected)
    assert f"{said['by']} " in first.prompt
    assert f" {said['name']} {said['version']}.\n" in first.prompt
