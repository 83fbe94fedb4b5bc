"""Which rule an answer breaks."""

from __future__ import annotations

import re

import msgspec

from sparkproof.bootlog.call_markup import find_call, leaks_thinking, opens_thinking
from sparkproof.bootlog.response import Answer
from sparkproof.formats.text_form import endless_piece, runs_from, text_faults

_TEMPLATE = re.compile(
    r"(?i)unexpected reasoning effort|chat[_ ]template|TemplateError|jinja"
    r"|roles must alternate|Only user and assistant roles|System role not supported"
)
_TOO_LONG = re.compile(
    r"maximum context length|longer than the maximum model length|greater than max_model_len"
)
_JSON_START = re.compile(r"\s*(?:\{\s*\"|\[\s*[\[{\"])")
_NO_ROUTE = frozenset({"Not Found", "Method Not Allowed"})
_CLIENT_ERROR, _SERVER_ERROR = 400, 500


def judge_answer(answer: Answer) -> str:
    """The rule that fits, "" for a sound answer, ``response/unclear`` where none does."""
    if answer.error or answer.status >= _CLIENT_ERROR:
        return _judge_error(answer)
    if answer.tool_calls:
        return _judge_calls(answer)
    content = answer.content or ""
    cut = answer.finish_reason == "length"
    if answer.chat and answer.asked_tools is not False and find_call(content, cut=cut):
        return "response/wrong-parser"
    if garbage_words(answer):
        return "response/garbage"
    if answer.chat and cut and _starved(answer, content):
        return "response/starved-budget"
    if answer.chat and leaks_thinking(content):
        return "response/think-leak"
    cut = cut and not answer.forced
    if not content.strip():
        return _judge_empty(answer, cut=cut)
    if cut and answer.chat and _begins_json(content) and not _is_json(content):
        return "response/json-cut"
    return "response/cut-off" if cut else ""


def _judge_empty(answer: Answer, *, cut: bool) -> str:
    if answer.reasoning:
        called = answer.asked_tools is not False and find_call(answer.reasoning)
        return "response/call-in-reasoning" if called else "response/answer-in-reasoning"
    return "response/empty-budget" if cut else "response/unclear"


def garbage_words(answer: Answer) -> str:
    """What makes an answer garbage, "" for one that is none."""
    cut = answer.finish_reason == "length"
    for text in (answer.content or "", answer.reasoning or ""):
        piece = endless_piece(text) if answer.forced else ""
        kept = text.strip()[: runs_from(text, piece)] if piece else ""
        if faults := text_faults(kept or text, cut=cut):
            return faults[0]
    return ""


def _judge_calls(answer: Answer) -> str:
    broken = [text for text in answer.arguments if not _is_json(text)]
    if answer.finish_reason == "length":
        return "response/call-cut" if broken else ""
    return "response/call-broken" if any(text.strip() for text in broken) else ""


def _begins_json(text: str) -> bool:
    return bool(_JSON_START.match(text))


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _starved(answer: Answer, content: str) -> bool:
    return bool(answer.reasoning and not content.strip()) or opens_thinking(content)


def _judge_error(answer: Answer) -> str:
    text = answer.error
    if "requires --enable-auto-tool-choice" in text or "requires --tool-call-parser" in text:
        return "response/no-parser"
    if "EngineCore encountered an issue" in text or "EngineDeadError" in text:
        return "response/dead-engine"
    if _TOO_LONG.search(text):
        return "response/too-long"
    if _TEMPLATE.search(text):
        return "response/template"
    if re.search(r"The model `[^`]*` does not exist", text):
        return "response/unknown-model"
    if text in _NO_ROUTE:
        return "response/no-route"
    if 0 < answer.status < _CLIENT_ERROR:
        return "response/hidden-error"
    refused = _CLIENT_ERROR <= answer.status < _SERVER_ERROR
    return "response/bad-request" if refused else "response/unclear"
