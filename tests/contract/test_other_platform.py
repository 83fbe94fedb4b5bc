"""A wheel for another CPU: every command that judges for a box says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkproof.adapters.progress import NoProgress
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.errors import UsageError
from sparkproof.core.verdict import Verdict
from sparkproof.testing.artifacts import wheel_filename, wheel_files, zip_bytes
from sparkproof.testing.device_code import container, library
from sparkproof.testing.vllm_source import source_tree
from sparkproof.usecases.select import select
from sparkproof.usecases.upgrade.sides import Opener

CONFIG = Path(__file__).parents[2] / "examples/qwen3.6-35b-a3b-w4a4/checkpoint"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    code = library([container(["_Z3foov"], ["sm_120f"])])
    files = wheel_files("vllm", "0.33.0", {**source_tree(), "vllm/_C.abi3.so": code})
    path = tmp_path / wheel_filename("vllm", "0.33.0", tag="cp38-abi3-manylinux_2_28_x86_64")
    path.write_bytes(zip_bytes(files))
    return path


@pytest.mark.parametrize(("platform", "told"), [("aarch64", True), ("x86_64", False)])
def test_a_selection(wheel: Path, platform: str, told: bool) -> None:
    box = Box(nvcc=True, ninja=True, platform=platform)
    report = select([Deployment(checkpoint=str(CONFIG), artifact=str(wheel), box=box)])
    rules = [item.rule for item in report.findings]
    assert ("deliver/other-platform" in rules) is told
    if told:
        assert report.verdict is Verdict.FAIL
        assert report.summary.endswith("built for manylinux_2_28_x86_64, the box is aarch64")


def test_an_upgrade_or_a_suggestion(wheel: Path) -> None:
    opener = Opener(
        ComputeCapability(12, 1),
        Box(),
        (),
        surfaces=lambda _: None,
        cache=None,
        offline=True,
        progress=NoProgress(),
    )
    with pytest.raises(UsageError, match="the box is aarch64") as caught:
        opener.open(str(wheel), by_number=False)
    assert "vllm==0.33.0" in caught.value.hint
