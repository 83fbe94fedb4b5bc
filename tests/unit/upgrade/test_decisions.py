"""What shipped releases decide by themselves, against what their sources and logs say."""

from __future__ import annotations

from functools import cache

import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.facts.surfaces import load_surface
from sparkproof.upgrade.arguments import read_given
from sparkproof.upgrade.decisions import ASYNC, FORCED, RUNNER, Decider, speculation
from sparkproof.upgrade.view import Model

HYBRID = Model(
    read=True,
    architectures=("Qwen3_5MoeForConditionalGeneration",),
    quant_method="compressed-tensors",
    moe=True,
    hybrid=True,
)
DENSE = Model(read=True, architectures=("Qwen3ForCausalLM",))
MTP = ("--speculative-config", '{"method": "qwen3_5_mtp", "num_speculative_tokens": 3}')
NGRAM = ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3}')
SUFFIX = ("--speculative-config.method", "suffix")


@cache
def surface(version: str) -> ReleaseSurface:
    return load_surface(version)


def ask(version: str, model: Model, args: tuple[str, ...], **env: str) -> Decider:
    given = read_given(args, surface(version))
    return Decider(surface(version), model, given, env, ComputeCapability.parse("12.1"))


@pytest.mark.parametrize(
    ("version", "args", "expected"),
    [
        ("0.20.2", (), "on"),
        ("0.20.2", MTP, "on"),
        ("0.20.2", NGRAM, "off"),
        ("0.32.0", NGRAM, "off"),
        ("0.33.0", NGRAM, "on"),
        ("0.33.0", SUFFIX, "off"),
        ("0.33.0", ("--runner", "pooling"), "off"),
    ],
)
def test_async_scheduling(version: str, args: tuple[str, ...], expected: str) -> None:
    assert ask(version, HYBRID, args).outcome(ASYNC) == expected


def test_forcing_it_with_a_method_that_can_not() -> None:
    assert ask("0.32.0", HYBRID, NGRAM).outcome(FORCED) == "error"
    assert ask("0.33.0", HYBRID, NGRAM).outcome(FORCED) == "on"


@pytest.mark.parametrize(
    ("version", "model", "args", "expected"),
    [
        ("0.20.2", DENSE, (), "off"),
        ("0.22.0", DENSE, (), "on"),
        ("0.22.0", DENSE, NGRAM, "off"),
        ("0.25.1", DENSE, (), "on"),
        ("0.28.0", HYBRID, (), "off"),
        ("0.29.0", HYBRID, (), "on"),
        ("0.29.0", HYBRID, NGRAM, "off"),
        ("0.30.0", HYBRID, ("--mamba-cache-mode", "all"), "off"),
        ("0.32.0", HYBRID, NGRAM, "on"),
        ("0.33.0", HYBRID, SUFFIX, "off"),
    ],
)
def test_model_runner(version: str, model: Model, args: tuple[str, ...], expected: str) -> None:
    assert ask(version, model, args).outcome(RUNNER) == expected


def test_the_variable_decides_where_it_is_set() -> None:
    for version in ("0.20.2", "0.28.0", "0.33.0"):
        for value, expected in (("1", "on"), ("0", "off")):
            asked = ask(version, HYBRID, (), VLLM_USE_V2_MODEL_RUNNER=value)
            assert asked.outcome(RUNNER) == expected


def test_every_way_to_write_speculation_is_the_same() -> None:
    ways = (
        MTP,
        ("-sc", MTP[1]),
        ("--speculative-config.method=mtp", "--speculative-config.num-speculative-tokens=3"),
        ("--spec-method", "mtp", "--spec-tokens", "3"),
    )
    found = [speculation(read_given(way, surface("0.33.0"))) for way in ways]
    assert all(item == {"method": "mtp", "num_speculative_tokens": 3} for item in found)
    assert speculation(read_given((), surface("0.33.0"))) == {}
