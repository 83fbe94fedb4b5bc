"""Answers of a server whose tokens are single characters, and what a fault makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from sparkproof.testing.faults import parse_fault
from sparkproof.testing.faults.answer import add_tokens
from sparkproof.testing.faults.fault import DONE, Event, Events, Exchange, chained


async def tokenize(text: str) -> list[int]:
    return [ord(c) for c in text]


class Told(NamedTuple):
    """What came out: text, ids, texts and nats of the log-probabilities, last count of tokens."""

    text: str
    ids: list[int]
    texts: list[str]
    nats: list[float]
    tokens: int
    events: list[Event]


def choice(text: str, chat: bool, whole: bool, by_id: bool = False) -> dict[str, Any]:
    names = [f"token_id:{ord(c)}" if by_id else c for c in text]
    found: dict[str, Any] = {"index": 0, "finish_reason": None, "token_ids": [ord(c) for c in text]}
    if chat:
        rows = [{"token": c, "logprob": -1.0, "bytes": [], "top_logprobs": [{}]} for c in names]
        part = {"content": text}
        return found | {"logprobs": {"content": rows}, "message" if whole else "delta": part}
    tops = [{c: -1.0} for c in names]
    columns = {"tokens": names, "token_logprobs": [-1.0] * len(text), "top_logprobs": tops}
    return found | {"text": text, "logprobs": columns | {"text_offset": list(range(len(text)))}}


def usage(count: int) -> dict[str, int]:
    return {"prompt_tokens": 5, "completion_tokens": count, "total_tokens": count + 5}


def stream(pieces: Sequence[str], chat: bool = False, by_id: bool = False) -> list[Event]:
    made, count = [], 0
    for piece in pieces:
        count += len(piece)
        body = {"choices": [choice(piece, chat, False, by_id)], "usage": usage(count)}
        made.append(Event("{}", body))
    return [*made, Event("{}", {"choices": [], "usage": usage(count)}), Event(DONE, None)]


def whole(text: str, chat: bool = False) -> list[Event]:
    body = {"choices": [choice(text, chat, True)], "usage": usage(len(text))}
    return [Event("{}", body, whole=True)]


def exchange(number: int = 1, peak: int = 1, streamed: bool = True, seed: int = 0) -> Exchange:
    return Exchange(number, streamed, seed, peak, tokenize, peak)


async def feed(events: Sequence[Event]) -> Events:
    for event in events:
        yield event


async def _collect(faults: Sequence[str], at: Exchange, events: Sequence[Event]) -> list[Event]:
    line = feed(events)
    for fault in faults:
        line = chained(parse_fault(fault), at, line)
    got = []
    async for event in line:
        add_tokens(at, event)
        got.append(event)
    return got


def struck(fault: str | Sequence[str], events: Sequence[Event], at: Exchange | None = None) -> Told:
    """The answer after the fault."""
    at = at or exchange(streamed=not events[0].whole)
    faults = [fault] if isinstance(fault, str) else fault
    got = asyncio.run(_collect(faults, at, events))
    parts = [one for event in got for one in event.choices()]
    inner = [p.get("delta") or p.get("message") or p for p in parts]
    told = [p["logprobs"] for p in parts]
    rows = [row for one in told for row in one.get("content", ())]
    counts = [event.body["usage"]["completion_tokens"] for event in got if event.body]
    return Told(
        text="".join(str(part.get("content", part.get("text"))) for part in inner),
        ids=[n for p in parts for n in p["token_ids"]],
        texts=[r["token"] for r in rows] + [t for one in told for t in one.get("tokens", ())],
        nats=[r["logprob"] for r in rows]
        + [n for one in told for n in one.get("token_logprobs", ())],
        tokens=counts[-1] if counts else -1,
        events=got,
    )
