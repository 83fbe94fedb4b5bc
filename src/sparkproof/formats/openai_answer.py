"""Whole answers of an OpenAI-compatible server: version, models, completions, tokens, errors."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.formats.openai_stream import Usage

T = TypeVar("T")


class VersionAnswer(msgspec.Struct):
    """``/version``."""

    version: str


class ModelCard(msgspec.Struct):
    """One row of ``/v1/models``. `root` is the path or repository it was loaded from."""

    id: str
    owned_by: str | None = None
    root: str | None = None
    parent: str | None = None
    max_model_len: int | None = None


class ModelList(msgspec.Struct):
    """``/v1/models``."""

    data: list[ModelCard]


class PromptToken(msgspec.Struct):
    """What the server gives for one token of the prompt."""

    logprob: float | None
    rank: int | None = None
    decoded_token: str | None = None


class ToolFunction(msgspec.Struct):
    """The function of a tool call."""

    name: str | None = None
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    """One call."""

    function: ToolFunction | None = None


class Message(msgspec.Struct):
    """What a chat answers."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None


class Choice(msgspec.Struct):
    """One answer: `text` of a completion, `message` of a chat."""

    text: str | None = None
    message: Message | None = None
    finish_reason: str | None = None
    token_ids: list[int] | None = None
    prompt_logprobs: list[dict[str, PromptToken] | None] | None = None


class Answer(msgspec.Struct):
    """A completion or chat answer."""

    choices: list[Choice]
    model: str | None = None
    usage: Usage | None = None
    system_fingerprint: str | None = None


class Tokens(msgspec.Struct):
    """``/tokenize``."""

    count: int
    max_model_len: int | None = None
    tokens: list[int] = []


def parse_as(kind: type[T], data: bytes, where: str) -> T:
    """Decode a whole answer.

    Raises:
        FormatError: it is no JSON of that shape.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"not the answer expected: {error}", where=where) from error


class _Error(msgspec.Struct):
    """What tells an error from an answer."""

    error: Any = None
    object: Any = None
    choices: Any = None
    data: Any = None


def hidden_error(data: bytes) -> str:
    """What an error says that looks like an answer by its status; "" where it is none."""
    try:
        told = msgspec.json.decode(data, type=_Error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    fails = told.error or told.object == "error"
    return error_message(data) if fails and told.choices is None and told.data is None else ""


def error_message(data: bytes) -> str:
    """What an error answer says: ``error.message``, ``message``, ``detail``, or its first line."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        first = data.decode("utf-8", "replace").strip().splitlines()
        return first[0][:300] if first else ""
    if isinstance(value, dict):
        for source in (value.get("error"), value):
            for name in ("message", "detail"):
                text = source.get(name) if isinstance(source, dict) else None
                if isinstance(text, str):
                    return text
            if isinstance(source, str):
                return source
    return str(value)[:300]
