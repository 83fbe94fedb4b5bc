"""Several builds are told apart by what differs in where they lie, and each by its own way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparkproof.cli.deployment import gather_deployment
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError
from sparkproof.usecases.checkpoint_reading import read_from
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


INSPECTED = [{"Config": {"Image": "i", "Cmd": ["vllm", "serve", "org/model"]}}]
MODEL = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}


@pytest.mark.parametrize("name", ["config.json", "other.json"])
def test_json_is_told_apart_by_what_it_holds(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(json.dumps(INSPECTED), encoding="utf-8")
    assert gather_deployment(str(file)).checkpoint == "org/model"
    file.write_text(json.dumps(MODEL), encoding="utf-8")
    assert gather_deployment(str(file)).checkpoint == str(file)


def test_json_of_neither_is_one_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(FormatError, match="neither a checkpoint's config nor a container"):
        gather_deployment(str(file))


def test_an_inspection_in_a_checkpoints_place_is_named(tmp_path: Path) -> None:
    file = tmp_path / "inspect.json"
    file.write_text(json.dumps(INSPECTED), encoding="utf-8")
    with pytest.raises(FormatError, match=r"inspect.json: what `docker inspect` prints"):
        read_from(str(file), offline=True)


def test_what_fails_is_given_a_way_on() -> None:
    checkpoint = str(EXAMPLES / "qwen3.6-35b-a3b-w4a16" / "checkpoint")
    report = select([Deployment(checkpoint=checkpoint)], vllm="0.33.0")
    assert report.next_steps == ("it passes with --attention-backend TRITON_ATTN",)
