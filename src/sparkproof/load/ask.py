"""Requests as JSON, spelt as vLLM reads them."""

from __future__ import annotations

from typing import Any

import msgspec

from sparkproof.core.server_port import Ask

RAW = "/v1/completions"
CHAT = "/v1/chat/completions"
_STREAMED = {
    "stream": True,
    "stream_options": {"include_usage": True, "continuous_usage_stats": True},
}


def raw_ask(
    label: str,
    model: str,
    prompt: str | list[int],
    max_tokens: int,
    *,
    stream: bool = False,
    **more: Any,
) -> Ask:
    """A raw completion: no chat template, no parser. Greedy unless `more` says otherwise."""
    body = {"model": model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0}
    return _ask(label, RAW, {**body, **(_STREAMED if stream else {}), **more})


def chat_ask(
    label: str, model: str, text: str, max_tokens: int, *, stream: bool = False, **more: Any
) -> Ask:
    """One user message. Greedy unless `more` says otherwise."""
    messages = [{"role": "user", "content": text}]
    body = {"model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
    return _ask(label, CHAT, {**body, **(_STREAMED if stream else {}), **more})


def body_ask(label: str, path: str, body: dict[str, Any], *, timeout_s: float = 120.0) -> Ask:
    """Any JSON body."""
    return _ask(label, path, body, timeout_s)


def _ask(label: str, path: str, body: dict[str, Any], timeout_s: float = 120.0) -> Ask:
    return Ask(label, path, msgspec.json.encode(body), timeout_s=timeout_s)
