"""Which one cause fits what came back. The first that fits, in the order in which they hide each
other: a dead line hides a dead engine, which hides a wrong parser, which hides a slow client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from sparkproof.core.finding import Confidence, Finding
from sparkproof.core.observations.exchange import Exchange, StreamReading
from sparkproof.core.results.why import WhyResult
from sparkproof.core.server_port import Failure
from sparkproof.facts.book import rules
from sparkproof.formats.openai_answer import error_message
from sparkproof.gates.pages import make_finding
from sparkproof.gates.why_stream import is_unreadable, said_of, stream_fault
from sparkproof.load.ask import CHAT

AGENT_TOKENS = 10_000
"""What an agent on a reasoning model should allow for (field notes, 2026-07-19)."""
_CUT_OFF = "response/cut-off"
_CUT = (_CUT_OFF, "response/call-cut", "response/json-cut")
_OPEN = ("response/unclear", "response/empty-budget")
_DIRECT = ("direct/whole", "direct/stream")
_COLD_FACTOR, _COLD_S = 3.0, 2.0
_QUEUE_SHARE, _QUEUE_S = 0.5, 1.0
_WELL = 200
_CLIENT_FACTOR, _CLIENT_S = 4.0, 5.0
_BURST_SHARE = 0.1
_FLOWING_SHARE = 0.4
_MIN_EVENTS = 4
_SAID, _SEEN = 240, 60
_GATEWAY_ERRORS = (502, 504)
"""What stands in front of a server says so of it; the server itself does not."""
_LINE_RULES = {
    Failure.REFUSED: "why/unreachable",
    Failure.TLS: "why/tls",
    Failure.NOT_HTTP: "why/not-openai",
}


def follow_ups(result: WhyResult, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Further bodies worth trying, by label, after the direct ones are in."""
    whole = result.exchange("direct/whole")
    if whole is None or whole.status != 200 or result.path != CHAT:
        return {}
    rule = result.answer_rules.get("direct/whole", "")
    cut = '"finish_reason":"length"' in whole.body.replace(" ", "")
    if not (cut or rule):
        return {}
    limit = next((m.max_model_len for m in result.models if m.name == body.get("model")), 0)
    budget = min(AGENT_TOKENS, max(64, limit // 2)) if limit else AGENT_TOKENS
    named = "max_completion_tokens" if body.get("max_completion_tokens") else "max_tokens"
    quiet = {**body, "chat_template_kwargs": {"enable_thinking": False}}
    more = {"direct/quiet": quiet}
    if cut and budget > int(body.get(named) or 0):
        more["direct/large"] = {**body, named: budget}
    return more


def find_cause(result: WhyResult) -> Finding | None:
    """The first cause that fits; None where the request was answered soundly every time."""
    steps: tuple[Callable[[WhyResult], Finding | None], ...] = (
        _line,
        _dead,
        _stuck,
        _refused,
        _gateway,
        _answer,
        _stream_only,
        _unreadable,
        _slow,
        _client,
        _cut_off,
    )
    return next((found for step in steps if (found := step(result))), None)


def words_of(exchange: Exchange) -> str:
    """One exchange in one line: status, time, marks, how it ended."""
    if exchange.failure:
        return f"{exchange.failure.value}: {exchange.detail}"
    parts = [f"{exchange.status} in {exchange.seconds:.2f} s"]
    stream = exchange.stream
    if stream:
        if stream.error:
            parts.append(f"error in the stream: {stream.error[:120]}")
        if stream.first_token_us >= 0:
            parts.append(f"first token after {stream.first_token_us / 1e6:.2f} s")
        parts.append(f"finish_reason {stream.finish_reason or 'none'}")
        parts.append(f"content {len(stream.content)}, thinking {len(stream.reasoning)} characters")
        if stream.tool_calls:
            parts.append("a tool call")
    elif exchange.error:
        parts.append(f"an error in it: {exchange.error[:160]}")
    elif exchange.status != 200:
        parts.append(exchange.detail or " ".join(exchange.body.split())[:160])
    return ", ".join(parts)


def _found(rule: str, exchange: Exchange, message: str = "", **more: Any) -> Finding:
    return make_finding(rule, message, where=exchange.label, what=words_of(exchange), **more)


def _line(result: WhyResult) -> Finding | None:
    for exchange in _tried(result, "direct/"):
        if exchange.failure in _LINE_RULES and not exchange.status:
            return _found(_LINE_RULES[exchange.failure], exchange)
        if exchange.status in (401, 403):
            return _found("why/key", exchange)
        if 300 <= exchange.status < 400:
            message = f"{exchange.status}: {exchange.detail}" if exchange.detail else ""
            return _found("why/not-openai", exchange, message)
        if exchange.ok and exchange.stream is None and not _has_choices(exchange):
            seen = " ".join(exchange.body.split())[:_SEEN]
            message = f"{rules()['why/not-openai'].title}: {exchange.content_type} {seen!r}"
            return _found("why/not-openai", exchange, message)
    return None


def _dead(result: WhyResult) -> Finding | None:
    for exchange in _tried(result, "direct/"):
        if result.answer_rules.get(exchange.label) == "response/dead-engine":
            return _found("response/dead-engine", exchange)
    tried = _tried(result, "direct/")
    if tried and result.health >= 500 and result.health not in _GATEWAY_ERRORS:
        return _found("response/dead-engine", tried[0], f"/health answers {result.health}")
    return None


def _stuck(result: WhyResult) -> Finding | None:
    """Nothing came in all our patience: hung, or in the queue, or thrown out again and again."""
    silent = [
        e
        for e in _tried(result, "direct/")
        if e.failure in (Failure.TIMEOUT, Failure.SILENT) and not _tokens(e.stream)
    ]
    window = result.window
    if not silent:
        return None
    if window is None or window.generated_tokens is None:
        message = "no token in all our patience, and the server tells nothing of itself"
        return _found("why/hung-engine", silent[0], message, confidence=Confidence.INFERRED)
    if window.preemptions:
        message = f"{window.preemptions:.0f} preemptions while we waited"
        return _found("why/preemption", silent[0], message)
    if window.generated_tokens:
        message = f"no token for us while the engine made {window.generated_tokens:.0f} for others"
        return _found("why/queueing", silent[0], message)
    message = f"no token for anybody, {window.running_seen:.0f} requests counted as running"
    return _found("why/hung-engine", silent[0], message)


def _refused(result: WhyResult) -> Finding | None:
    for exchange in _tried(result, "direct/"):
        rule = result.answer_rules.get(exchange.label, "")
        words = _server_words(exchange, result)
        if exchange.status >= 500 and rule in ("", "response/unclear"):
            return _found("why/server-error", exchange, f"{exchange.status}: {words}")
        if rule and words:
            return _found(rule, exchange, f"{rules()[rule].title}: {words}")
        if exchange.failure is Failure.DROPPED:
            return _broken_line(exchange, result)
    return None


def _broken_line(exchange: Exchange, result: WhyResult) -> Finding:
    words = f"the line broke: {exchange.detail}"
    if result.health_after != _WELL:
        return _found("response/dead-engine", exchange, words)
    whole = result.exchange("direct/whole")
    other = ", and in one piece the answer comes whole" if whole and whole.ok else ""
    return _found("why/line-breaks", exchange, f"{words}; the server lives{other}")


def _server_words(exchange: Exchange, result: WhyResult) -> str:
    """What an error says, and the names that would have done; "" where it is none."""
    words = said_of(exchange)
    if exchange.status >= 400:
        words = error_message(exchange.body.encode("utf-8", "replace"))
    words = " ".join(words.split())[:_SAID]
    names = [model.name for model in result.models]
    if (
        result.answer_rules.get(exchange.label) == "response/unknown-model"
        and names
        and names[0] not in words
    ):
        words = f"{words.rstrip('.')}; it has {', '.join(names)}"[: 2 * _SAID]
    return words


def _gateway(result: WhyResult) -> Finding | None:
    direct = [e for e in _tried(result, "direct/") if e.label in _DIRECT]
    if not all(_is_sound(e, result) for e in direct):
        return None
    for exchange in _tried(result, "gateway/"):
        rule = result.answer_rules.get(exchange.label, "")
        if exchange.status == 404 or rule == "response/unknown-model":
            return _found("why/gateway-name", exchange)
        if not _is_sound(exchange, result):
            words = stream_fault(exchange) or words_of(exchange)
            message = f"{rules()['why/gateway-breaks'].title}: {words}"
            return _found("why/gateway-breaks", exchange, message)
    ours, theirs = result.exchange("direct/stream"), result.exchange("gateway/stream")
    if ours and theirs and _flows(ours.stream) and _bursts(theirs.stream):
        return _found("why/gateway-buffers", theirs)
    return None


def _answer(result: WhyResult) -> Finding | None:
    whole = result.exchange("direct/whole")
    if whole is None or not whole.ok:
        return None
    rule = result.answer_rules.get("direct/whole", "")
    cured = [
        label
        for label in ("direct/large", "direct/quiet")
        if (e := result.exchange(label)) and e.ok and not result.answer_rules.get(label)
    ]
    cut = '"finish_reason":"length"' in whole.body.replace(" ", "")
    if rule in _OPEN and cut:
        return _found("why/empty-budget", whole)
    if rule in _OPEN and cured:
        return _found("why/thinks-then-fine", whole)
    if rule in ("", _CUT_OFF, *_OPEN):
        return None
    message = _cut_words(rule, whole, cured) if rule in _CUT else ""
    if rule == "response/starved-budget" and cured:
        how = "a larger budget" if "direct/large" in cured else "thinking switched off"
        message = f"the budget ended inside the think block; with {how} the answer comes"
    return _found(rule, whole, message)


def _cut_off(result: WhyResult) -> Finding | None:
    """Only where nothing else is to be told: most requests are given a budget that ends them."""
    for exchange in _tried(result, "direct/"):
        if exchange.label in _DIRECT and result.answer_rules.get(exchange.label) == _CUT_OFF:
            large = result.exchange("direct/large")
            whole = large is not None and large.ok and not result.answer_rules.get("direct/large")
            cured = ["direct/large"] if whole else []
            return _found(_CUT_OFF, exchange, _cut_words(_CUT_OFF, exchange, cured))
    return None


def _cut_words(rule: str, exchange: Exchange, cured: Sequence[str]) -> str:
    larger = "; with a larger budget it comes whole" if "direct/large" in cured else ""
    return f"{rules()[rule].title}{_budget(exchange)}{larger}"


def _stream_only(result: WhyResult) -> Finding | None:
    whole, stream = result.exchange("direct/whole"), result.exchange("direct/stream")
    if not whole or not stream or is_unreadable(stream) or not _is_sound(whole, result):
        return None
    if _is_sound(stream, result):
        return None
    rule = result.answer_rules.get("direct/stream", "")
    if rule and not stream_fault(stream) and _samples(stream):
        message = f"{rules()[rule].title}, in one of two answers: the request samples"
        return _found(rule, stream, message)
    words = stream_fault(stream) or (rules()[rule].title if rule else words_of(stream))
    return _found("why/stream-only", stream, f"{rules()['why/stream-only'].title}: {words}")


def _unreadable(result: WhyResult) -> Finding | None:
    """The last guard: no row may have failed beside an answer that nothing is wrong."""
    for exchange in _tried(result, "direct/"):
        fault = stream_fault(exchange)
        if exchange.label in _DIRECT and (fault or not exchange.ok):
            message = f"the answer can't be read: {fault or said_of(exchange)}"
            return _found("why/unreadable", exchange, message)
    return None


def _is_sound(exchange: Exchange, result: WhyResult) -> bool:
    rule = result.answer_rules.get(exchange.label, "")
    odd = rule not in ("", _CUT_OFF) or bool(stream_fault(exchange))
    return exchange.ok and not odd


def _body(exchange: Exchange) -> dict[str, object]:
    try:
        return msgspec.json.decode(exchange.request, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return {}


def _samples(exchange: Exchange) -> bool:
    """Two answers to the request may differ by chance."""
    body = _body(exchange)
    return bool(body) and body.get("temperature") != 0


def _budget(exchange: Exchange) -> str:
    """`` (max_tokens 20)``, where the request says so."""
    body = _body(exchange)
    named = next((n for n in ("max_completion_tokens", "max_tokens") if body.get(n)), "")
    return f" ({named} {body[named]})" if named else ""


def _slow(result: WhyResult) -> Finding | None:
    whole, stream, window = (
        result.exchange("direct/whole"),
        result.exchange("direct/stream"),
        result.window,
    )
    if not whole or not stream or not whole.ok or not stream.ok:
        return None
    if window and window.preemptions:
        return _found("why/preemption", stream, f"{window.preemptions:.0f} preemptions meanwhile")
    if window and window.queue_s and window.ttft_s and window.finished:
        queued = window.queue_s / window.finished
        if queued > _QUEUE_S and window.queue_s > _QUEUE_SHARE * window.ttft_s:
            message = f"{queued:.1f} s of a request's wait for its first token went by in the queue"
            return _found("why/queueing", stream, message)
    if whole.seconds > _COLD_S and whole.seconds > _COLD_FACTOR * stream.seconds:
        message = f"{whole.seconds:.1f} s the first time, {stream.seconds:.1f} s the second"
        return _found("why/cold", whole, message)
    return None


def _client(result: WhyResult) -> Finding | None:
    sound = [e for e in _tried(result, "direct/") if e.ok]
    if not sound or result.waited_s < _CLIENT_S:
        return None
    slowest = max(sound, key=lambda e: e.seconds)
    if result.waited_s < _CLIENT_FACTOR * slowest.seconds:
        return None
    message = f"answered here in {slowest.seconds:.1f} s, the agent waited {result.waited_s:.0f} s"
    return _found("why/slow-client", slowest, message, confidence=Confidence.INFERRED)


def _tried(result: WhyResult, kind: str) -> list[Exchange]:
    return [exchange for exchange in result.exchanges if exchange.label.startswith(kind)]


def _tokens(stream: StreamReading | None) -> int:
    return len(stream.arrivals_us) if stream else 0


def _spread(stream: StreamReading | None) -> float:
    """Share of the whole time over which tokens arrived; -1 where there are too few."""
    if stream is None or len(stream.arrivals_us) < _MIN_EVENTS or stream.ended_us <= 0:
        return -1.0
    return (stream.arrivals_us[-1] - stream.arrivals_us[0]) / stream.ended_us


def _flows(stream: StreamReading | None) -> bool:
    return _spread(stream) > _FLOWING_SHARE


def _bursts(stream: StreamReading | None) -> bool:
    return 0 <= _spread(stream) < _BURST_SHARE


def _has_choices(exchange: Exchange) -> bool:
    """Whether it is an answer at all; a body that was cut short gets the benefit of the doubt."""
    if exchange.body_bytes > len(exchange.body.encode("utf-8", "replace")):
        return True
    try:
        return "choices" in msgspec.json.decode(exchange.body, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return False
