"""Secrets that we hold ourselves, taken out of what others write, however they spell them.

A server that quotes a key may write it as JSON, as part of an address or as HTML; whoever reads
the answer turns that back into the key.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

MASK = "[redacted]"
_DEEP = 8
"""Backslashes before one character: JSON within JSON within JSON has seven."""
_PASSES = 4
_JSON = re.compile(r"\\u(?P<hex>[0-9a-fA-F]{4})")
_PERCENT = re.compile(r"%(?P<hex>[0-9a-fA-F]{2})")
_NUMBERED = re.compile(r"&#(?:0{0,6}(?P<decimal>[0-9]{1,6})|[xX]0{0,6}(?P<hex>[0-9a-fA-F]{1,5}));")
_NAMED = re.compile(r"&(amp|lt|gt|quot);")
_BYTE = 256
_SHIELDED = "\"'/"
_PIECE = re.compile(r"\\+|[^\\]", re.DOTALL)


class KnownSecrets:
    """Masks given secrets, as they are and in the escapes of JSON, HTML and addresses."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted(set(secrets) - {""}, key=len, reverse=True)
        self._plain = [_plain(secret) for secret in self._secrets]
        self._any_form: re.Pattern[str] | None = None

    def masked(self, text: str) -> str:
        """The text without them."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        if not self._plain or not any(sign in text for sign in "\\%&"):
            return text
        plain = _plain(text)
        if not any(secret in plain for secret in self._plain):
            return text
        if self._any_form is None:
            forms = ("".join(map(_forms, _PIECE.findall(secret))) for secret in self._secrets)
            self._any_form = re.compile("|".join(forms))
        return self._any_form.sub(MASK, text)


def _plain(text: str) -> str:
    """Without escapes, more or less: alike for a text and for a secret in it."""
    for _ in range(_PASSES):
        before = text
        if "\\" in text:
            text = _JSON.sub(_character, text).replace("\\", "")
        if "%" in text:
            text = _PERCENT.sub(_character, text)
        if "&" in text:
            text = _NAMED.sub(lambda m: html.unescape(m[0]), _NUMBERED.sub(_character, text))
        if text == before:
            break
    return text


def _character(match: re.Match[str]) -> str:
    digits = match.groupdict()
    return chr(int(digits["hex"], 16) if digits["hex"] else int(digits["decimal"]))


def _forms(piece: str) -> str:
    """A pattern for one character, or for a run of backslashes, in any of its spellings."""
    character, count = piece[0], len(piece)
    code = ord(character)
    forms = [rf"\\{{1,{_DEEP}}}u(?i:{code:04x})"]
    forms += [rf"&\#0{{0,6}}{code};", rf"&\#(?i:x0{{0,6}}{code:x});"]
    if code < _BYTE:
        forms.append(f"%(?i:{code:02x})")
    if (named := html.escape(character)) != character:
        forms.append(re.escape(named))
    if character == "\\":  # as a whole: one by one, a run could be cut in ever so many ways
        return rf"(?:\\{{{count},{count * _DEEP}}}|(?:{'|'.join(forms)}){{{count}}})"
    shields = rf"\\{{0,{_DEEP}}}" if character in _SHIELDED else ""
    return f"(?:{shields}{re.escape(character)}|{'|'.join(forms)})"
