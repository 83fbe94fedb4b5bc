"""Upgrades between shipped surfaces, without any artifact."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.upgrade import Bite, DeploymentUpgrade
from sparkproof.core.verdict import Verdict
from sparkproof.recipe.deployment_toml import parse_deployment
from sparkproof.usecases.fit.inputs import read_deployment
from sparkproof.usecases.upgrade.command import upgrade
from sparkproof.usecases.upgrade.sides import is_number, shipped_surface, version_in

CHECKPOINT = str(Path(__file__).parents[3] / "examples" / "qwen3.6-35b-a3b-w4a4" / "checkpoint")
DATA = Path(__file__).parents[2] / "data" / "upgrade"


@cache
def surface(version: str) -> ReleaseSurface | None:
    return shipped_surface(version)


def one(name: str, to: str, present: str = "", **more: object) -> DeploymentUpgrade:
    deployment = read_deployment(DATA / f"{name}.toml")
    deployment = msgspec.structs.replace(deployment, **more)
    report = upgrade([deployment], to, present=present, surfaces=surface, offline=True)
    assert report.result is not None
    return report.result.deployments[0]


def subjects(found: DeploymentUpgrade, bite: Bite) -> set[str]:
    return {item.subject for item in found.changes if item.bite is bite}


@pytest.mark.parametrize("name", ["js-q38", "seed-q36", "q3-medusa"])
def test_the_same_release_changes_nothing(name: str) -> None:
    found = one(name, "0.23.0", "0.23.0")
    assert found.changes == ()


def test_the_deployment_as_it_should_be_starts() -> None:
    found = one("q3-medusa", "0.33.0")
    assert found.verdict is Verdict.FAIL
    assert len(subjects(found, Bite.WONT_START)) == 3
    assert found.unresolved == ()
    mended = parse_deployment(found.toml.encode(), "it")
    assert mended == found.deployment
    report = upgrade([mended], "0.33.0", present="0.33.0", surfaces=surface, offline=True)
    assert report.verdict is Verdict.PASS


def test_a_successor_that_would_end_the_start_is_not_offered() -> None:
    found = one("q35-fp8", "0.24.0")
    [change] = [c for c in found.changes if c.subject == "VLLM_USE_FLASHINFER_MOE_FP16"]
    assert [edit.action.value for edit in change.edits] == ["drop"]
    assert "--moe-backend" not in found.deployment.args


def test_a_changed_pick_without_device_code_leaves_it_open() -> None:
    found = one("q35-fp8", "0.24.0")
    picks = {"experts fp8-block", "draft-experts fp8-block"}
    assert subjects(found, Bite.KERNEL) == {*picks, "fp8/deepgemm-12x"}
    assert found.verdict is Verdict.INCONCLUSIVE


def test_without_its_checkpoint_only_words_are_compared() -> None:
    deployment = msgspec.structs.replace(
        read_deployment(DATA / "q3-medusa.toml"), checkpoint="/models/absent"
    )
    report = upgrade([deployment], "0.33.0", surfaces=surface, offline=True)
    assert report.result is not None
    found = report.result.deployments[0]
    assert len(subjects(found, Bite.WONT_START)) == 3
    assert not subjects(found, Bite.SIZE) - {"captured graphs"}
    assert any(item.topic == "upgrade/checkpoint" for item in report.unknowns)


def test_secrets_do_not_reach_the_report() -> None:
    found = one("js-q38", "0.33.0", args=("--api-key", "s3cr3t"), env={"HF_TOKEN": "hf_s3cr3t"})
    assert "s3cr3t" not in found.toml
    assert "s3cr3t" not in repr(found)


def test_steps_date_the_changes() -> None:
    deployment = read_deployment(DATA / "q3-medusa.toml")
    report = upgrade(
        [deployment], "0.33.0", steps=("0.27.0", "0.28.0", "9.9.9"), surfaces=surface, offline=True
    )
    assert report.result is not None
    found = report.result.deployments[0]
    assert [step.after for step in found.steps] == ["0.27.0", "0.28.0", "0.33.0"]
    dates = {item.subject: item.release for item in found.changes}
    assert dates["--max-num-partial-prefills"] == "0.27.0"
    assert dates["--calculate-kv-scales"] == "0.28.0"
    assert dates["--speculative-config.method"] == "0.33.0"


def test_what_is_wrong_as_asked() -> None:
    with pytest.raises(UsageError, match="no deployment"):
        upgrade([], "0.33.0", surfaces=surface)
    with pytest.raises(UsageError, match="which artifact"):
        upgrade([Deployment(checkpoint="x")], "0.33.0", surfaces=surface, offline=True)


def test_numbers_and_what_tells_one() -> None:
    assert is_number("0.33.0")
    assert is_number("v0.33.0")
    assert not is_number("vllm==0.33.0")
    assert version_in("vllm==0.33.0") == version_in("v0.33.0") == "0.33.0"
    assert version_in("image:vllm/vllm-openai:v0.33.0") == ""
    assert shipped_surface("0.33.1.dev5") is None


@pytest.mark.parametrize(
    "args",
    [
        ("--quantization", "gguf"),
        ("--attention-backend", "TREE_ATTN"),
        ("--moe-backend", "nope"),
        ("--kv-cache-dtype", "nope"),
        ("--gpu-memory-utilization", "1.4"),
        ("--tensor-parallel-size", "3"),
    ],
)
def test_one_cause_ends_the_start_once(args: tuple[str, ...]) -> None:
    deployment = Deployment(CHECKPOINT, artifact="vllm==0.20.0", args=args)
    report = upgrade([deployment], "0.33.0", surfaces=surface, offline=True)
    assert report.result is not None
    [found] = report.result.deployments
    stops = [c for c in (*found.changes, *found.standing) if c.bite is Bite.WONT_START]
    assert len(stops) == 1
    assert "refuses: vLLM refuses" not in stops[0].message
    assert "choose from" not in stops[0].message
