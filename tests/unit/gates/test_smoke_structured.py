"""Structured output, whole, cut off and none."""

from __future__ import annotations

import msgspec
import pytest

from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.verdict import Verdict
from sparkproof.gates.smoke_structured import begins_object, judge_structured

WHOLE = '{"name": "Nile", "count": 4}'


def _result(status: int = 200, error: str = "", finish: str = "stop", **said: str) -> SmokeResult:
    body = {"choices": [{"message": said, "finish_reason": finish}]}
    exchange = Exchange(
        label="chat/structured",
        method="POST",
        path="/v1/chat/completions",
        status=status,
        error=error,
        body=msgspec.json.encode(body).decode(),
    )
    return SmokeResult(snapshot=ServerSnapshot(address="http://x"), exchanges=(exchange,))


@pytest.mark.parametrize(
    ("text", "finish", "verdict", "rule"),
    [
        (WHOLE, "stop", Verdict.PASS, ""),
        (WHOLE, "length", Verdict.PASS, ""),
        ('{"name": "Nile", "cou', "length", Verdict.PASS, ""),
        ('{"name": "Nile", "count"', "length", Verdict.PASS, ""),
        ('{"name": "Nile", "count":19' + " " * 200, "length", Verdict.PASS, "structured-blanks"),
        ('{"name": "Nile", "count":19' + " " * 200, "stop", Verdict.FAIL, "smoke/structured"),
        ("Sure, here it is", "length", Verdict.FAIL, "smoke/structured"),
        ("Sure, here it is", "stop", Verdict.FAIL, "smoke/structured"),
    ],
)
def test_the_answer(text: str, finish: str, verdict: Verdict, rule: str) -> None:
    criterion, findings = judge_structured(_result(content=text, finish=finish))
    assert criterion.verdict is verdict
    assert rule in "".join(f.rule for f in findings)
    assert bool(findings) is bool(rule)


def test_an_object_in_the_reasoning_field_is_one() -> None:
    criterion, findings = judge_structured(_result(reasoning=WHOLE))
    assert (criterion.verdict, findings) == (Verdict.PASS, [])


def test_a_budget_that_went_into_thinking_shows_nothing_and_says_what_to_do() -> None:
    criterion, findings = judge_structured(_result(reasoning="Rivers, hm", finish="length"))
    assert criterion.verdict is Verdict.INCONCLUSIVE
    assert [f.rule for f in findings] == ["smoke/structured-cut"]


@pytest.mark.parametrize(
    ("status", "error", "rule"),
    [
        (400, "", "smoke/structured"),
        (500, "", "smoke/no-answer"),
        (200, "upstream", "smoke/no-answer"),
    ],
)
def test_an_error_is_the_grammars_only_where_it_was_refused(
    status: int, error: str, rule: str
) -> None:
    criterion, findings = judge_structured(_result(status, error))
    assert criterion.verdict is Verdict.FAIL
    assert [f.rule for f in findings] == [rule]


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ('{"name', True),
        ('{"na', False),
        ('{"name":', True),
        ('{"name": "Ni', True),
        ('{"name": "Nile",', True),
        ('{"count": 4', False),
        ("{", False),
        ("[1", False),
    ],
)
def test_beginnings(text: str, begins: bool) -> None:
    assert begins_object(text) is begins
