"""Module-name patterns: the subset agrees with Python's engine and never hangs."""

from __future__ import annotations

import fnmatch
import re

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.formats.name_pattern import compile_regex, compile_wildcard

NAMES = (
    "model.layers.7.mlp.gate_proj",
    "language_model.model.layers.57.self_attn.q_proj",
    "mtp.layers.0.mlp.experts.0.up_proj",
    "lm_head",
    "visual.blocks.0.attn.qkv",
    "",
)


@pytest.mark.parametrize(
    "text",
    [
        ".*self_attn.(q|k|v|o)_proj",
        r".*layers\.([0-9]|[1-4][0-9]|5[0-5])\.mlp\.(?:gate|up|down)_proj$",
        "^mtp.*",
        r"^(?!.*(?:\b|_)(?:gate_proj|lm_head)).*",
        r"(?=.*mlp)model",
        r"[^.]+\.layers\.\d{1,2}\.",
        "lm_head|visual",
        r".*?experts\.\d+\.(?P<p>\w+)",
        "",
        "((((a?)+)+)+)+b",
        r"model\.layers\.\d+\.mlp\.[a-z_]+\Z",
        "a{,2}l",
        "[]a-]x|[a\\]]",
    ],
)
def test_agrees_with_python(text: str) -> None:
    pattern = compile_regex(text)
    for name in NAMES:
        assert pattern.match(name) == bool(re.match(text, name)), name


@pytest.mark.parametrize(
    "text", ["*mlp*", "mtp*", "model.layers.?.mlp*", "*[!x]proj", "[", "lm_head"]
)
def test_wildcards_agree_with_python(text: str) -> None:
    pattern = compile_wildcard(text)
    for name in NAMES:
        assert pattern.match(name) == fnmatch.fnmatchcase(name, text), name


@pytest.mark.parametrize(
    "text",
    [
        "(",
        ")",
        "(a",
        "[a",
        "*a",
        "a**",
        "a++",
        "(?<=a)b",
        "(?i)a",
        r"\1",
        "(?P=x)",
        "[z-a]",
        "a{9999}",
        "x" * 600,
        "(" * 40 + ")" * 40,
        "\\",
        r"[\D]",
        "{2}",
        "^*",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(FormatError):
        compile_regex(text)


def test_hostile_patterns_end() -> None:
    name = "a" * 500
    for text in (
        "(a*)*b",
        "(a|aa)+$x",
        ".*.*.*.*.*.*.*.*.*.*b",
        "(?=(a+)+b)",
        "((a{0,99}){0,99}){0,99}b",
    ):
        try:
            assert not compile_regex(text).match(name)
        except FormatError as error:
            assert "costs too much" in error.reason  # noqa: PT017
