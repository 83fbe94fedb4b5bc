"""Text from untrusted places."""

from __future__ import annotations

import pytest

from sparkproof.core.text import encodable, map_text, shorten, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain … ünïcode", "plain … ünïcode"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\nb\r\tc\x00", "a\\nb\\r\\tc\\x00"),
        ("evil\u202egnp.so", "evil\\u202egnp.so"),
        ("\x9b31m", "\\x9b31m"),
        ("1\u00a0234", "1\u00a0234"),
        ("\udcff", "\\udcff"),
    ],
)
def test_nothing_in_a_name_can_move_the_cursor(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_only_lone_surrogates_are_escaped_for_encoding() -> None:
    assert encodable("é\udcff\n") == "é\\udcff\n"


def test_every_string_is_changed_keys_too() -> None:
    value = {"a": ["b", {"c": ("d", 1, None)}]}
    assert map_text(value, str.upper) == {"A": ["B", {"C": ["D", 1, None]}]}


def test_what_is_cut_says_so() -> None:
    assert shorten("12345", 5) == "12345"
    assert shorten("123456", 5) == "1234…"
