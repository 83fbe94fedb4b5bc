"""Chunks of a streamed completion or chat answer, as vLLM and its kin write them."""

from __future__ import annotations

import msgspec

from sparkproof.formats.openai_tokens import CallDelta


class Delta(msgspec.Struct):
    """What one chunk of a chat adds. Thinking comes as ``reasoning``, formerly ``_content``."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[CallDelta] | None = None


class ChunkChoice(msgspec.Struct):
    """One choice's share of a chunk: `text` of a completion, `delta` of a chat."""

    index: int = 0
    text: str | None = None
    delta: Delta | None = None
    finish_reason: str | None = None
    token_ids: list[int] | None = None


class TokenDetails(msgspec.Struct):
    """Parts of the completion's tokens; of the prompt's."""

    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class Usage(msgspec.Struct):
    """The server's own count of tokens."""

    prompt_tokens: int = 0
    completion_tokens: int | None = 0
    completion_tokens_details: TokenDetails | None = None
    prompt_tokens_details: TokenDetails | None = None


class Chunk(msgspec.Struct):
    """One event of the stream; the last one has no choices and the usage."""

    choices: list[ChunkChoice] = []
    usage: Usage | None = None
    error: object = None
    model: str | None = None


_DECODER = msgspec.json.Decoder(Chunk)
DONE = "[DONE]"


def parse_chunk(data: str) -> Chunk | None:
    """The chunk, or None for what is none."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def error_text(value: object) -> str:
    """The message of an ``error`` object, or its text."""
    message = value.get("message") if isinstance(value, dict) else None
    return message if isinstance(message, str) else str(value)
