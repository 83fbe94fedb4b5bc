"""Mutations of a real release end in the right answer or in an `Unknown`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from tests.oracle.changed import Changed

from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.deployment import Box
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.ports import Artifact
from sparkproof.core.prediction import Outcome
from sparkproof.release import read_surface
from sparkproof.selection import predict, settle_gates

pytestmark = pytest.mark.artifact

RealWheel = Callable[..., Path]
_MOE = "vllm/model_executor/layers/fused_moe"
_LINEAR = "vllm/model_executor/kernels/linear/__init__.py"


@pytest.mark.parametrize(
    ("path", "old", "new", "oracle"),
    [
        (f"{_MOE}/oracle/nvfp4.py", "def select_nvfp4_moe", "def pick_nvfp4_moe", "moe/nvfp4"),
        (
            f"{_MOE}/oracle/nvfp4.py",
            "AVAILABLE_BACKENDS = [",
            "AVAILABLE_BACKENDS = [*x(), ",
            "moe/nvfp4",
        ),
        (f"{_MOE}/oracle/nvfp4.py", "    MARLIN = ", "    MARLYN = ", "moe/nvfp4"),
        (f"{_MOE}/oracle/nvfp4.py", "", "", "moe/nvfp4"),
        (_LINEAR, "_POSSIBLE_NVFP4_KERNELS: ", "_POSSIBLE_NVFP4_THINGS: ", "dense/nvfp4"),
        (_LINEAR, "def init_nvfp4_linear", "def make_nvfp4_linear", "dense/nvfp4"),
    ],
)
def test_a_changed_release_ends_in_an_unknown(
    real_wheel: RealWheel, path: str, old: str, new: str, oracle: str
) -> None:
    _, artifact = open_artifact(str(real_wheel("vllm==0.33.0")), offline=True)
    text = artifact.read(path).decode()
    assert old in text
    data = text.replace(old, new).encode() if old else None
    found = read_surface(cast("Artifact", Changed(artifact, path, data)), oracles=(oracle,))
    artifact.close()
    read = found.oracle(oracle)
    assert read is None or not read.branches
    topics = [item.topic for item in (*found.unknowns, *(read.unknowns if read else ()))]
    assert f"select/{oracle}" in topics


def test_a_class_that_is_gone_leaves_only_its_candidate_open(real_wheel: RealWheel) -> None:
    _, artifact = open_artifact(str(real_wheel("vllm==0.33.0")), offline=True)
    path = f"{_MOE}/experts/cutlass_moe.py"
    changed = cast("Artifact", Changed(artifact, path, None))
    found = read_surface(changed, oracles=("moe/nvfp4",))
    artifact.close()
    gates = settle_gates(found, Box(nvcc=False, ninja=False))
    prediction = predict(
        found,
        ComputeCapability(12, 1),
        LayerFormat(LayerClass.EXPERTS, QuantScheme.NVFP4_W4A4),
        profile=CheckpointProfile("m", (), "m", "modelopt", (), hidden_act="silu"),
        gates=gates,
    )
    assert prediction.selected == ""
    open_steps = [step for step in prediction.steps if step.outcome is Outcome.UNDECIDED]
    assert open_steps[0].implementation == "CutlassExpertsFp4"
    assert "is not in the artifact" in open_steps[0].gates[0]
