"""Kernels reported to fail on this device: told, and got around by what the report names."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.unit.usecases.configs import QWEN3_MOE_FP8

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.finding import Severity
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.suggest import SuggestResult
from sparkproof.core.results.upgrade import DeploymentUpgrade
from sparkproof.core.verdict import Verdict
from sparkproof.facts.book import find_device
from sparkproof.facts.fallback import fallbacks
from sparkproof.facts.field_records import known_issues
from sparkproof.upgrade.reported import REPORTS
from sparkproof.usecases.checkpoint_reading import read_from
from sparkproof.usecases.looking import see_surface
from sparkproof.usecases.prove.alternatives import find_alternatives
from sparkproof.usecases.prove.arguments import selection_args
from sparkproof.usecases.suggest.command import Wanted, suggest
from sparkproof.usecases.upgrade.command import upgrade
from sparkproof.usecases.upgrade.sides import shipped_surface

CHECKPOINTS = Path(__file__).parents[2] / "data" / "upgrade" / "checkpoints"
NVFP4 = str(CHECKPOINTS / "q36-nvfp4.json")
"""Experts in NVFP4, dense layers in FP8."""
W4A4 = str(Path(__file__).parents[3] / "examples" / "qwen3.6-35b-a3b-w4a4" / "checkpoint")
TOOLS = Box(nvcc=True, ninja=True)
DEEPGEMM = "VLLM_USE_DEEP_GEMM"


@cache
def surface(version: str) -> ReleaseSurface | None:
    return shipped_surface(version)


@pytest.fixture
def fp8(tmp_path: Path) -> str:
    """Blocks of FP8 for which the newer releases take DeepGEMM on this device."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN3_MOE_FP8))
    return str(path)


def moved(present: str, checkpoint: str, **more: Any) -> DeploymentUpgrade:
    deployment = Deployment(checkpoint, artifact=present, box=TOOLS, **more)
    report = upgrade([deployment], "0.33.0", present=present, surfaces=surface, offline=True)
    assert report.result is not None
    news = any(item.rests_on == REPORTS for item in report.result.deployments[0].changes)
    assert ("select/reported-here" in {item.rule for item in report.findings}) is news
    return report.result.deployments[0]


def test_every_way_that_a_report_names_is_known() -> None:
    named = {name for issue in known_issues() for name in issue.ways}
    assert named
    assert named <= {item.id for item in fallbacks()}


def test_an_upgrade_tells_of_a_pick_that_is_reported_here_and_of_the_way_around(fp8: str) -> None:
    found = moved("0.23.0", fp8)
    [change] = [item for item in found.changes if item.rests_on == REPORTS]
    assert "DeepGEMM" in change.message
    assert [(e.name, e.value, e.variable) for e in change.edits] == [(DEEPGEMM, "0", True)]
    assert found.deployment.env == {DEEPGEMM: "0"}


def test_what_was_reported_before_is_no_news_and_the_way_around_is_kept(fp8: str) -> None:
    found = moved("0.26.0", fp8)
    assert not [item for item in found.changes if item.rests_on == REPORTS]
    assert [item.rests_on for item in found.standing] == [REPORTS]
    assert found.deployment.env == {DEEPGEMM: "0"}


def test_a_deployment_that_goes_around_it_is_left_alone(fp8: str) -> None:
    found = moved("0.23.0", fp8, env={DEEPGEMM: "0"})
    assert not [item for item in (*found.changes, *found.standing) if item.rests_on == REPORTS]


def test_another_class_of_device_is_not_warned(fp8: str) -> None:
    found = moved("0.23.0", fp8, device="h200")
    assert not [item for item in (*found.changes, *found.standing) if item.rests_on == REPORTS]


def test_a_flag_takes_over_only_where_the_variable_decided_something(fp8: str) -> None:
    for checkpoint, translated in ((fp8, False), (NVFP4, False), (W4A4, True)):
        found = moved("0.23.0", checkpoint, env={"VLLM_NVFP4_GEMM_BACKEND": "marlin"})
        assert "VLLM_NVFP4_GEMM_BACKEND" not in found.deployment.env
        assert ("--linear-backend" in found.deployment.args) is translated


def suggested(checkpoint: str, box: Box, device: str = "gb10") -> SuggestResult:
    wanted = Wanted(checkpoint=checkpoint, artifact="0.33.0", box=box, device=device)
    report = suggest(wanted, surfaces=surface, offline=True)
    assert report.result is not None
    rules = {item.rule for item in report.findings if item.severity is Severity.WARNING}
    assert "select/reported-here" not in rules
    return report.result


def test_a_suggestion_goes_around_what_is_reported_here_and_says_why(fp8: str) -> None:
    result = suggested(fp8, TOOLS)
    assert result.deployment.env == {DEEPGEMM: "0"}
    assert DEEPGEMM not in result.deployment.args
    [line] = [item for item in result.lines if item.name == DEEPGEMM]
    assert "reported against" in line.reason
    assert "DeepGEMM is accepted on 12.x and then fails" in line.reason
    assert line.reason.split()[0] in result.toml
    assert "marlin" not in result.deployment.args


def test_without_a_compiler_it_stays_native_before_it_gives_up_the_format(fp8: str) -> None:
    result = suggested(fp8, Box(nvcc=False, ninja=False))
    assert result.deployment.env == {DEEPGEMM: "0"}
    assert "marlin" not in result.deployment.args


def test_another_device_and_another_format_are_left_to_the_release(fp8: str) -> None:
    assert suggested(fp8, TOOLS, "h200").deployment.env == {}
    assert suggested(NVFP4, TOOLS).deployment.env == {}


@pytest.mark.parametrize("box", [TOOLS, Box(nvcc=False, ninja=False), Box()])
def test_an_alternative_that_stays_native_comes_first(fp8: str, box: Box) -> None:
    profile = read_from(fp8, offline=True).profile
    release = surface("0.33.0")
    assert release is not None
    seen = see_surface(release, find_device("gb10").capability)
    deployment = Deployment(fp8, artifact="vllm==0.33.0", box=box)
    look = seen.look_at(profile, {})
    found = find_alternatives(look, deployment, selection_args(release, ()))
    passing = [item.change for item in found if item.verdict is Verdict.PASS]
    assert passing[0].startswith(f"{DEEPGEMM}=0")
    others = [item for item in passing[1:] if "marlin" in item]
    assert all(DEEPGEMM not in item for item in others)
