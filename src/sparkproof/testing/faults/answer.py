"""The text in an answer, with the token ids and log-probabilities that belong to it.

A server that writes other tokens gives their ids and is sure of them. So what a fault writes is
tokenized by the server behind the proxy, and takes the place of the tokens it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from sparkproof.testing.faults.fault import Event, Exchange

SURE_NATS = -0.01
"""Log-probability of what a fault wrote: a broken server does not know that it is."""
UNLIKELY_NATS = -9.0
"""That of the token which stood there before."""


_BY_ID = "token_id:"  # how vLLM spells a token where `return_tokens_as_token_ids` is asked for


class Spot(NamedTuple):
    """A text of a choice: `holder[key]`; `channel` tells it from the choice's others."""

    choice: dict[str, Any]
    holder: dict[str, Any]
    key: str
    channel: str

    @property
    def text(self) -> str:
        """As it stands."""
        return str(self.holder[self.key])


class Tokens(NamedTuple):
    """Which tokens of a choice are replaced, and by what."""

    start: int
    end: int
    ids: list[int]
    texts: list[str]


def spots(event: Event) -> Iterator[Spot]:
    """Every text in an event that is not empty."""
    for choice in event.choices():
        mark = str(choice.get("index", 0))
        if isinstance(choice.get("text"), str) and choice["text"]:
            yield Spot(choice, choice, "text", mark)
        part = choice.get("delta") or choice.get("message")
        if not isinstance(part, dict):
            continue
        for key in ("reasoning", "reasoning_content", "content"):
            if isinstance(part.get(key), str) and part[key]:
                yield Spot(choice, part, key, f"{mark}/{key}")
        for number, call in enumerate(part.get("tool_calls") or ()):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and function.get("arguments"):
                place = f"{mark}/tool{call.get('index', number)}"
                yield Spot(choice, function, "arguments", place)


def merge(events: Sequence[Event]) -> Event:
    """Several events of one choice and channel as one, as a server that packs would send it."""
    first, *rest = events
    if not rest:
        return first
    whole = Event("", deepcopy(first.body), first.whole, True)
    spot = next(spots(whole))
    for event in rest:
        more = next(spots(event))
        spot.holder[spot.key] = spot.text + more.text
        for key in ("finish_reason", "stop_reason"):
            if more.choice.get(key) is not None:
                spot.choice[key] = more.choice[key]
        if isinstance(spot.choice.get("token_ids"), list):
            spot.choice["token_ids"] += more.choice.get("token_ids") or []
        _join(spot.choice.get("logprobs"), more.choice.get("logprobs"))
        if (whole.body or {}).get("usage"):
            whole.body = {**(whole.body or {}), "usage": (event.body or {}).get("usage")}
    return whole


def add_tokens(exchange: Exchange, event: Event) -> None:
    """Make the event's count of tokens fit what faults have written."""
    usage = (event.body or {}).get("usage")
    if exchange.extra_tokens and isinstance(usage, dict):
        for key in ("completion_tokens", "total_tokens"):
            if isinstance(usage.get(key), int):
                usage[key] = max(0, usage[key] + exchange.extra_tokens)
        event.changed = True


def _join(one: object, other: object) -> None:
    if isinstance(one, dict) and isinstance(other, dict):
        for key, value in one.items():
            if isinstance(value, list):
                value.extend(other.get(key) or ())


async def respell(exchange: Exchange, spot: Spot, new: str) -> None:
    """Write another text into a spot, and its tokens with it."""
    old = spot.text
    if new == old:
        return
    spot.holder[spot.key] = new
    found = _by_text(logprob_texts(spot.choice), old, new, *_same(old, new))
    if found is not None:
        start, end, middle = found
        ids = await exchange.tokenize(middle) if middle else []
    else:
        before, after = await exchange.tokenize(old), await exchange.tokenize(new)
        start, end, ids = _by_ids(spot.choice, before, after)
        middle = new
    _splice(exchange, spot.choice, Tokens(start, end, ids, _shares(middle, len(ids))))


async def repeat(exchange: Exchange, spot: Spot, place: int, piece: str) -> None:
    """Write one piece again and again from a place in the text on, for as many tokens."""
    old = spot.text
    unit = await exchange.tokenize(piece) or [0]
    found = _by_text(logprob_texts(spot.choice), old, old, place, 0)
    before = await exchange.tokenize(old) if found is None else []
    kept = await exchange.tokenize(old[:place]) if found is None and place else []
    if found is not None:
        count = found[1] - found[0]
    elif not place and spot.choice.get("token_ids"):
        count = len(spot.choice["token_ids"])
        before = list(spot.choice["token_ids"])
    else:
        count = len(before) - len(kept) or len(old[place:].split())
    times = max(1, count // len(unit))
    spot.holder[spot.key] = old[:place] + piece * times
    ids = unit * times
    if found is None:
        start, end, ids = _by_ids(spot.choice, before, kept + ids)
    else:
        start, end, _ = found
    texts = _shares(piece * times, len(ids))
    _splice(exchange, spot.choice, Tokens(start, end, ids, texts))


def logprob_texts(choice: dict[str, Any]) -> list[str]:
    """The text of each token, where the answer tells it."""
    told = choice.get("logprobs")
    if not isinstance(told, dict):
        return []
    if isinstance(told.get("tokens"), list):
        return [str(text) for text in told["tokens"]]
    rows = told.get("content")
    return [str(row.get("token", "")) for row in rows] if isinstance(rows, list) else []


def _by_text(
    texts: Sequence[str], old: str, new: str, head: int, tail: int
) -> tuple[int, int, str] | None:
    """Tokens (first, one past the last) that hold all but `head` and `tail` characters.

    The third is the text that takes their place; None where the tokens' texts are not known.
    """
    base = "".join(texts).find(old)
    if base < 0 or not texts:
        return None
    left, right = base + head, base + len(old) - tail
    start = end = -1
    offset = begin = stop = 0
    for number, text in enumerate(texts):
        after = offset + len(text)
        if start < 0 and after > left:
            start, begin = number, offset
        if start >= 0 and end < 0 and after >= right:
            end, stop = number + 1, after
        offset = after
    if start < 0 or end < 0:
        return None
    tail = max(0, base + len(old) - stop)
    return start, end, new[max(0, begin - base) : len(new) - tail]


def _by_ids(
    choice: dict[str, Any], before: list[int], after: list[int]
) -> tuple[int, int, list[int]]:
    """As `_by_text`, by the ids of both texts; the third is the ids that are new."""
    head, tail = _same(before, after)
    fresh = after[head : len(after) - tail]
    ids = choice.get("token_ids")
    if not isinstance(ids, list):
        return head, len(before) - tail, fresh
    for at in range(len(ids) - len(before) + 1):
        if ids[at : at + len(before)] == before:
            return at + head, at + len(before) - tail, fresh
    return 0, len(ids), after  # not as the tokenizer would spell it: all of it is new


def _same(one: Sequence[Any], other: Sequence[Any]) -> tuple[int, int]:
    """How much is the same at the beginning and at the end."""
    short = min(len(one), len(other))
    head = next((n for n in range(short) if one[n] != other[n]), short)
    left = short - head
    tail = next((n for n in range(left) if one[-1 - n] != other[-1 - n]), left)
    return head, tail


def _shares(text: str, count: int) -> list[str]:
    """The text cut into so many pieces, as even as may be."""
    return [text[len(text) * n // count : len(text) * (n + 1) // count] for n in range(count)]


def _splice(exchange: Exchange, choice: dict[str, Any], tokens: Tokens) -> None:
    exchange.extra_tokens += len(tokens.ids) - (tokens.end - tokens.start)
    part = slice(tokens.start, tokens.end)
    if isinstance(choice.get("token_ids"), list):
        choice["token_ids"][part] = tokens.ids
    told = choice.get("logprobs")
    if not isinstance(told, dict):
        return
    if any(text.startswith(_BY_ID) for text in logprob_texts(choice)):
        tokens = tokens._replace(texts=[f"{_BY_ID}{number}" for number in tokens.ids])
    if isinstance(told.get("tokens"), list):
        _splice_columns(told, part, tokens.texts)
    elif isinstance(told.get("content"), list):
        old = told["content"][part]
        told["content"][part] = [
            _row(text, old[min(n, len(old) - 1)] if old else {})
            for n, text in enumerate(tokens.texts)
        ]


def _splice_columns(told: dict[str, Any], part: slice, texts: Sequence[str]) -> None:
    was = told["tokens"][part]
    tops = [
        {was[min(n, len(was) - 1)]: UNLIKELY_NATS, text: SURE_NATS} if was else {text: SURE_NATS}
        for n, text in enumerate(texts)
    ]
    told["tokens"][part] = texts
    for key, fresh in (("token_logprobs", [SURE_NATS] * len(texts)), ("top_logprobs", tops)):
        if isinstance(told.get(key), list):
            told[key][part] = fresh
    if isinstance(told.get("text_offset"), list) and told["text_offset"]:
        offset = told["text_offset"][0]
        told["text_offset"] = [
            offset + len("".join(told["tokens"][:n])) for n in range(len(told["tokens"]))
        ]


def _row(text: str, old: dict[str, Any]) -> dict[str, Any]:
    def one(token: str, nats: float) -> dict[str, Any]:
        return {"token": token, "logprob": nats, "bytes": list(token.encode())}

    tops = [one(text, SURE_NATS)]
    if old.get("token") not in (None, text):
        tops.append(one(str(old["token"]), UNLIKELY_NATS))
    return {**one(text, SURE_NATS), "top_logprobs": tops if old.get("top_logprobs") else []}
