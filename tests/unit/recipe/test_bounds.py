"""Deployments longer than any command line."""

from __future__ import annotations

import pytest

from sparkproof.cli.deployment import gather_deployment
from sparkproof.core.deployment import MAX_ARGS
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.recipe.deployment_toml import parse_deployment


def text(words: int) -> bytes:
    listed = ", ".join(['"-x"'] * words)
    return f'schema = 1\ncheckpoint = "org/model"\nargs = [{listed}]\n'.encode()


def test_so_many_words_and_no_more_in_a_file() -> None:
    assert len(parse_deployment(text(MAX_ARGS), "d.toml").args) == MAX_ARGS
    with pytest.raises(FormatError, match=r"d\.toml: `args` has 2001 words"):
        parse_deployment(text(MAX_ARGS + 1), "d.toml")


def test_so_many_words_and_no_more_after_the_dashes() -> None:
    words = ["-x"] * MAX_ARGS
    assert len(gather_deployment("org/model", vllm_args=words).args) == MAX_ARGS
    with pytest.raises(UsageError, match="2001 words") as caught:
        gather_deployment("org/model", vllm_args=[*words, "-x"])
    assert caught.value.hint
