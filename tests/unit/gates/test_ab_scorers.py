"""What is right, what is wrong, and where it first goes wrong."""

from __future__ import annotations

import pytest

from sparkproof.gates.ab_scorers import SCORERS, fault_of_expected, score_found, tool_call_text

_CALL = '{"name": "plan", "arguments": {"hour": 7, "share": 0.5}}'


@pytest.mark.parametrize(
    ("scorer", "text", "expected"),
    [
        ("exact", " 2.11.0+cu130\n", "2.11.0+cu130"),
        ("exact", "`2.11.0`", "2.11.0"),
        ("exact", "```\n2.11.0\n```", "2.11.0"),
        ("exact", "`a` and `b`", "`a` and `b`"),
        ("json", '```json\n{"b": 1.0, "a": [true]}\n```', '{"a": [true], "b": 1}'),
        ("json", "[36658, 28029]", "[36658,28029]"),
        ("json-subset", '{"a": {"b": 1, "c": 2}, "d": 3}', '{"a": {"b": 1}}'),
        ("contains", "The capital is Lima.", "Lima"),
        ("number", "It reads -1,204.50 today.", "-1204.5"),
        ("number", "6.7270e-8", "6.727E-8"),
        ("tool-arguments", tool_call_text([("plan", '{"share": 0.5, "hour": 7}')]), _CALL),
        ("tool-arguments", "", "[]"),
        ("tool-arguments", tool_call_text([("stop", "")]), '{"name": "stop"}'),
    ],
)
def test_right(scorer: str, text: str, expected: str) -> None:
    assert SCORERS[scorer](text, expected).exact


@pytest.mark.parametrize(
    ("scorer", "text", "expected", "detail"),
    [
        (
            "exact",
            "2.11+cu130",
            "2.11.0+cu130",
            "from character 4: '+cu130' in place of '.0+cu130'",
        ),
        ("exact", "", "x", "from character 0: '' in place of 'x'"),
        ("json", '{"version": "2.11"}', '{"version": "2.11.0"}', "version: '\"2.11\"' in place of"),
        ("json", '{"nane": 1}', '{"name": 1}', "name: missing"),
        ("json", '{"a": {"b": [1, 2]}}', '{"a": {"b": [1]}}', "a.b: 2 items in place of 1"),
        ("json", '{"a": {"b": 1, "c": 2}}', '{"a": {"b": 1}}', "a.c: not expected"),
        ("json", '{"a": 1}', '{"a": true}', "a: '1' in place of 'true'"),
        ("json", "[1, 2", "[1, 2]", "not JSON"),
        ("json", "1, 2", "1", "not JSON"),
        ("json", '1, "b": 2', "1", "not JSON: more than one value"),
        ("json", "NaN", "1", "NaN is no JSON number"),
        ("json", "\ud800", "1", "not UTF-8"),
        ("json-subset", '{"a": 1}', '{"b": 1}', "b: missing"),
        ("contains", "Rome", "Lima", "'Lima' is not in it"),
        ("number", "1 or 2", "1", "2 numbers in it"),
        ("number", "1.5e3", "1.5", "1.5e3 in place of 1.5"),
        ("tool-arguments", "I would call plan", _CALL, "not JSON"),
        ("tool-arguments", "", _CALL, "0 calls in place of 1"),
        ("tool-arguments", tool_call_text([("plan", '{"hour": 7}')]), _CALL, "share: missing"),
        ("tool-arguments", tool_call_text([("plan", "{")]), _CALL, "not JSON"),
        ("tool-arguments", "[1]", _CALL, "a tool call without a name"),
    ],
)
def test_wrong_and_where(scorer: str, text: str, expected: str, detail: str) -> None:
    score = SCORERS[scorer](text, expected)
    assert not score.exact
    assert detail in score.detail


@pytest.mark.parametrize(
    ("found", "detail"),
    [(True, ""), (False, "nothing in it matches 'a+'"), (None, "'a+' found nothing in all its")],
)
def test_a_pattern_that_was_searched_elsewhere(found: bool | None, detail: str) -> None:
    score = score_found(found, "a+")
    assert score.exact is (found is True)
    assert score.detail.startswith(detail)


@pytest.mark.parametrize(
    ("scorer", "expected"),
    [
        ("regex", "("),
        ("number", "many"),
        ("number", "NaN"),
        ("exact", " "),
        ("json", "{"),
        ("tool-arguments", '{"arguments": {}}'),
    ],
)
def test_an_expectation_that_no_scorer_can_read(scorer: str, expected: str) -> None:
    assert fault_of_expected(scorer, expected)
    assert not fault_of_expected("json", '"x"')
