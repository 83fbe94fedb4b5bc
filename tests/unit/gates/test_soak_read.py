"""How a soak reads what comes back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.load.test_soak_tally import PLAN

from sparkproof.core.observations.soak_run import Kind, Outcome
from sparkproof.core.server_port import Failure, Reply
from sparkproof.gates.soak_mix import PROBE_EVERY, Mix
from sparkproof.gates.soak_read import loop_of, read_reply

DEAD = b'{"error": {"message": "EngineCore encountered an issue. See stack trace", "code": 500}}'
ILLEGAL = b'{"error": {"message": "CUDA error: an illegal memory access was encountered"}}'


def raw(text: str = "fine words", tokens: int = 12, **more: Any) -> Reply:
    choice = {"text": text, "finish_reason": "length", **more}
    usage = {"prompt_tokens": 20, "completion_tokens": tokens, "total_tokens": 20 + tokens}
    data = msgspec.json.encode({"choices": [choice], "usage": usage})
    return whole(data)


def whole(data: bytes, status: int = 200) -> Reply:
    return Reply(status, "application/json", ended_s=1.0, pieces=((1.0, data),))


def stream(*events: bytes) -> Reply:
    data = b"".join(b"data: " + event + b"\n\n" for event in events)
    return Reply(200, "text/event-stream", ended_s=1.0, pieces=((1.0, data),))


_WORD = b'{"choices": [{"index": 0, "text": "word", "finish_reason": null}]}'
_ERROR = b'{"error": {"message": "EngineCore encountered an issue", "code": 500}}'


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (raw(), Outcome.OK),
        (stream(_WORD, b"[DONE]"), Outcome.OK),
        (stream(_WORD), Outcome.TRUNCATED),
        (stream(_WORD, _ERROR, b"[DONE]"), Outcome.ENGINE_DEAD),
        (whole(DEAD, 500), Outcome.ENGINE_DEAD),
        (whole(ILLEGAL, 500), Outcome.ILLEGAL_ACCESS),
        (whole(b"busy", 503), Outcome.HTTP_ERROR),
        (whole(b"{", 200), Outcome.TRUNCATED),
        (whole(b'{"choices": []}'), Outcome.TRUNCATED),
        (raw("", 0), Outcome.SILENT),
        (raw("!" * 300), Outcome.GARBAGE),
        (raw("\x01\x02\ufffd" * 40), Outcome.GARBAGE),
        (raw("It was a good day. " + "and so on " * 40), Outcome.OK),
        (Reply(0, failure=Failure.REFUSED), Outcome.REFUSED),
        (Reply(0, failure=Failure.TLS), Outcome.REFUSED),
        (Reply(200, failure=Failure.DROPPED), Outcome.TRUNCATED),
        (Reply(0, failure=Failure.TIMEOUT, ended_s=60), Outcome.SILENT),
        (Reply(0, failure=Failure.SILENT, ended_s=60), Outcome.SILENT),
        (
            msgspec.structs.replace(stream(_WORD), failure=Failure.TIMEOUT),
            Outcome.TIMEOUT,
        ),
        (Reply(200, failure=Failure.NOT_HTTP), Outcome.HTTP_ERROR),
        (Reply(200, failure=Failure.TOO_LARGE), Outcome.HTTP_ERROR),
    ],
)
def test_each_end_of_a_request_has_its_name(reply: Reply, outcome: Outcome) -> None:
    request = Mix(PLAN).request(3)
    record = read_reply(request, reply, 5.0, PLAN, {"raw"})
    assert record.outcome is outcome
    assert bool(record.detail) is (outcome is not Outcome.OK) or reply.failure
    assert (record.n, record.kind) == (3, Kind.RAW)


def test_garbage_is_what_the_server_does_not_write_when_asked_alone() -> None:
    alone, later = Mix(PLAN).request(0), Mix(PLAN).request(3)
    first = read_reply(alone, raw("!" * 300), 0.0, PLAN, ())
    assert (first.outcome, first.sound) == (Outcome.OK, False)
    assert read_reply(later, raw("!" * 300), 0.0, PLAN, ()).outcome is Outcome.OK


def test_a_probe_is_held_against_what_it_should_hold() -> None:
    number = PROBE_EVERY - 1
    request = Mix(PLAN).request(number)
    assert request.question is not None
    ids: dict[str, Any] = {"token_ids": list(range(20))}
    held = read_reply(request, raw("45 46 47 48", **ids), 0.0, PLAN, ())
    assert held.held is bool(request.question.name == "count")
    lost = read_reply(request, raw("no idea at all", **ids), 0.0, PLAN, {request.name})
    assert (lost.held, lost.outcome) == (False, Outcome.OK)
    flat = read_reply(request, raw("a b", token_ids=[7] * 40), 0.0, PLAN, {request.name})
    assert flat.outcome is Outcome.GARBAGE


def told(words: str, *gaps: float) -> Reply:
    """An answer with its tokens; each gap is how far the next likeliest lies below."""
    ids = list(range(len(gaps)))
    tops = [{f"token_id:{n}": -0.1, f"token_id:{n + 90}": -0.1 - gap} for n, gap in enumerate(gaps)]
    if words != RIGHT:  # parts at the last one
        ids[-1] += 90
        tops[-1] = {f"token_id:{ids[-1]}": -0.1, f"token_id:{ids[-1] - 90}": -0.1 - gaps[-1]}
    names = [f"token_id:{n}" for n in ids]
    values = {"tokens": names, "token_logprobs": [-0.1] * len(ids), "top_logprobs": tops}
    return raw(words, token_ids=ids, logprobs=values)


RIGHT = "Lima, Tokyo, Paris, Thursday 45 46 47 17 18"


@pytest.mark.parametrize(
    ("gap", "outcome", "tie"),
    [(6.0, Outcome.CORRUPTED, False), (0.05, Outcome.OK, True), (1.0, Outcome.OK, False)],
)
def test_a_probe_that_is_wrong_under_load_is_corrupt_where_the_model_was_sure(
    gap: float, outcome: Outcome, tie: bool
) -> None:
    plan = msgspec.structs.replace(PLAN, kinds=(Kind.RAW,), alone=4)
    alone = Mix(plan).request(3)  # "capital-of-peru"
    first = read_reply(alone, told(RIGHT, 5.0, gap), 0.0, plan, ())
    assert (first.held, len(first.tokens)) == (True, 2)
    later = next(
        r for n in range(4, 200) if (r := Mix(plan).request(n)).name == alone.name and n >= 4
    )
    known = {alone.name: first}
    wrong = read_reply(later, told("fish", 5.0, gap), 0.0, plan, {alone.name}, known)
    assert (wrong.outcome, wrong.tie, wrong.held) == (outcome, tie, False)
    assert "from token 1: " in wrong.detail
    assert wrong.tokens == ()
    same = told(RIGHT, 5.0, gap)
    garbled = whole(same.body.replace(b"Tokyo", b"Tokio"))
    line = read_reply(later, garbled, 0.0, plan, {alone.name}, known)
    assert (line.outcome, "the same tokens" in line.detail) == (Outcome.CORRUPTED, True)
    fine = read_reply(later, told(RIGHT, 5.0, gap), 0.0, plan, {alone.name}, known)
    assert (fine.outcome, fine.detail) == (Outcome.OK, "")


def test_what_is_declined_alone_is_not_asked_again() -> None:
    reply = whole(b'{"error": {"message": "no tool parser"}}', 400)
    assert read_reply(Mix(PLAN).request(0), reply, 0.0, PLAN, ()).outcome is Outcome.NOT_TAKEN
    assert read_reply(Mix(PLAN).request(3), reply, 0.0, PLAN, ()).outcome is Outcome.HTTP_ERROR


def test_a_loop_is_one_short_piece_from_the_first_character_on() -> None:
    assert loop_of("!" * 60) == "!"
    assert loop_of("abc" * 30) == "abc"
    assert loop_of("one " + "abc" * 30) == ""
    assert loop_of("\n" * 80) == ""
    assert loop_of("!!!") == ""
