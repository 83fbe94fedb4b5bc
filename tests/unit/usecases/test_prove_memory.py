"""The memory link of a proof: the same findings as `fit`, and what flags alone give away."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.finding import Severity
from sparkproof.core.observations.stored_tensors import StoredTensors
from sparkproof.core.refs import RefKind
from sparkproof.core.subject import Subject
from sparkproof.core.verdict import Verdict
from sparkproof.facts.surfaces import load_surface
from sparkproof.memory.budget import GIB
from sparkproof.usecases.checkpoint_reading import ReadCheckpoint, read_from
from sparkproof.usecases.fit.case import request_of
from sparkproof.usecases.fit.command import fit
from sparkproof.usecases.fit.inputs import files_of
from sparkproof.usecases.prove.arguments import selection_args
from sparkproof.usecases.prove.memory import Fitted, find_fit
from sparkproof.usecases.prove.surroundings import find_moving_tag

CHECKPOINT = str(Path(__file__).parents[3] / "examples" / "qwen3.6-35b-a3b-w4a4" / "checkpoint")
LENGTH = ("--max-model-len", "262144")
SHARE = ("--gpu-memory-utilization", "0.7")
TEXT = ("--language-model-only",)


def checkpoint(weights_gib: float = 0.0) -> ReadCheckpoint:
    read = read_from(CHECKPOINT, offline=True)
    size = int(weights_gib * GIB)
    stored = StoredTensors(shards=3, tensors=9, bytes=size, parameters=9) if size else None
    profile = msgspec.structs.replace(read.profile, stored=stored)
    return msgspec.structs.replace(read, profile=profile)


def deployment(*args: str, tenants: dict[str, float] | None = None) -> Deployment:
    return Deployment(checkpoint=CHECKPOINT, args=args, box=Box(co_tenants=tenants or {}))


def asked(*args: str, weights_gib: float = 0.0, version: str = "0.33.0") -> Fitted:
    surface = load_surface(version)
    read = checkpoint(weights_gib)
    return find_fit(deployment(*args), read, surface, selection_args(surface, args))


def rules(fitted: Fitted) -> set[str]:
    return {item.rule for item in fitted.findings}


def test_it_says_what_fit_says() -> None:
    args = (*LENGTH, *TEXT)
    fitted = asked(*args, weights_gib=22.0)
    one = deployment(*args)
    report = fit(request_of(one, load_surface("0.33.0")), files_of(checkpoint(22.0), CHECKPOINT))
    assert fitted.findings == report.findings
    assert fitted.memory.summary == report.summary
    assert fitted.memory.plan == report.result
    assert fitted.criterion.verdict is report.verdict


def test_a_share_that_starves_the_host_fails_and_less_of_it_passes() -> None:
    starving = asked(*LENGTH, "--gpu-memory-utilization", "0.95", weights_gib=22.0)
    assert starving.criterion.verdict is Verdict.FAIL
    assert starving.refusal is not None
    assert "memory/discrete-utilization" in rules(starving)
    fitting = asked(*LENGTH, *SHARE, weights_gib=22.0)
    assert fitting.criterion.verdict is Verdict.PASS
    assert fitting.refusal is None
    assert "memory/discrete-utilization" not in rules(fitting)


def test_without_weights_nothing_is_decided_and_flags_still_tell() -> None:
    silent = asked(*LENGTH, *TEXT)
    assert silent.criterion.verdict is Verdict.SKIPPED
    assert rules(silent) == {"memory/discrete-utilization"}, "the default is no better than 0.95"
    assert silent.memory.notes
    assert silent.caveat == "memory not planned: give --weights-gib"
    assert rules(asked(*LENGTH, *TEXT, "--gpu-memory-utilization", "0.95")) == rules(silent)
    modest = asked(*LENGTH, *TEXT, "--gpu-memory-utilization", "0.6")
    assert (modest.findings, modest.caveat) == ((), silent.caveat)


def test_weights_that_the_deployment_states_are_planned_with() -> None:
    surface, args = load_surface("0.33.0"), (*LENGTH, *SHARE)
    stated = msgspec.structs.replace(deployment(*args), weights_gib=22.0)
    fitted = find_fit(stated, checkpoint(), surface, selection_args(surface, args))
    assert fitted.criterion.verdict is Verdict.PASS
    assert fitted.caveat == ""
    assert fitted.memory.plan is not None
    assert fitted.memory.plan.memory is not None


@pytest.mark.parametrize(
    "args",
    [
        ("--gpu-memory-utilization", "1.5"),
        ("--max-num-seqs", "0"),
        ("--tensor-parallel-size", "7"),
    ],
)
def test_a_value_that_vllm_refuses_fails(args: tuple[str, ...]) -> None:
    fitted = asked(*LENGTH, *args)
    assert fitted.criterion.verdict is Verdict.FAIL
    assert fitted.refusal is not None
    assert fitted.refusal.rule == "memory/flag-refused"


def test_a_release_that_nobody_examined_decides_nothing() -> None:
    surface = msgspec.structs.replace(load_surface("0.33.0"), version="0.11.0")
    read = checkpoint(22.0)
    fitted = find_fit(deployment(*LENGTH), read, surface, selection_args(surface, LENGTH))
    assert fitted.criterion.verdict is Verdict.SKIPPED
    assert fitted.memory.plan is None
    assert [item.topic for item in fitted.unknowns] == ["fit/kv"]


def test_of_two_pins_one_is_ignored() -> None:
    both = asked(*LENGTH, "--kv-cache-memory-bytes", "20G", "--num-gpu-blocks-override", "900")
    assert "memory/pins-clash" in rules(both)
    assert "memory/pins-clash" not in rules(asked(*LENGTH, "--num-gpu-blocks-override", "900"))


@pytest.mark.parametrize(
    "pin", [("--kv-cache-memory-bytes", "20G"), ("--num-gpu-blocks-override", "900")]
)
def test_a_share_beside_a_pin_sizes_nothing(pin: tuple[str, ...]) -> None:
    told = [f for f in asked(*LENGTH, *SHARE, *pin).findings if f.rule == "memory/share-beside-pin"]
    assert [item.message.partition(" ")[0] for item in told] == [pin[0]]
    assert "memory/share-beside-pin" not in rules(asked(*LENGTH, *pin))
    assert "memory/share-beside-pin" not in rules(asked(*LENGTH, *SHARE))


MTP = ("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}')


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--cudagraph-capture-sizes", "1", "2", "4", "8"), "up to 8 tokens"),
        (("--max-cudagraph-capture-size", "64"), "up to 64 tokens"),
        (("--compilation-config", '{"cudagraph_capture_sizes": [4, 2]}'), "up to 4 tokens"),
        (("--max-num-seqs", "600"), "up to 512 tokens"),
        (("--max-num-seqs", "200", *MTP), "batch has 800 (200 requests of 4 tokens a step)"),
        (("--max-num-seqs", "8", "--cudagraph-capture-sizes", "8"), ""),
        (("--max-num-seqs", "600", "--enforce-eager"), ""),
        (("--max-num-seqs", "600", "--compilation-config", '{"cudagraph_mode": "NONE"}'), ""),
        (("--max-num-seqs", "128", *MTP), ""),
        ((), ""),
        (MTP, ""),
    ],
)
def test_a_decode_batch_above_the_captured_graphs(args: tuple[str, ...], told: str) -> None:
    found = [f for f in asked(*LENGTH, *args).findings if f.rule == "graphs/below-batch"]
    assert bool(found) == bool(told)
    assert not told or told in found[0].message


@pytest.mark.parametrize(
    "args", [TEXT, ("--limit-mm-per-prompt", '{"image": 2}'), ("--skip-mm-profiling",)]
)
def test_the_encoder_is_spoken_of_where_nobody_limits_it(args: tuple[str, ...]) -> None:
    (told,) = [f for f in asked(*LENGTH).findings if f.rule == "memory/encoder-budget"]
    assert told.severity is Severity.INFO
    assert "memory/encoder-budget" not in rules(asked(*LENGTH, *args))


IMAGE = Subject(
    kind=RefKind.IMAGE, ref="image:x", identity="image:sha256:1", notes=("pin sha256:2",)
)


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("image:vllm/vllm-openai:latest", "deploy vllm/vllm-openai@sha256:2"),
        ("image:vllm/vllm-openai", "deploy vllm/vllm-openai@sha256:2"),
        ("image:engine:vllm/vllm-openai:nightly-aarch64", "deploy vllm/vllm-openai@sha256:2"),
        ("image:vllm/vllm-openai:v0.33.0", ""),
        (f"image:vllm/vllm-openai:nightly@sha256:{'0' * 64}", ""),
        ("image:./saved.tar", ""),
    ],
)
def test_a_tag_that_moves_is_pinned(reference: str, told: str) -> None:
    found = find_moving_tag(reference, IMAGE)
    assert [item.remedy for item in found] == ([told] if told else [])


def test_no_tag_of_a_wheel_moves() -> None:
    wheel = Subject(kind=RefKind.WHEEL, ref="vllm==0.33.0", identity="sha256:1")
    assert find_moving_tag("vllm==0.33.0", wheel) == ()


def test_a_video_that_no_batch_takes_in_fails_a_proof_without_weights() -> None:
    gemma = str(Path(__file__).parents[2] / "data" / "memory" / "configs" / "gemma-4-31b.json")
    surface, args = load_surface("0.33.0"), ("--max-model-len", "8192")
    read, one = read_from(gemma, offline=True), Deployment(checkpoint=gemma, args=args)
    fitted = find_fit(one, read, surface, selection_args(surface, args))
    assert fitted.criterion.verdict is Verdict.FAIL
    assert fitted.refusal is not None
    assert fitted.refusal.rule == "memory/item-above-batch"
