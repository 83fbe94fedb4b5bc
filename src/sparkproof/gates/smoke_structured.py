"""Is structured output structured, as far as the answer came.

The grammar is shown by any beginning of the wanted object, since the question asks for no JSON: an
answer that was cut off shows it too. And it may be cut off for ever: a grammar that allows blanks
allows them without end.
"""

from __future__ import annotations

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.finding import Finding
from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.formats.openai_answer import Answer, parse_as
from sparkproof.gates.pages import make_finding
from sparkproof.gates.smoke_server import failure_words

SHAPE = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "count": {"type": "integer"}},
    "required": ["name", "count"],
    "additionalProperties": False,
}
_NAME = "smoke/structured"
_FIRST = "name"
_ENDS = ("", "}", '"}', "0}", ":0}", '":0}', '"count":0}')
"""What makes an object of a beginning, wherever it was cut."""
_BLANKS = 16
_REFUSED = 400


def judge_structured(result: SmokeResult) -> tuple[Criterion, list[Finding]]:
    """One criterion over the answer to the question with a JSON schema."""
    exchange = next((e for e in result.exchanges if e.label == "chat/structured"), None)
    if exchange is None:
        return Criterion(_NAME, Verdict.SKIPPED, "not asked"), []
    if not exchange.ok:
        rule = "smoke/no-answer" if exchange.error or exchange.status != _REFUSED else _NAME
        return _failed(rule, failure_words(exchange), exchange)
    text, thought, cut = _said(exchange)
    if _object(text or thought) is not None:
        return Criterion(_NAME, Verdict.PASS, "a JSON object of the wanted shape"), []
    if cut and not text:
        finding = _finding("smoke/structured-cut", "thinking used up the budget", exchange)
        return Criterion(_NAME, Verdict.INCONCLUSIVE, finding.message), [finding]
    if not cut or not begins_object(text):
        return _failed(_NAME, f"no JSON object: {text[:60]!r}", exchange)
    blanks = len(text) - len(text.rstrip())
    if blanks < _BLANKS:
        return Criterion(_NAME, Verdict.PASS, "the wanted shape as far as the budget went"), []
    message = f"the wanted shape, then {blanks} blanks until the budget ended"
    finding = _finding("smoke/structured-blanks", message, exchange)
    return Criterion(_NAME, Verdict.PASS, message, warning=True), [finding]


def begins_object(text: str) -> bool:
    """Something may follow that makes it an object whose first field is the wanted one."""
    made = (_object(text.rstrip() + end) for end in _ENDS)
    return any(found and next(iter(found)) == _FIRST for found in made)


def _object(text: str) -> dict[str, object] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _said(exchange: Exchange) -> tuple[str, str, bool]:
    """Answer, thinking, and whether the budget ended it."""
    try:
        choice = parse_as(Answer, exchange.body.encode(), exchange.label).choices[0]
    except (FormatError, IndexError):
        return "", "", False
    message = choice.message
    if message is None:
        return "", "", False
    thought = message.reasoning or message.reasoning_content or ""
    return message.content or "", thought, choice.finish_reason == "length"


def _failed(rule: str, reason: str, exchange: Exchange) -> tuple[Criterion, list[Finding]]:
    return Criterion(_NAME, Verdict.FAIL, reason), [_finding(rule, reason, exchange)]


def _finding(rule: str, message: str, exchange: Exchange) -> Finding:
    seen = f"{exchange.status}: {' '.join(exchange.body.split())[:200]}"
    return make_finding(rule, message, where=exchange.path, what=seen)
