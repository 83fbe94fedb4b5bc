"""Numbers that nobody means: refused or bounded where they come in."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sparkproof.cli.commands.fit import command
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import UsageError
from sparkproof.facts.surfaces import load_surface
from sparkproof.usecases.fit.case import request_of
from sparkproof.usecases.fit.command import FitRequest, fit

TINY = str(Path(__file__).parents[2] / "data" / "tiny-qwen3")


@pytest.mark.parametrize("gib", [-1.0, 0.0, 1e-300])
def test_a_device_without_memory_is_refused(gib: float) -> None:
    with pytest.raises(UsageError, match="no memory to speak of"):
        fit(FitRequest(checkpoint=TINY, version="0.33.0", total_gib=gib))


@pytest.mark.parametrize(
    ("text", "jobs"),
    [("4", 4), ("9" * 20, 65536), ("9" * 5000, 65536), ("\u00b2", 0), ("-1", 0), ("", 0)],
)
def test_compiler_jobs_are_bounded(text: str, jobs: int) -> None:
    deployment = Deployment(checkpoint="c", env={"MAX_JOBS": text})
    surface = load_surface("0.33.0")
    assert surface is not None
    assert request_of(deployment, surface).jobs == jobs


@pytest.mark.parametrize("option", ["--jobs", "--length", "--sequences", "--typical-length"])
def test_counts_beyond_any_are_refused(option: str) -> None:
    told = CliRunner().invoke(command, ["org/model", option, "9" * 20])
    assert told.exit_code == 2
    assert "is not in the range" in told.output
