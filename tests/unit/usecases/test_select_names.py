"""Several builds are told apart by what differs in where they lie, and each by its own way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkproof.cli.deployment import gather_deployment
from sparkproof.core.deployment import Deployment
from sparkproof.usecases.select import name_columns, select

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["x/w4a4/checkpoint", "x/w4a16/checkpoint"], ["w4a4", "w4a16"]),
        (["a/model", "b/model"], ["a", "b"]),
        (["RedHatAI/Q36", "nvidia/Q36"], ["RedHatAI/Q36", "nvidia/Q36"]),
        (["checkpoint"], ["checkpoint"]),
        (["a/b", "a/b"], ["b (1)", "b (2)"]),
        (["a/config.json"], ["a"]),
    ],
)
def test_names_are_short_and_differ(given: list[str], names: list[str]) -> None:
    assert name_columns(given) == names


def test_a_folder_that_holds_a_deployment_stands_for_it() -> None:
    found = gather_deployment(str(EXAMPLES / "qwen3.6-35b-a3b-w4a4"))
    assert found.name == "qwen3.6-35b-a3b-w4a4"
    assert found.artifact == "vllm==0.33.0"
    checkpoint = gather_deployment(str(EXAMPLES / "qwen3.6-35b-a3b-w4a4" / "checkpoint"))
    assert checkpoint.artifact == ""


def test_what_fails_is_given_a_way_on() -> None:
    checkpoint = str(EXAMPLES / "qwen3.6-35b-a3b-w4a16" / "checkpoint")
    report = select([Deployment(checkpoint=checkpoint)], vllm="0.33.0")
    assert report.next_steps == ("it passes with --attention-backend TRITON_ATTN",)
