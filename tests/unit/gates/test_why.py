"""Every look-alike on its own, told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sparkproof.core.finding import Severity
from sparkproof.core.observations.exchange import Exchange, StreamReading
from sparkproof.core.observations.server_snapshot import Window
from sparkproof.core.report import Report
from sparkproof.core.results.why import WhyResult
from sparkproof.core.server_port import Failure
from sparkproof.core.verdict import Verdict
from sparkproof.gates.why import find_cause
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.usecases.why import report_why, why

TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {}}}]


@pytest.fixture
def replay(tmp_path: Path) -> Any:
    def write(**body: Any) -> Path:
        path = tmp_path / "request.json"
        messages = [{"role": "user", "content": "What is the capital of Peru?"}]
        path.write_bytes(msgspec.json.encode({"messages": messages, "model": "tiny", **body}))
        return path

    return write


def ask(behaviour: dict[str, Any], path: Path | None = None, **more: Any) -> Report[WhyResult]:
    port = FakePort(StandIn(Behaviour(**behaviour)))
    return why("http://stand-in", replay=path, port=port, **more)


@pytest.mark.parametrize(
    ("behaviour", "body", "rule"),
    [
        ({"tool_parser": "missing"}, {"tools": TOOLS}, "response/no-parser"),
        ({"tool_parser": "wrong"}, {"tools": TOOLS}, "response/wrong-parser"),
        ({"thinks": True, "think_tokens": 40}, {"max_tokens": 8}, "response/starved-budget"),
        ({"reasoning_parser": "eager"}, {}, "response/answer-in-reasoning"),
        ({"thinks": True, "reasoning_parser": "none"}, {}, "response/think-leak"),
        ({"template_error": "System role not supported"}, {}, "response/template"),
        ({}, {"model": "agent"}, "response/unknown-model"),
        ({"dies_after": 0}, {}, "response/dead-engine"),
        ({"garbage": "one-token"}, {}, "response/garbage"),
        ({}, {"max_tokens": 99_999}, "response/too-long"),
        ({"queue_s": 8.0}, {}, "why/queueing"),
        ({"preemptions": 2}, {}, "why/preemption"),
        ({"first_extra_s": 25.0}, {}, "why/cold"),
        ({"key": "k"}, {}, "why/key"),
    ],
)
def test_a_look_alike(
    behaviour: dict[str, Any], body: dict[str, Any], rule: str, replay: Any
) -> None:
    report = ask(behaviour, replay(**body))
    assert [f.rule for f in report.findings] == [rule]
    broken = report.findings[0].severity is Severity.ERROR
    assert report.verdict is (Verdict.FAIL if broken else Verdict.PASS)
    assert report.result is not None
    assert report.result.rule == rule


def test_a_budget_that_ended_the_answer_hides_nothing_else(replay: Any) -> None:
    cut = replay(max_tokens=3)
    report = ask({}, cut)
    assert (report.verdict, report.findings[0].rule) == (Verdict.PASS, "response/cut-off")
    assert ask({"queue_s": 8.0}, cut).findings[0].rule == "why/queueing"


def test_a_starved_budget_is_shown_by_giving_more(replay: Any) -> None:
    report = ask({"thinks": True, "think_tokens": 40}, replay(max_tokens=8))
    assert report.summary.endswith("with a larger budget the answer comes")


def test_a_sound_answer_is_no_cause() -> None:
    report = ask({})
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.findings[0].rule == "why/nothing-shown"
    assert "--replay" in report.next_steps[-1]


def test_a_slow_client() -> None:
    assert ask({}, waited_s=300).findings[0].rule == "why/slow-client"
    assert ask({}, waited_s=1).findings[0].rule == "why/nothing-shown"


def test_a_gateway_that_does_not_know_the_name(replay: Any) -> None:
    other = FakePort(StandIn(Behaviour(names=("instance-1",))))
    report = ask({}, replay(), other=other, gateway="http://gateway")
    assert report.findings[0].rule == "why/gateway-name"


def test_a_gateway_that_breaks_the_request(replay: Any) -> None:
    other = FakePort(StandIn(Behaviour(status=502, status_text="Bad Gateway")))
    report = ask({}, replay(), other=other, gateway="http://gateway")
    assert report.findings[0].rule == "why/gateway-breaks"


@pytest.mark.parametrize(
    ("failure", "rule"),
    [
        (Failure.REFUSED, "why/unreachable"),
        (Failure.TLS, "why/tls"),
        (Failure.NOT_HTTP, "why/not-openai"),
    ],
)
def test_a_dead_line_is_an_answer_too(failure: Failure, rule: str) -> None:
    report = why("http://x", port=FakePort(failure=failure))
    assert [f.rule for f in report.findings] == [rule]


def test_a_page_is_no_answer() -> None:
    page = Exchange(
        label="direct/whole", method="POST", path="/", status=200, body="<html>", body_bytes=6
    )
    found = find_cause(WhyResult(address="x", exchanges=(page,)))
    assert found is not None
    assert found.rule == "why/not-openai"


def test_an_odd_answer_without_a_cause_is_not_called_sound() -> None:
    body = '{"choices": [{"message": {"content": ""}}]}'
    empty = Exchange(
        label="direct/whole", method="POST", path="/", status=200, body=body, body_bytes=len(body)
    )
    result = WhyResult(
        address="x", exchanges=(empty,), answer_rules={"direct/whole": "response/unclear"}
    )
    report = report_why(result)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.findings[0].rule == "response/unclear"


def _stuck(**counted: float) -> WhyResult:
    silent = Exchange(
        label="direct/whole", method="POST", path="/v1/chat/completions", failure=Failure.TIMEOUT
    )
    return WhyResult(address="x", exchanges=(silent,), window=Window(**counted))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counted", "rule"),
    [
        ({"generated_tokens": 0.0, "running_seen": 1.0}, "why/hung-engine"),
        ({"generated_tokens": 900.0, "waiting_seen": 3.0}, "why/queueing"),
        ({"generated_tokens": 900.0, "preemptions": 4.0}, "why/preemption"),
    ],
)
def test_silence_is_told_apart_by_what_the_engine_counts(
    counted: dict[str, float], rule: str
) -> None:
    found = find_cause(_stuck(**counted))
    assert found is not None
    assert found.rule == rule


def _whole() -> Exchange:
    body = '{"choices": []}'
    return Exchange(
        label="direct/whole",
        method="POST",
        path="/",
        status=200,
        seconds=1.0,
        body=body,
        body_bytes=len(body),
    )


def _streamed(label: str, moments: tuple[int, ...]) -> Exchange:
    reading = StreamReading(arrivals_us=moments, ended_us=1_000_000, content="x", done=True)
    return Exchange(
        label=label, method="POST", path="/v1/completions", status=200, seconds=1.0, stream=reading
    )


def test_a_gateway_that_holds_the_stream_back() -> None:
    whole = _whole()
    flows, bursts = (100_000, 300_000, 600_000, 900_000), (980_000, 981_000, 982_000, 983_000)
    exchanges = (whole, _streamed("direct/stream", flows), _streamed("gateway/stream", bursts))
    found = find_cause(WhyResult(address="x", exchanges=exchanges))
    assert found is not None
    assert found.rule == "why/gateway-buffers"


def test_a_stream_that_loses_the_call() -> None:
    whole = _whole()
    stream = _streamed("direct/stream", (1, 2))
    result = WhyResult(
        address="x",
        exchanges=(whole, stream),
        answer_rules={"direct/stream": "response/wrong-parser"},
    )
    found = find_cause(result)
    assert found is not None
    assert found.rule == "why/stream-only"


def test_a_stored_result_is_judged_again(replay: Any) -> None:
    report = ask({"tool_parser": "wrong"}, replay(tools=TOOLS))
    stored = msgspec.json.decode(msgspec.json.encode(report), type=Report[WhyResult])
    assert stored.result is not None
    assert report_why(stored.result).findings == report.findings


def test_a_recording_of_the_request_will_do(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    body = {"prompt": "Count from 3:", "model": "tiny", "max_tokens": 4}
    recorded = {"request": {"path": "/v1/completions", "body": body}, "status": 200}
    path.write_bytes(msgspec.json.encode(recorded))
    report = ask({}, path)
    assert report.result is not None
    assert report.result.path == "/v1/completions"
    assert all("messages" not in e.request for e in report.result.exchanges)
