"""What the stand-in generates, and how vLLM would write it down."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_COUNT = re.compile(r"Count from (\d+)")
_CAPITAL = re.compile(r"capital of (\w+)")
_CITIES = {"France": "Paris", "Italy": "Rome", "Japan": "Tokyo", "Peru": "Lima", "Spain": "Madrid"}
_WORDS = [
    "a",
    "calm",
    "river",
    "bends",
    "past",
    "the",
    "old",
    "mill",
    "and",
    "the",
    "miller",
    "counts",
    "his",
    "sacks",
    "of",
    "flour",
]


@dataclass
class Behaviour:
    """How the server is; by default it is sound, quick and alone.

    Attributes:
        ttft_s, interval_s: scripted moments of the first token and between two of them.
        tokens_per_chunk: as under speculation.
        tool_parser: ``right``, ``missing`` or ``wrong``.
        reasoning_parser: ``none``, ``right`` or ``eager`` (takes every answer for thinking).
        thinks: the template opens a think block unless it is told not to.
        garbage: ``""``, ``one-token``, ``noise``.
        shift: added to every log-probability.
        extra_traffic: requests of others that each of ours brings with it.
        dies_after: requests after which the engine is gone; -1 never.
        restarts_after: requests after which it starts anew; -1 never.
        status: answers every POST with this status.
        key: that it wants.
        cache: labels of the cache's configuration, on top of its own.
    """

    version: str = "0.32.0"
    names: tuple[str, ...] = ("tiny",)
    vllm: bool = True
    max_model_len: int = 4096
    ttft_s: float = 0.02
    first_extra_s: float = 0.0
    interval_s: float = 0.005
    tokens_per_chunk: int = 1
    role_chunk: bool = True
    tool_parser: str = "right"
    reasoning_parser: str = "right"
    thinks: bool = False
    think_tokens: int = 6
    garbage: str = ""
    shift: float = 0.0
    block_size: int = 16
    prefix_caching: bool = True
    prefix_hits: bool = True
    drafts: bool = False
    accepted: tuple[float, ...] = (0.8, 0.6, 0.4)
    honours_length: bool = True
    gives_usage: bool = True
    continuous: bool = True
    cache_dtype: str = "auto"
    extra_traffic: int = 0
    preemptions: int = 0
    waiting: int = 0
    queue_s: float = 0.0
    dies_after: int = -1
    restarts_after: int = -1
    status: int = 0
    status_text: str = "something is wrong"
    template_error: str = ""
    structured: bool = True
    key: str = ""
    echoes_key: bool = False
    cache: dict[str, str] = field(default_factory=dict)


class Response(NamedTuple):
    """What goes back: (seconds after the request, bytes) for each piece; which carry tokens."""

    status: int
    content_type: str
    pieces: tuple[tuple[float, bytes], ...]
    tokens: frozenset[int] = frozenset()


class Said(NamedTuple):
    """What is generated: tokens of thinking first, then of the answer."""

    tokens: list[str]
    thinking: int
    finish: str
    call: bool


class Saying:
    """Decides what to generate."""

    def __init__(self, be: Behaviour, request: dict[str, Any], chat: bool) -> None:
        self._be, self._request, self._chat = be, request, chat

    def plan(self, asked: int) -> Said:
        """The tokens of the answer, cut at the budget."""
        be, request = self._be, self._request
        wish = (request.get("chat_template_kwargs") or {}).get("enable_thinking")
        thinking = be.think_tokens if self._chat and (be.thinks if wish is None else wish) else 0
        call = bool(self._chat and request.get("tools") and request.get("tool_choice") != "none")
        words = [f" think{n}" for n in range(thinking)] + list(self._answer(call))
        if request.get("ignore_eos") and be.honours_length:
            spare = (f" {_WORDS[n % len(_WORDS)]}" for n in range(asked))
            words = (words + list(spare))[:asked]
            return Said(words, min(thinking, asked), "length", False)
        finish = "length" if len(words) > asked else "tool_calls" if call else "stop"
        return Said(words[:asked], min(thinking, asked), finish, call)

    def _answer(self, call: bool) -> Iterator[str]:
        be, text = self._be, prompt_of(self._request)
        if be.garbage == "one-token":
            yield from ["!"] * 200
        elif be.garbage == "noise":
            for n in range(200):
                yield (
                    chr(0x1 + int(hashlib.sha256(f"{text}{n}".encode()).hexdigest()[:2], 16) % 0x1F)
                    + "\ufffd"
                )
        elif call:
            yield from re.findall(
                r"\s*\S+",
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Lima"}}\n</tool_call>',
            )
        elif self._request.get("response_format"):
            yield '{"name": "vllm", "version": "1.2.3"}' if be.structured else "Sure, here it is"
        elif found := _COUNT.search(text):
            start = int(found[1])
            yield from (f"{n} " for n in range(start, start + 12))
        elif (found := _CAPITAL.search(text)) and found[1] in _CITIES:
            yield from (
                "The",
                " capital",
                " of",
                f" {found[1]}",
                " is",
                f" {_CITIES[found[1]]}",
                ".",
            )
        else:
            yield from (f" {word}" for word in _WORDS)


class Writer:
    """Writes one answer, whole or as a stream."""

    def __init__(
        self,
        be: Behaviour,
        request: dict[str, Any],
        chat: bool,
        prompt: list[str],
        said: Said,
        cached: int,
    ) -> None:
        self._be, self._request, self._chat = be, request, chat
        self._prompt, self._said, self._cached = prompt, said, cached

    def whole(self, first: float) -> Response:
        """One JSON document when all of it is generated."""
        be, said = self._be, self._said
        choice: dict[str, Any] = {"index": 0, "finish_reason": said.finish}
        if self._chat:
            choice["message"] = self._message()
        else:
            choice["text"] = "".join(said.tokens)
            if self._request.get("return_token_ids"):
                choice["token_ids"] = [id_of(word) for word in said.tokens]
            if self._request.get("prompt_logprobs") is not None:
                choice["prompt_logprobs"] = [
                    None,
                    *(self._logprob(n) for n in range(1, len(self._prompt))),
                ]
        body: dict[str, Any] = {
            "id": "x",
            "model": be.names[0],
            "choices": [choice],
            "system_fingerprint": "stand-in",
        }
        if be.gives_usage:
            body["usage"] = self._usage(len(said.tokens))
        moment = first + be.interval_s * len(said.tokens)
        return Response(200, "application/json", ((moment, json.dumps(body).encode()),))

    def _message(self) -> dict[str, Any]:
        be, said = self._be, self._said
        thinking = "".join(said.tokens[: said.thinking])
        answer = "".join(said.tokens[said.thinking :])
        calls: list[dict[str, Any]] = []
        if said.call and be.tool_parser == "right" and said.finish == "tool_calls":
            calls = [
                {
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Lima"}'},
                }
            ]
            answer = ""
        if be.reasoning_parser == "eager" and not said.thinking:
            thinking, answer = answer, ""
        elif be.reasoning_parser == "none" and thinking:
            closed = "</think>" if len(said.tokens) > said.thinking else ""
            thinking, answer = "", thinking + closed + answer
        return {
            "role": "assistant",
            "content": answer or None,
            "reasoning": thinking or None,
            "tool_calls": calls,
        }

    def _logprob(self, index: int) -> dict[str, Any]:
        word = self._prompt[index]
        base = -12.0 - (id_of(word) % 7) if self._be.garbage else -0.05 - (id_of(word) % 97) / 400
        return {
            str(id_of(word)): {
                "logprob": base + self._be.shift * (id_of(word) % 5),
                "rank": 1,
                "decoded_token": word,
            }
        }

    def _usage(self, tokens: int) -> dict[str, Any]:
        return {
            "prompt_tokens": len(self._prompt),
            "completion_tokens": tokens,
            "total_tokens": len(self._prompt) + tokens,
            "completion_tokens_details": {"reasoning_tokens": min(tokens, self._said.thinking)},
            "prompt_tokens_details": {"cached_tokens": self._cached},
        }

    def streamed(self, first: float) -> Response:
        """Events, each at its moment."""
        be, said = self._be, self._said
        options = self._request.get("stream_options") or {}
        running = be.gives_usage and be.continuous and options.get("continuous_usage_stats")
        pieces: list[tuple[float, bytes]] = []
        carry = set()
        if self._chat and be.role_chunk:
            pieces.append((first / 2, self._event({"role": "assistant", "content": ""})))
        for start in range(0, len(said.tokens), be.tokens_per_chunk):
            words = said.tokens[start : start + be.tokens_per_chunk]
            end = start + len(words)
            last = end == len(said.tokens)
            moment = first + be.interval_s * (start / be.tokens_per_chunk)
            usage = self._usage(end) if running else None
            finish = said.finish if last else None
            carry.add(len(pieces))
            pieces.append((moment, self._event(self._delta(start, "".join(words)), finish, usage)))
        ended = pieces[-1][0] if pieces else first
        if be.gives_usage and options.get("include_usage"):
            closing = {"id": "x", "choices": [], "usage": self._usage(len(said.tokens))}
            pieces.append((ended, _sse(closing)))
        pieces.append((ended, b"data: [DONE]\n\n"))
        return Response(200, "text/event-stream; charset=utf-8", tuple(pieces), frozenset(carry))

    def _delta(self, start: int, text: str) -> dict[str, Any]:
        if not self._chat:
            return {"text": text}
        be, said = self._be, self._said
        thinking = (
            start < said.thinking
            if be.reasoning_parser == "right"
            else be.reasoning_parser == "eager"
        )
        return {"reasoning" if thinking else "content": text}

    def _event(
        self, delta: dict[str, Any], finish: str | None = None, usage: dict[str, Any] | None = None
    ) -> bytes:
        choice = {
            "index": 0,
            "finish_reason": finish,
            **({"delta": delta} if self._chat else delta),
        }
        return _sse({"id": "x", "choices": [choice], **({"usage": usage} if usage else {})})


def prompt_of(request: dict[str, Any]) -> str:
    """The prompt of a request, chat or raw."""
    if "prompt" in request:
        prompt = request["prompt"]
        return prompt if isinstance(prompt, str) else " ".join(map(str, prompt))
    return "\n".join(str(m.get("content")) for m in request.get("messages", ()))


def tokens_of(text: str) -> list[str]:
    """Words with the space before them."""
    return re.findall(r"\s*\S+", text)


def id_of(word: str) -> int:
    """Its id in the vocabulary."""
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:2], "big")


def _sse(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def json_answer(value: object, status: int = 200) -> Response:
    """A whole JSON answer."""
    return Response(status, "application/json", ((0.0, json.dumps(value).encode()),))


def error_answer(status: int, message: str, kind: str) -> Response:
    """An error in OpenAI's shape."""
    return json_answer({"error": {"message": message, "type": kind, "code": status}}, status)
