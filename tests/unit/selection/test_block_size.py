"""A block that no kernel can cut ends the start, whoever is named."""

import msgspec
import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.prediction import Outcome, Prediction
from sparkproof.facts.surfaces import load_surface
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.selection.cases import PLAIN_MODEL
from sparkproof.selection.predict import predict_attention
from sparkproof.selection.request import Choices

_GB10 = ComputeCapability(12, 1)


def _attention(version: str, size: int, backend: str = "") -> Prediction:
    surface = load_surface(version)
    assert surface is not None
    choices = Choices(attention_backend=backend, block_size=size)
    return predict_attention(surface, _GB10, profile=PLAIN_MODEL, choices=choices)


@pytest.mark.parametrize("version", ["0.20.0", "0.33.0"])
@pytest.mark.parametrize("backend", ["", "FLASH_ATTN", "FLASHINFER", "TRITON_ATTN"])
@pytest.mark.parametrize("size", [7, 17, 24])
def test_an_odd_block_is_refused_by_every_backend(version: str, backend: str, size: int) -> None:
    found = _attention(version, size, backend)
    assert not found.selected
    assert found.error.startswith("ValueError")
    assert "block_size not supported" in found.error


@pytest.mark.parametrize("version", ["0.20.0", "0.33.0"])
@pytest.mark.parametrize("size", [16, 48, 128])
def test_a_block_that_kernels_take_changes_no_pick(version: str, size: int) -> None:
    plain, stated = _attention(version, 0), _attention(version, size)
    assert stated.selected == plain.selected == "FLASH_ATTN"
    assert [item.outcome for item in stated.steps] == [item.outcome for item in plain.steps]


def test_a_block_is_held_against_each_backend_by_itself() -> None:
    surface = load_surface("0.33.0")
    assert surface is not None
    ours = msgspec.structs.replace(PLAIN_MODEL, activation_dtype="float32")
    found = predict_attention(surface, _GB10, profile=ours, choices=Choices(block_size=24))
    assert {item.outcome for item in found.steps} == {Outcome.REFUSED}


def test_the_flag_reaches_the_choice() -> None:
    assert parse_selection_args(["--block-size", "24"]).block_size == 24
    assert parse_selection_args(["--max-num-seqs", "24"]).block_size == 0
