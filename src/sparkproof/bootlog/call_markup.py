"""Finds tool calls and thinking that stand in a text as they were written, past every parser.

A text may also speak of such markup: in code, in quotes, in the middle of a sentence. That is an
answer about markup and no call.
"""

from __future__ import annotations

import re
from functools import cache

from sparkproof.facts.call_markup import call_markup

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_FENCED = re.compile(r"\A\s*```.*```\s*\Z", re.DOTALL)
_BEGINS = re.compile(r"(?:\A|[\n.!?>\]])[ \t]*\Z")
_ENDS = tuple(">]})")
_QUOTES = tuple("\"'“„\u2018«")
_BEFORE = 80
_JSON_CALL = re.compile(
    r"\A\s*(?:```json\s*)?\[?\{\s*"
    r"(?:\"name\"\s*:\s*\"[\w.-]+\"\s*,\s*\"(?:arguments|parameters)\""
    r"|\"type\"\s*:\s*\"function\"\s*,\s*\"(?:name|function)\")"
)
_PYTHON_CALL = re.compile(r"\A\s*\[\s*[A-Za-z_][\w.]*\((?:\s*\w+\s*=.*)?\)\s*\]\s*\Z", re.DOTALL)
_HARMONY = re.compile(r"(?<![\s`\"'])assistant(?:final|analysis|commentary)(?=\S)")
_HARMONY_START = re.compile(r"\Aanalysis(?=[A-Z])")


def find_call(text: str, *, cut: bool = False) -> str:
    """What the call in the text is written in, "" where there is none.

    Args:
        cut: the text ended at its budget, maybe in the middle of the call.
    """
    if _JSON_CALL.search(text):
        return "JSON"
    if _PYTHON_CALL.search(text):
        return "Python"
    plain = _without_code(text)
    open_ended = cut or plain.rstrip().endswith(_ENDS)
    for found in _calls().finditer(plain):
        before = plain[max(0, found.start() - _BEFORE) : found.start()]
        if not before.endswith(_QUOTES) and (open_ended or _BEGINS.search(before)):
            return found[0]
    return ""


def parsers_of(mark: str) -> tuple[str, ...]:
    """The parsers that read calls which begin so."""
    return next((m.parsers for m in call_markup().calls if m.text == mark), ())


def leaks_thinking(text: str) -> bool:
    """Marks of thinking stand in the text that no parser split off."""
    plain = _without_code(text)
    marks = _thinking().finditer(plain)
    if any(not plain.endswith(_QUOTES, 0, m.start()) for m in marks):
        return True
    return bool(_HARMONY.search(plain) or _HARMONY_START.search(plain))


def opens_thinking(text: str) -> bool:
    """It begins to think and does not end it."""
    plain = _without_code(text)
    return "<think>" in plain and "</think>" not in plain


def _without_code(text: str) -> str:
    return text if _FENCED.match(text) else _CODE.sub(" ", text)


@cache
def _calls() -> re.Pattern[str]:
    marks = sorted((mark.text for mark in call_markup().calls), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, marks)))


@cache
def _thinking() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, call_markup().thinking)))
