"""A stand-in for a vLLM server: what it answers, without any socket.

It counts words as tokens, keeps the counters that vLLM keeps, and can be told to be wrong in every
way that the gates look for. `sparkproof.testing.openai_server` puts it on a socket, `FakePort`
answers in this process on a clock of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sparkproof.core.server_port import Ask, Failure, Reply
from sparkproof.testing.stand_in_answer import (
    Behaviour,
    Response,
    Said,
    Saying,
    Writer,
    error_answer,
    id_of,
    json_answer,
    prompt_of,
    tokens_of,
)
from sparkproof.testing.stand_in_metrics import metrics_text


@dataclass
class StandIn:
    """The server's state; `respond` answers one request."""

    behaviour: Behaviour = field(default_factory=Behaviour)
    counters: Counter[str] = field(default_factory=Counter)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    started: float = 1_790_000_000.0
    cached: set[str] = field(default_factory=set)
    served: int = 0

    def respond(self, method: str, path: str, body: bytes, key: str = "") -> Response:
        """One answer."""
        be = self.behaviour
        if be.key and key != be.key and path != "/health":
            shown = f" {key}" if be.echoes_key else ""
            return error_answer(401, f"Unauthorized{shown}", "AuthenticationError")
        if 0 <= be.dies_after <= self.served:
            return error_answer(
                500,
                "EngineCore encountered an issue. See stack trace (above) for the root cause.",
                "InternalServerError",
            )
        request = json.loads(body) if body else {}
        self.asked.append((path, request))
        if method == "GET":
            return self._get(path)
        if path == "/tokenize":
            words = tokens_of(prompt_of(request))
            return json_answer(
                {
                    "count": len(words),
                    "max_model_len": be.max_model_len,
                    "tokens": [id_of(w) for w in words],
                }
            )
        if path not in ("/v1/completions", "/v1/chat/completions"):
            return json_answer({"detail": "Not Found"}, 404)
        return self._complete(path, request)

    def _get(self, path: str) -> Response:
        be = self.behaviour
        if path == "/v1/models":
            rows = [
                {
                    "id": name,
                    "object": "model",
                    "owned_by": "vllm" if be.vllm else "proxy",
                    "root": "/models/m",
                    "max_model_len": be.max_model_len,
                }
                for name in be.names
            ]
            return json_answer({"object": "list", "data": rows})
        if not be.vllm:
            return json_answer({"detail": "Not Found"}, 404)
        if path == "/version":
            return json_answer({"version": be.version})
        if path == "/health":
            return Response(200, "", ((0.0, b""),))
        if path == "/metrics":
            text = metrics_text(be, self.counters, self.started)
            return Response(
                200, "text/plain; version=0.0.4; charset=utf-8", ((0.0, text.encode()),)
            )
        return json_answer({"detail": "Not Found"}, 404)

    def _complete(self, path: str, request: dict[str, Any]) -> Response:
        be = self.behaviour
        if be.status:
            return error_answer(be.status, be.status_text, "Error")
        if request.get("model") not in be.names:
            name = request.get("model")
            return error_answer(
                404,
                f"The model `{name}` does not exist. Valid aliases: {', '.join(be.names)}.",
                "NotFoundError",
            )
        chat = path.endswith("/chat/completions")
        if (
            chat
            and request.get("tools")
            and request.get("tool_choice") != "none"
            and be.tool_parser == "missing"
        ):
            return error_answer(
                400,
                '"auto" tool choice requires --enable-auto-tool-choice and '
                "--tool-call-parser to be set",
                "BadRequestError",
            )
        if chat and be.template_error:
            return error_answer(400, be.template_error, "BadRequestError")
        prompt = tokens_of(prompt_of(request))
        asked = int(request.get("max_tokens") or request.get("max_completion_tokens") or 16)
        if len(prompt) + asked > be.max_model_len:
            return error_answer(
                400,
                f"This model's maximum context length is {be.max_model_len} tokens.",
                "BadRequestError",
            )
        said = Saying(be, request, chat).plan(asked)
        cached = self._account(prompt, said, request)
        first = be.ttft_s + be.queue_s + (be.first_extra_s if not self.served else 0.0)
        self.served += 1
        answer = Writer(be, request, chat, prompt, said, cached)
        return answer.streamed(first) if request.get("stream") else answer.whole(first)

    def _account(self, prompt: list[str], said: Said, request: dict[str, Any]) -> int:
        be, count = self.behaviour, self.counters
        hits = 0
        if be.prefix_caching:
            salt = str(request.get("cache_salt", ""))
            for end in range(be.block_size, len(prompt), be.block_size):
                block = salt + " ".join(prompt[:end])
                hits += (
                    be.block_size
                    if be.prefix_hits and block in self.cached and hits == end - be.block_size
                    else 0
                )
                self.cached.add(block)
            count["queries"] += len(prompt)
            count["hits"] += hits
        tokens = len(said.tokens)
        count["prompt"] += len(prompt)
        count["generated"] += tokens
        count["requests"] += 1 + be.extra_traffic
        count["generated"] += 50 * be.extra_traffic
        count["prompt"] += 100 * be.extra_traffic
        count["preemptions"] += be.preemptions
        if be.drafts:
            steps = max(1, tokens // (1 + round(sum(be.accepted))))
            count["drafts"] += steps
            count["drafted"] += steps * len(be.accepted)
            for position, share in enumerate(be.accepted):
                count[f"pos{position}"] += round(steps * share)
                count["accepted"] += round(steps * share)
        if self.served + 1 == be.restarts_after:
            self.counters.clear()
            self.started += 1000
        return hits


@dataclass
class FakePort:
    """`ServerPort` without a socket: the moments are those of the script, to the microsecond."""

    stand_in: StandIn = field(default_factory=StandIn)
    key: str = ""
    failure: Failure = Failure.NONE
    now_s: float = 1000.0
    name: str = "http://stand-in"

    async def send(self, ask: Ask) -> Reply:
        """One answer, whole at once, with the moments that the script gives it."""
        if self.failure:
            return Reply(status=0, failure=self.failure, detail="as scripted")
        answer = self.stand_in.respond(ask.method, ask.path, ask.body, self.key)
        ended = answer.pieces[-1][0] if answer.pieces else 0.0
        sent, self.now_s = self.now_s, self.now_s + ended
        return Reply(
            status=answer.status,
            content_type=answer.content_type,
            sent_s=sent,
            headers_s=answer.pieces[0][0] if answer.pieces else 0.0,
            ended_s=ended,
            pieces=tuple((moment, piece) for moment, piece in answer.pieces if piece),
        )
