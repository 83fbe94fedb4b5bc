"""What ``smoke`` asks, and the verdict over all that came back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparkproof.core.finding import Finding
from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.server_port import Ask
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.gates.coherence import NOISE_TOKENS, QUESTION_TOKENS, QUESTIONS
from sparkproof.gates.fingerprint import PROMPTS
from sparkproof.gates.pages import make_finding
from sparkproof.gates.smoke_features import judge_features
from sparkproof.gates.smoke_server import failure_words, judge_engine, judge_server
from sparkproof.gates.smoke_speech import judge_speech
from sparkproof.gates.smoke_structured import SHAPE
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
THINK_TOKENS = 512
DRAFT_TOKENS = 48
DRAFT_REQUESTS = 4
_COUNTED, _BEGUN = 48, 6


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
    shape = {"type": "json_schema", "json_schema": {"name": "x", "schema": SHAPE}}
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
            chat_template_kwargs={"enable_thinking": False},
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
    """Text that goes on as it stands in the prompt already: n-gram drafters look nowhere else."""
    asks = []
    for number in range(DRAFT_REQUESTS):
        start = 3 + 10 * number
        counted = " ".join(map(str, range(start, start + _COUNTED)))
        again = " ".join(map(str, range(start, start + _BEGUN)))
        prompt = f"Count from {start}:\n{counted}\nCount from {start}:\n{again}"
        asks.append(raw_ask(f"draft/{number}", model, prompt, DRAFT_TOKENS, ignore_eos=True))
    return tuple(asks)


def judge_smoke(result: SmokeResult) -> tuple[tuple[Criterion, ...], tuple[Finding, ...]]:
    """Every criterion and finding; works on a stored result as on a fresh one."""
    if other := judge_engine(result.snapshot):
        return other[:1], other[1:]
    criteria, findings = judge_server(result)
    if result.costs:
        failed = next((e for e in labelled(result.exchanges, "warm") if not e.ok), None)
        warm = judge_warmup(result.costs, failure_words(failed) if failed else "")
        criteria = (*criteria, warm)
        if warm.verdict is Verdict.FAIL:
            cold = make_finding("smoke/no-answer", warm.reason, where="warm-up", what=warm.reason)
            findings = (cold, *findings)
    if result.warm_only or not result.exchanges:
        return criteria, findings
    for judge in (judge_speech, judge_features):
        more, found = judge(result)
        criteria, findings = (*criteria, *more), (*findings, *found)
    return criteria, findings


def labelled(exchanges: Sequence[Exchange], kind: str) -> tuple[Exchange, ...]:
    """Those of one kind: ``ask``, ``chat``, ``fingerprint`` ..."""
    return tuple(exchange for exchange in exchanges if exchange.label.startswith(kind + "/"))
