"""Our reading of an argument list, beside Python's own parser fed with the same options."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkproof.core.observations.release_surface import Option, ReleaseSurface
from sparkproof.core.serve_line import Trouble
from sparkproof.release import read_surface
from sparkproof.release.serve_line import parse_serve_line
from sparkproof.release.serve_values import RefusedError, read_value
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_source import source_tree

SURFACE = read_surface(MemoryArtifact(source_tree()), oracles=("attention/backend",), whole=True)
WORDS = [
    *sorted({name for option in SURFACE.options for name in option.names}),
    "--por",
    "--s",
    "--nothing",
    "--port=3",
    "--quiet=1",
    "--spare=b",
    "a",
    "b",
    "1",
    "-1",
    "rocket",
    "fp8",
    "{}",
    '{"dogs": 1}',
    "auto",
]


class _RefusedError(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _RefusedError(message)


def _oracle(surface: ReleaseSurface) -> argparse.ArgumentParser:
    parser = _Parser(add_help=False)
    parser.add_argument("model_tag", nargs="?")
    for option in surface.options:
        positive = [name for name in option.names if name not in option.negative]
        keywords: dict[str, Any] = {"dest": option.flag}
        if option.negative:
            keywords["action"] = argparse.BooleanOptionalAction
        elif option.arity == "none":
            keywords["action"] = "store_true"
        else:
            keywords["type"] = _converter(option)
            keywords["nargs"] = {"many": "+", "optional": "?"}.get(option.arity)
        parser.add_argument(*positive, **keywords)
    return parser


def _converter(option: Option) -> Any:
    def convert(word: str) -> Any:
        try:
            return read_value(option, word, SURFACE.field_of(option))
        except RefusedError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return convert


PARSER = _oracle(SURFACE)


def _parsed(words: list[str]) -> dict[str, Any] | None:
    try:
        return vars(PARSER.parse_args(words))
    except _RefusedError:
        return None


@settings(max_examples=400)
@given(st.lists(st.sampled_from(WORDS), max_size=6))
def test_accepts_and_reads_what_argparse_does(words: list[str]) -> None:
    line = parse_serve_line(SURFACE, words)
    refused = [
        item.message
        for item in line.complaints
        if item.trouble.refuses and item.trouble is not Trouble.FIELD
    ]
    expected = _parsed(words)
    assert (expected is None) == bool(refused)
    if expected is None:
        return
    assert (line.model or None) == expected.pop("model_tag")
    given_values = {item.flag: item.value for item in line.given}
    for flag, value in expected.items():
        if flag in given_values:
            assert given_values[flag] == value, flag
        else:
            assert value in (None, False), flag


@settings(max_examples=200)
@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_words_end_in_an_answer(words: list[str]) -> None:
    line = parse_serve_line(SURFACE, words)
    assert line.accepted or line.complaints
