"""What one answer of the server tells about how it was configured.

Reads a chat or completion response, an error body, a recorded request-and-response pair,
an SSE stream, or several of them as a JSON list or JSON lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from sparkproof.core.errors import FormatError

MAX_BYTES = 16 << 20
_DETAIL_STATUS = {"Not Found": 404, "Method Not Allowed": 405}
_CHUNK_LIMIT = 200_000


Asked = dict[str, Any]
"""What is known of the request, by the names of `Answer`."""


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer, whatever it was wrapped in.

    Attributes:
        status: HTTP status, 0 where it isn't recorded.
        content, reasoning: None where the field is null or absent.
        reasoning_field: ``reasoning`` or ``reasoning_content``, whichever it came in.
        asked_tools: the request offered tools; None where it isn't recorded.
        arguments: of each tool call, as text.
        forced: the request forbade the model to stop (``ignore_eos``).
    """

    status: int = 0
    error: str = ""
    content: str | None = None
    reasoning: str | None = None
    reasoning_field: str = ""
    tool_calls: int = 0
    finish_reason: str = ""
    asked_tools: bool | None = None
    chat: bool = True
    arguments: tuple[str, ...] = ()
    forced: bool = False


def parse_answers(data: bytes, where: str) -> tuple[Answer, ...]:
    """Read every answer in the document.

    Raises:
        FormatError: neither JSON, JSON lines nor an event stream, or no answer in it.
    """
    if len(data) > MAX_BYTES:
        raise FormatError(f"larger than {MAX_BYTES} bytes", where=where)
    text = data.decode("utf-8", "replace")
    answers = tuple(_answers(text))
    if not answers:
        raise FormatError(
            "no answer of an OpenAI-compatible server in it",
            where=where,
            hint="give the response's JSON, its event stream, or a list of them",
        )
    return answers


def _answers(text: str) -> Iterator[Answer]:
    stripped = text.lstrip()
    if "data:" in stripped[:4096] and not stripped.startswith(("{", "[")):
        answer = _from_stream(text)
        if answer:
            yield answer
        return
    for document in _documents(text):
        if isinstance(document, dict):
            yield from _from_object(document, {}, 0)


def _documents(text: str) -> Iterator[object]:
    whole = _decode(text)
    if whole is not None:
        yield from whole if isinstance(whole, list) else [whole]
        return
    for line in text.splitlines():
        document = _decode(line)
        if document is not None:
            yield document


def _decode(text: str) -> object | None:
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value


def _from_object(item: dict[str, object], asked: Asked, status: int) -> Iterator[Answer]:
    request = item.get("request")
    if isinstance(request, dict):
        asked = {
            "asked_tools": bool(_inside(request, "tools")),
            "forced": _inside(request, "ignore_eos") is True,
        }
    code = item.get("status", item.get("status_code", status))
    status = code if isinstance(code, int) else status
    for name in ("response", "body", "answer"):
        inner = item.get(name)
        if isinstance(inner, str):
            stream = _from_stream(inner) if "data:" in inner else None
            if stream:
                yield msgspec.structs.replace(stream, status=status, **asked)
                return
            inner = _decode(inner)
        if isinstance(inner, dict):
            yield from _from_object(inner, asked, status)
            return
    if "error" in item or item.get("object") == "error":
        yield Answer(status=_status_of(item, status), error=_error_text(item), **asked)
    elif isinstance(item.get("choices"), list):
        yield from _from_choices(item["choices"], asked, status)
    elif item.keys() == {"detail"}:
        text = _detail_text(item["detail"])
        yield Answer(status or _DETAIL_STATUS.get(text, 400), error=text, **asked)


def _from_choices(choices: object, asked: Asked, status: int) -> Iterator[Answer]:
    for choice in choices if isinstance(choices, list) else []:
        if isinstance(choice, dict):
            yield _from_choice(choice, asked, status)


def _inside(request: dict[str, object], name: str) -> object:
    body = request.get("body", request.get("json"))
    return (body.get(name) if isinstance(body, dict) else None) or request.get(name)


def _from_choice(choice: dict[str, object], asked: Asked, status: int) -> Answer:
    message = choice.get("message")
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else ""
    if not isinstance(message, dict):
        text = choice.get("text")
        content = text if isinstance(text, str) else None
        return Answer(status, content=content, finish_reason=finish, chat=False, **asked)
    field = next((n for n in ("reasoning", "reasoning_content") if message.get(n)), "")
    calls = message.get("tool_calls")
    content = message.get("content")
    reasoning = message.get(field) if field else None
    return Answer(
        status=status,
        content=content if isinstance(content, str) else None,
        reasoning=reasoning if isinstance(reasoning, str) else None,
        reasoning_field=field,
        tool_calls=len(calls) if isinstance(calls, list) else 0,
        finish_reason=finish,
        arguments=tuple(map(_arguments, calls)) if isinstance(calls, list) else (),
        **asked,
    )


def _arguments(call: object) -> str:
    """Of one call, or of one piece of it."""
    function = call.get("function") if isinstance(call, dict) else None
    told = function.get("arguments") if isinstance(function, dict) else None
    return told if isinstance(told, str) else ""


def _status_of(item: dict[str, object], status: int) -> int:
    error = item.get("error")
    code = error.get("code") if isinstance(error, dict) else item.get("code")
    return status or (code if isinstance(code, int) else 400)


def _error_text(item: dict[str, object]) -> str:
    error = item.get("error", item)
    if isinstance(error, dict):
        message = error.get("message")
        return message if isinstance(message, str) and message else str(error)
    return str(error) or "error"


def _detail_text(detail: object) -> str:
    """What the web framework says by itself, before vLLM's own handlers see a request."""
    if isinstance(detail, list):
        messages = (str(d.get("msg", d)) if isinstance(d, dict) else str(d) for d in detail)
        return "; ".join(messages) or "error"
    return str(detail) or "error"


def _from_stream(text: str) -> Answer | None:
    """Put the deltas of an event stream together."""
    parts: dict[str, list[str]] = {"content": [], "reasoning": [], "reasoning_content": []}
    arguments: dict[str, str] = {}
    finish, calls, chat, seen = "", 0, False, False
    for line in text.splitlines()[:_CHUNK_LIMIT]:
        if not line.startswith("data:"):
            continue
        event = _decode(line[5:].strip())
        if isinstance(event, dict) and "error" in event:
            return Answer(_status_of(event, 0), error=_error_text(event))
        choices = event.get("choices") if isinstance(event, dict) else None
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, dict):
                continue
            seen = True
            delta = choice.get("delta")
            chat = chat or isinstance(delta, dict)
            source = delta if isinstance(delta, dict) else {"content": choice.get("text")}
            for name, found in parts.items():
                piece = source.get(name)
                if isinstance(piece, str):
                    found.append(piece)
            pieces = source.get("tool_calls")
            calls += bool(pieces)
            for call in pieces if isinstance(pieces, list) else []:
                index = str(call.get("index")) if isinstance(call, dict) else ""
                arguments[index] = arguments.get(index, "") + _arguments(call)
            finish = choice.get("finish_reason") or finish
    if not seen:
        return None
    field = next((n for n in ("reasoning", "reasoning_content") if parts[n]), "")
    return Answer(
        content="".join(parts["content"]) or None,
        reasoning="".join(parts[field]) if field else None,
        reasoning_field=field,
        tool_calls=calls,
        finish_reason=str(finish),
        chat=chat,
        arguments=tuple(arguments.values()),
    )
