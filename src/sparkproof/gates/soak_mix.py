"""From a plan to its requests: number *n* is the same request in every session."""

from __future__ import annotations

import math
import random
from collections.abc import Container
from functools import cached_property
from typing import Any

import msgspec

from sparkproof.core.observations.soak_run import Kind, SoakPlan
from sparkproof.core.server_port import ANSWER_LIMIT_BYTES, Ask
from sparkproof.gates.coherence import QUESTION_TOKENS, QUESTIONS, Question
from sparkproof.load.ask import chat_ask, raw_ask
from sparkproof.load.prompts import ASK_WORDS, compose

PROBE_EVERY = 16
_ALONE_TOKENS = 32
_TOP_TOKENS = 5
_ANSWER_BYTES, _TOKEN_BYTES = 1 << 20, 4 << 10
"""What an answer and each of its tokens may take: hundreds that never end come in at once."""
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather in a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]


class Request(msgspec.Struct, frozen=True):
    """One request of the mix, and what is to be known of it when it comes back."""

    n: int
    kind: Kind
    ask: Ask
    streamed: bool = False
    shared: bool = False
    question: Question | None = None

    @property
    def name(self) -> str:
        """The probe's, or the kind's."""
        return self.question.name if self.question else self.kind.value


class Mix:
    """The requests of one plan."""

    def __init__(self, plan: SoakPlan) -> None:
        self._plan = plan

    def request(self, n: int, without: Container[str] = ()) -> Request:
        """Number `n`.

        Args:
            without: kinds that the server does not take.
        """
        plan = self._plan
        if n < plan.alone:
            return self._alone(n)
        if n % PROBE_EVERY == PROBE_EVERY - 1:
            return self._probe(QUESTIONS[n // PROBE_EVERY % len(QUESTIONS)], n)
        pick = random.Random(f"{plan.seed}-{n}")  # noqa: S311 - lengths, not keys
        kinds = [kind for kind in plan.kinds if kind not in without] or [Kind.RAW]
        kind = kinds[n % len(kinds)]
        shared = pick.random() < plan.shared_prefix
        prompt = _between(pick, plan.prompt_low, plan.prompt_high)
        output = _between(pick, plan.output_low, plan.output_high)
        streamed = pick.random() < 0.5  # agents do both, and they are two ways through the server
        ask = self._ask(kind, prompt, output, f"{plan.seed}-{n}", shared=shared, stream=streamed)
        return Request(n, kind, ask, streamed, shared)

    def _alone(self, n: int) -> Request:
        """Each kind in a short form, then each probe."""
        plan = self._plan
        if n >= len(plan.kinds):
            return self._probe(QUESTIONS[(n - len(plan.kinds)) % len(QUESTIONS)], n)
        kind, output = plan.kinds[n], min(plan.output_high, _ALONE_TOKENS)
        ask = self._ask(
            kind, plan.prompt_low, output, f"{plan.seed}-{n}", shared=False, stream=False
        )
        return Request(n, kind, ask)

    def _ask(
        self, kind: Kind, prompt: int, output: int, seed: str, *, shared: bool, stream: bool
    ) -> Ask:
        """One request of a kind; lengths in tokens, the shared prefix not counted."""
        words = max(2, round(prompt * self._plan.words_per_token) - ASK_WORDS)
        text = compose(words, seed, ask=True)
        if shared:
            text = f"{self._prefix} {text}"
        more: dict[str, Any] = {"cache_salt": f"{self._plan.seed}-shared" if shared else seed}
        model = self._plan.model
        if kind is Kind.RAW:
            ask = raw_ask(kind, model, text, output, stream=stream, ignore_eos=True, **more)
        elif kind is Kind.TOOLS:
            text += " And what is the weather like in Lima?"
            ask = chat_ask(kind, model, text, output, stream=stream, tools=_TOOLS, **more)
        else:
            more["chat_template_kwargs"] = {"enable_thinking": kind is Kind.THINKING}
            ask = chat_ask(kind, model, text, output, stream=stream, ignore_eos=True, **more)
        return self._patient(ask)

    def _probe(self, question: Question, n: int) -> Request:
        """A question whose answer is known."""
        more: dict[str, Any] = {
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
            "logprobs": _TOP_TOKENS,
            "cache_salt": f"{self._plan.seed}-{n}",
        }
        ask = raw_ask(Kind.PROBE, self._plan.model, question.prompt, QUESTION_TOKENS, **more)
        return Request(n, Kind.PROBE, self._patient(ask), question=question)

    def _patient(self, ask: Ask) -> Ask:
        patience = self._plan.timeout_s
        limit = min(ANSWER_LIMIT_BYTES, _ANSWER_BYTES + self._plan.output_high * _TOKEN_BYTES)
        return msgspec.structs.replace(
            ask, timeout_s=patience, silence_s=patience, limit_bytes=limit
        )

    @cached_property
    def _prefix(self) -> str:
        words = max(2, round(self._plan.prefix_tokens * self._plan.words_per_token))
        return compose(words, f"{self._plan.seed}-prefix")


def _between(pick: random.Random, low: int, high: int) -> int:
    """A length, evenly drawn on a logarithmic scale."""
    if low >= high:
        return low
    return min(high, round(math.exp(pick.uniform(math.log(low), math.log(high + 1)))))
