"""A stand-in that knows the answers of tasks, and can be told to get some of them wrong.

It writes token ids and log-probabilities as vLLM does, so that an A/B run finds in it what it would
find in a server: a sure token replaced, a tie that fell the other way, or nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkproof.core.ab import Task
from sparkproof.testing.stand_in import StandIn
from sparkproof.testing.stand_in_answer import (
    Response,
    Said,
    Writer,
    error_answer,
    id_of,
    prompt_of,
    tokens_of,
)

_PIECE = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
_VERSION = re.compile(r"(\d+\.\d+)\.\d+")
_SURE, _RIVAL, _TIE = -0.01, -6.0, (-0.7, -0.75)


@dataclass
class TaskStandIn(StandIn):
    """A server that has learnt the answers by heart.

    Attributes:
        answers: by prompt, or by the last message of a chat.
        corrupts: share of prompts that lose a component of a version, or their last word, surely.
        ties: share of prompts with a tie in them; it falls one way here and the other way where
            `tie_falls` is true.
        lacks_logprobs, lacks_ids: leaves them out.
        salt: decides which prompts are meant.
    """

    answers: dict[str, str] = field(default_factory=dict)
    corrupts: float = 0.0
    ties: float = 0.0
    tie_falls: bool = False
    lacks_logprobs: bool = False
    lacks_ids: bool = False
    salt: str = ""

    def learn(self, tasks: Sequence[Task]) -> None:
        """Take the answers of tasks; a probe's is made up."""
        for task in tasks:
            prompt = task.messages[-1].content if task.messages else task.prompt
            self.answers[prompt] = task.expected or "a calm river bends past the old mill"

    def _complete(self, path: str, request: dict[str, Any]) -> Response:
        prompt = _last(request)
        if prompt not in self.answers or request.get("tools") or not request.get("stream"):
            return super()._complete(path, request)
        if request.get("model") not in self.behaviour.names:
            return error_answer(404, "The model does not exist.", "NotFoundError")
        words, tops = self._words(prompt)
        asked = int(request.get("max_tokens") or 16)
        said = Said(words[:asked], 0, "length" if len(words) > asked else "stop", False)
        chat = path.endswith("/chat/completions")
        prompt_tokens = tokens_of(prompt_of(request))
        cached = self._account(prompt_tokens, said, request)
        self.served += 1
        writer = _TaskWriter(self.behaviour, request, chat, prompt_tokens, said, cached)
        writer.tops = [] if self.lacks_logprobs else tops
        writer.with_ids = not self.lacks_ids
        return writer.streamed(self.behaviour.ttft_s)

    def _words(self, prompt: str) -> tuple[list[str], list[list[tuple[str, float]]]]:
        right = _PIECE.findall(self.answers[prompt])
        words = list(right)
        if self._meant(prompt, self.corrupts, "corrupt"):
            text = "".join(words)
            cut = _VERSION.sub(r"\1", text, count=1)
            words = _PIECE.findall(cut if cut != text else "".join(words[:-1]) + " lost")
        tops = [[(word, _SURE), (" other", _RIVAL)] for word in words]
        if self._meant(prompt, self.ties, "tie"):
            one, two = (" the", " a") if self.tie_falls else (" a", " the")
            words.append(one)
            tops.append([(one, _TIE[0]), (two, _TIE[1])])
        return words, tops

    def _meant(self, prompt: str, share: float, what: str) -> bool:
        seed = hashlib.sha256(f"{self.salt}/{what}/{prompt}".encode()).digest()
        return int.from_bytes(seed[:4], "big") < share * 2**32


class _TaskWriter(Writer):
    """Adds ids and log-probabilities to each chunk."""

    tops: Sequence[list[tuple[str, float]]] = ()
    with_ids = True
    _at = 0

    def _delta(self, start: int, text: str) -> dict[str, Any]:
        self._at = start
        return super()._delta(start, text)

    def _event(
        self, delta: dict[str, Any], finish: str | None = None, usage: dict[str, Any] | None = None
    ) -> bytes:
        event = json.loads(super()._event(delta, finish, usage).removeprefix(b"data: "))
        if "role" not in delta:
            places = range(
                self._at, min(self._at + self._be.tokens_per_chunk, len(self._said.tokens))
            )
            choice = event["choices"][0]
            if self.with_ids and self._request.get("return_token_ids"):
                choice["token_ids"] = [id_of(self._said.tokens[n]) for n in places]
            if self.tops and self._request.get("logprobs"):
                choice["logprobs"] = self._logprobs([self.tops[n] for n in places])
        return b"data: " + json.dumps(event).encode() + b"\n\n"

    def _logprobs(self, tops: list[list[tuple[str, float]]]) -> dict[str, Any]:
        named = [[(f"token_id:{id_of(word)}", nats) for word, nats in top] for top in tops]
        if self._chat:
            content = [
                {
                    "token": top[0][0],
                    "logprob": top[0][1],
                    "top_logprobs": [{"token": n, "logprob": v} for n, v in top],
                }
                for top in named
            ]
            return {"content": content}
        return {
            "tokens": [top[0][0] for top in named],
            "token_logprobs": [top[0][1] for top in named],
            "top_logprobs": [dict(top) for top in named],
        }


def _last(request: dict[str, Any]) -> str:
    if "prompt" in request:
        return str(request["prompt"])
    messages = request.get("messages") or [{}]
    return str(messages[-1].get("content"))
