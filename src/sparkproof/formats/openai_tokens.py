"""Token ids and log-probabilities in the chunks of a stream, as vLLM writes them when asked to.

Asked with ``return_token_ids`` and ``return_tokens_as_token_ids``: tokens then are
``token_id:123``, which two servers can be compared by without any tokenizer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from sparkproof.core.observations.ab_run import Token

_PREFIX = "token_id:"
_MOST_IDS = 10**11


class TopToken(msgspec.Struct):
    """One of a chat's likeliest tokens."""

    token: str
    logprob: float | None = None


class ChatToken(msgspec.Struct):
    """One token of a chat."""

    token: str
    logprob: float | None = None
    top_logprobs: list[TopToken] = []


class Logprobs(msgspec.Struct):
    """Of a chat: `content`; of a completion: the rest."""

    content: list[ChatToken] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float] | None] | None = None


class CallPart(msgspec.Struct):
    """A piece of a call: the name comes once, the arguments in pieces."""

    name: str | None = None
    arguments: str | None = None


class CallDelta(msgspec.Struct):
    """One call's share of a chunk."""

    index: int = 0
    function: CallPart | None = None


class TokenDelta(msgspec.Struct):
    """A chat's share."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[CallDelta] | None = None


class TokenChoice(msgspec.Struct):
    """One choice's share of a chunk."""

    text: str | None = None
    delta: TokenDelta | None = None
    token_ids: list[int] | None = None
    logprobs: Logprobs | None = None


class TokenChunk(msgspec.Struct):
    """One event of the stream."""

    choices: list[TokenChoice] = []
    system_fingerprint: str | None = None


_DECODER = msgspec.json.Decoder(TokenChunk)


def parse_token_chunk(data: str) -> TokenChunk | None:
    """The chunk, or None for what is none."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def tokens_of(choice: TokenChoice) -> tuple[Token, ...]:
    """The tokens of one chunk; without log-probabilities where they do not fit the ids."""
    told = _told(choice.logprobs) if choice.logprobs else []
    ids = choice.token_ids
    if ids is None or not all(0 <= id_ < _MOST_IDS for id_ in ids):  # none, or none that are ids
        return tuple(token for token in told if token.id >= 0)
    if len(told) == len(ids):
        return tuple(Token(id_, t.nats, t.top) for id_, t in zip(ids, told, strict=True))
    return tuple(Token(id_) for id_ in ids)


def _told(found: Logprobs) -> list[Token]:
    if found.content is not None:
        return [
            Token(
                _id(t.token), _nats(t.logprob), _top((x.token, x.logprob) for x in t.top_logprobs)
            )
            for t in found.content
        ]
    values, tops = found.token_logprobs or [], found.top_logprobs or []
    return [
        Token(
            _id(name),
            _nats(values[n] if n < len(values) else None),
            _top((tops[n] or {}).items() if n < len(tops) else ()),
        )
        for n, name in enumerate(found.tokens or [])
    ]


def _id(name: str) -> int:
    digits = name.removeprefix(_PREFIX)
    return int(digits) if name != digits and digits.isdecimal() and len(digits) < 12 else -1


def _nats(value: float | None) -> float | None:
    if value is None or math.isnan(value):
        return None
    return round(min(max(value, -1e4), 1e4), 4)


def _top(pairs: Iterable[tuple[str, float | None]]) -> tuple[tuple[int, float], ...]:
    found = ((_id(name), _nats(value)) for name, value in pairs)
    return tuple((id_, nats) for id_, nats in found if id_ >= 0 and nats is not None)
