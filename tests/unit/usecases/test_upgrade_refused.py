"""Argument lists that the new release does not take together, on shipped surfaces."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from sparkproof.core.deployment import Deployment
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.upgrade import Bite
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.upgrade.command import upgrade
from sparkproof.usecases.upgrade.sides import shipped_surface

CHECKPOINT = str(Path(__file__).parents[3] / "examples" / "qwen3.6-35b-a3b-w4a4" / "checkpoint")


@cache
def surface(version: str) -> ReleaseSurface | None:
    return shipped_surface(version)


@pytest.mark.parametrize("checkpoint", [CHECKPOINT, "/nowhere/model"])
def test_a_bound_that_is_new_bites(checkpoint: str) -> None:
    args = ("--max-num-scheduled-tokens", "0", "--max-model-len", "4096")
    old = Deployment(checkpoint=checkpoint, name="x", artifact="vllm==0.31.0", args=args)
    report = upgrade([old], "0.33.0", present="0.31.0", surfaces=surface, offline=True)
    assert report.verdict is Verdict.FAIL
    assert report.result is not None
    stops = [c for c in report.result.deployments[0].changes if c.bite is Bite.WONT_START]
    assert [(item.subject, item.rests_on) for item in stops] == [
        ("--max-num-scheduled-tokens", "release surface")
    ]
