"""Secrets of our own in every spelling; all of them are made up."""

from __future__ import annotations

import html
import json
import time
from urllib.parse import quote

import pytest

from sparkproof.core.known_secrets import KnownSecrets

_KEYS = (
    "abc/def+ghi==x1",
    "a&b<c>\"d'e",
    "back\\slash\\\\two",
    "100%25-sure",
    "kéy-päss",
    "a/b/c/d/",
)


def _spellings(key: str) -> tuple[str, ...]:
    once = json.dumps(key)[1:-1]
    return (
        key,
        once,
        once.replace("/", "\\/"),
        json.dumps(once)[1:-1],
        json.dumps(json.dumps(once)[1:-1])[1:-1],
        "".join(f"\\u{ord(c):04x}" for c in key),
        "".join(f"\\u{ord(c):04X}" for c in key),
        html.escape(key),
        "".join(f"&#{ord(c)};" for c in key),
        "".join(f"&#x{ord(c):x};" for c in key),
        quote(key, safe="", encoding="latin-1"),
    )


@pytest.mark.parametrize("key", _KEYS)
def test_a_key_is_masked_in_any_spelling(key: str) -> None:
    known = KnownSecrets(["other-key-9", key])
    for spelled in _spellings(key):
        assert known.masked(f'{{"m": "key {spelled}, no"}}') == '{"m": "key [redacted], no"}'


def test_what_is_no_key_stays() -> None:
    text = 'C:\\users\\nobody "a\\/b" 100%25 &amp; \\u0041'
    assert KnownSecrets(["abc/def"]).masked(text) == text
    assert KnownSecrets(["", ""]).masked(text) == text


@pytest.mark.parametrize("piece", ["\\", "\\u0061", "%61", "&#97;", "a", "\\\\\\/", "&#0000"])
def test_hostile_text_takes_time_in_proportion(piece: str) -> None:
    known = KnownSecrets(["\\" * 20 + "x", "a" * 40 + "b", "/" * 40])
    text = piece * (100_000 // len(piece)) + "\\" * 20 + "x" + "a" * 39 + "\\u0061b"
    started = time.process_time()
    known.masked(text)
    assert time.process_time() - started < 20
