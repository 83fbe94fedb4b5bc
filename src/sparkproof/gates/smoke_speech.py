"""Does it speak: raw coherence, fingerprint, chat template, tools, structured output."""

from __future__ import annotations

from sparkproof.core.errors import FormatError
from sparkproof.core.finding import Finding
from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.observations.fingerprint import Fingerprint
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.verdict import Criterion, Verdict, fold
from sparkproof.facts.book import rules
from sparkproof.formats.openai_answer import Answer, parse_as
from sparkproof.gates.coherence import Sample, judge_coherence
from sparkproof.gates.fingerprint import SET_NAME, judge_change, known_text_nats, read_trace
from sparkproof.gates.pages import make_finding
from sparkproof.gates.smoke_server import failure_words
from sparkproof.gates.smoke_structured import judge_structured

_OUR_BUDGET = frozenset({"response/cut-off", "response/call-cut", "response/json-cut"})
_EMPTY = frozenset({"response/unclear", "response/empty-budget"})
"""What ends at a budget that is ours is no fault of the server."""
Judged = tuple[tuple[Criterion, ...], tuple[Finding, ...]]
_CHAT_WORDS = {
    "chat/answer": ("smoke/chat", "the chat template answers"),
    "chat/think": ("smoke/reasoning", "thinking and answer are kept apart"),
    "chat/tool": ("smoke/tools", "a tool call comes back as one"),
}


def judge_speech(result: SmokeResult) -> Judged:
    """Raw text first: it goes past the template and the parsers."""
    samples = tuple(s for e in result.exchanges if (s := sample_of(e)))
    print_ = result.fingerprint
    coherence = judge_coherence(samples, known_text_nats(print_) if print_ else None)
    criteria = [*coherence, judge_change(result.change)]
    findings = [*_incoherent(coherence, samples), *_drifted(criteria[-1])]
    for label in _CHAT_WORDS:
        criterion, found = _chat(result, label)
        criteria.append(criterion)
        findings += found
    criterion, found = judge_structured(result)
    return (*criteria, criterion), (*findings, *found)


def sample_of(exchange: Exchange) -> Sample | None:
    """The text of a raw continuation; None for other exchanges and failures."""
    if not exchange.label.startswith(("ask/", "form/")) or not exchange.ok:
        return None
    try:
        choice = parse_as(Answer, exchange.body.encode(), exchange.label).choices[0]
    except (FormatError, IndexError):
        return None
    return Sample(
        exchange.label.partition("/")[2], choice.text or "", tuple(choice.token_ids or ())
    )


def read_fingerprint(exchanges: tuple[Exchange, ...]) -> Fingerprint | None:
    """The fingerprint in the answers; None where the server gives no log-probabilities."""
    traces = []
    for exchange in exchanges:
        kind, _, name = exchange.label.partition("/")
        if kind == "fingerprint" and exchange.ok:
            try:
                traces.append(read_trace(name, exchange.body.encode()))
            except FormatError:
                continue
    return Fingerprint(SET_NAME, tuple(traces)) if traces else None


def _incoherent(criteria: tuple[Criterion, ...], samples: tuple[Sample, ...]) -> list[Finding]:
    verdict = fold(c.verdict for c in criteria)
    if verdict in (Verdict.PASS, Verdict.SKIPPED):
        return []
    bad = [c for c in criteria if c.verdict not in (Verdict.PASS, Verdict.SKIPPED)]
    reasons = "; ".join(c.reason for c in bad)
    heard = samples[0].text[:60] if samples else ""
    rule = "smoke/garbage" if verdict is Verdict.FAIL else "smoke/doubtful"
    return [
        make_finding(rule, f"raw completions: {reasons}", where="/v1/completions", what=repr(heard))
    ]


def _drifted(criterion: Criterion) -> list[Finding]:
    if criterion.verdict is Verdict.FAIL:
        return [make_finding("smoke/fingerprint-differs", criterion.reason)]
    return [make_finding("smoke/fingerprint-drift", criterion.reason)] if criterion.warning else []


def _chat(result: SmokeResult, label: str) -> tuple[Criterion, list[Finding]]:
    name, fine = _CHAT_WORDS[label]
    exchange = next((e for e in result.exchanges if e.label == label), None)
    if exchange is None:
        return Criterion(name, Verdict.SKIPPED, "not asked"), []
    rule = result.answer_rules.get(label, "")
    rule = "" if rule in _OUR_BUDGET else rule
    if rule == "response/no-parser" and not result.expected.tool_parser:
        return Criterion(
            name, Verdict.SKIPPED, "tool calls are not switched on, and not promised"
        ), []
    if rule and rule not in _EMPTY:
        words = "" if exchange.ok else f"{rules()[rule].title}: {failure_words(exchange)}"
        finding = make_finding(rule, words, where=exchange.path, what=_seen(exchange))
        verdict = Verdict.FAIL if finding.severity == "error" else Verdict.PASS
        return Criterion(name, verdict, finding.message, warning=verdict is Verdict.PASS), [finding]
    if not exchange.ok:
        reason = f"no answer: {failure_words(exchange)}"
        finding = make_finding(
            "smoke/chat-failed", reason, where=exchange.path, what=_seen(exchange)
        )
        return Criterion(name, Verdict.FAIL, reason), [finding]
    if label == "chat/tool" and not _called(exchange):
        return Criterion(
            name, Verdict.SKIPPED, "the model made no call, so no parser was shown"
        ), []
    if rule:
        return Criterion(name, Verdict.INCONCLUSIVE, "an empty answer"), []
    return Criterion(name, Verdict.PASS, fine), []


def _called(exchange: Exchange) -> bool:
    try:
        choice = parse_as(Answer, exchange.body.encode(), exchange.label).choices[0]
    except (FormatError, IndexError):
        return False
    return bool(choice.message and choice.message.tool_calls)


def _seen(exchange: Exchange) -> str:
    return f"{exchange.status}: {' '.join(exchange.body.split())[:200]}"
