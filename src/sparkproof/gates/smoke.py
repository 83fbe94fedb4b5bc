"""What ``smoke`` asks, and the verdict over all that came back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparkproof.core.finding import Finding
from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.server_port import Ask
from sparkproof.core.verdict import Criterion
from sparkproof.gates.coherence import NOISE_TOKENS, QUESTION_TOKENS, QUESTIONS
from sparkproof.gates.fingerprint import PROMPTS
from sparkproof.gates.smoke_features import judge_features
from sparkproof.gates.smoke_server import judge_server
from sparkproof.gates.smoke_speech import judge_speech
from sparkproof.gates.warmup import judge_warmup
from sparkproof.load.ask import CHAT, body_ask, chat_ask, raw_ask
from sparkproof.load.prompts import compose

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tell the weather in a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]
_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "count": {"type": "integer"}},
    "required": ["name", "count"],
    "additionalProperties": False,
}
THINK_TOKENS = 512
DRAFT_TOKENS = 48
DRAFT_REQUESTS = 4


def plan_speech(model: str) -> tuple[Ask, ...]:
    """Raw continuations, and prompts whose log-probabilities are the fingerprint."""
    asks = [
        raw_ask(f"ask/{q.name}", model, q.prompt, QUESTION_TOKENS, return_token_ids=True)
        for q in QUESTIONS
    ]
    asks += [
        raw_ask(f"form/{n}", model, compose(40, f"form-{n}"), NOISE_TOKENS, return_token_ids=True)
        for n in range(2)
    ]
    asks += [
        raw_ask(f"fingerprint/{name}", model, text, 1, prompt_logprobs=0)
        for name, text in PROMPTS.items()
    ]
    return tuple(asks)


def plan_chat(model: str, max_model_len: int) -> tuple[Ask, ...]:
    """Template, thinking, tool call and structured output."""
    budget = min(THINK_TOKENS, max(16, (max_model_len or 4096) // 4))
    question = "What is the capital of Peru?"
    tool = [{"role": "user", "content": "Call the tool to tell me the weather in Lima."}]
    shape = {"type": "json_schema", "json_schema": {"name": "x", "schema": _SCHEMA}}
    common = {"model": model, "temperature": 0, "max_tokens": budget}
    return (
        chat_ask("chat/answer", model, question, budget),
        chat_ask(
            "chat/think", model, question, budget, chat_template_kwargs={"enable_thinking": True}
        ),
        body_ask(
            "chat/tool", CHAT, {**common, "messages": tool, "tools": TOOLS, "tool_choice": "auto"}
        ),
        chat_ask(
            "chat/structured",
            model,
            "Name one river and count its letters.",
            budget,
            response_format=shape,
        ),
    )


def plan_aliases(names: Sequence[str]) -> tuple[Ask, ...]:
    """Three tokens under each name."""
    return tuple(raw_ask(f"alias/{name}", name, "Count from 3:\n", 3) for name in names)


def plan_prefix(model: str, words: int, seed: str) -> tuple[Ask, Ask]:
    """The same prompt twice."""
    text = compose(words, f"{seed}-prefix")
    return raw_ask("prefix/one", model, text, 2), raw_ask("prefix/two", model, text, 2)


def plan_drafts(model: str) -> tuple[Ask, ...]:
    """Predictable text, in which any drafter finds something to guess."""
    prompts = (f"Count from {3 + 10 * n}:\n" for n in range(DRAFT_REQUESTS))
    return tuple(
        raw_ask(f"draft/{n}", model, prompt, DRAFT_TOKENS, ignore_eos=True)
        for n, prompt in enumerate(prompts)
    )


def judge_smoke(result: SmokeResult) -> tuple[tuple[Criterion, ...], tuple[Finding, ...]]:
    """Every criterion and finding; works on a stored result as on a fresh one."""
    criteria, findings = judge_server(result)
    if result.costs:
        criteria = (*criteria, judge_warmup(result.costs))
    if result.warm_only or not result.exchanges:
        return criteria, findings
    for judge in (judge_speech, judge_features):
        more, found = judge(result)
        criteria, findings = (*criteria, *more), (*findings, *found)
    return criteria, findings


def labelled(exchanges: Sequence[Exchange], kind: str) -> tuple[Exchange, ...]:
    """Those of one kind: ``ask``, ``chat``, ``fingerprint`` ..."""
    return tuple(exchange for exchange in exchanges if exchange.label.startswith(kind + "/"))
