"""The example deployments' checkpoints: three builds of one model, each another route."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkproof.checkpoint.effective import effective_formats
from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.checkpoint.rules import judge_checkpoint
from sparkproof.checkpoint.summary import format_label
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile

EXAMPLES = Path(__file__).parents[3] / "examples"


def profile(name: str) -> CheckpointProfile:
    folder = EXAMPLES / f"qwen3.6-35b-a3b-{name}" / "checkpoint"
    return read_checkpoint({"config.json": (folder / "config.json").read_bytes()}, name)


@pytest.mark.parametrize(
    ("name", "label", "experts", "attention", "lm_head"),
    [
        ("w4a4", "W4A4", ["nvfp4-w4a4"], ["nvfp4-w4a4"], ["unquantized"]),
        ("w4a16", "mixed: W4A16 + FP8", ["nvfp4-w4a16"], ["fp8-tensor"], ["nvfp4-w4a16"]),
        (
            "mixed",
            "mixed: W4A4 + FP8",
            ["nvfp4-w4a4 layers 0-31", "fp8-channel layers 32-39"],
            ["fp8-channel"],
            ["unquantized"],
        ),
    ],
)
def test_layer_classes(
    name: str, label: str, experts: list[str], attention: list[str], lm_head: list[str]
) -> None:
    found = profile(name)
    said = {
        layer_class: [
            f"{item.scheme} {item.layers}".strip()
            for item in found.formats
            if item.layer_class == layer_class
        ]
        for layer_class in ("experts", "attention", "lm-head", "draft", "router", "vision")
    }
    assert format_label(found) == label
    assert said["experts"] == experts
    assert said["attention"] == attention
    assert said["lm-head"] == lm_head
    assert said["draft"] == said["router"] == said["vision"] == ["unquantized"]
    assert (found.family, found.num_layers, found.num_experts) == ("qwen3_5_moe", 40, 256)
    assert found.unknowns == ()


@pytest.mark.parametrize("name", ["w4a4", "w4a16", "mixed"])
def test_reconstruction_is_said_with_its_dates(name: str) -> None:
    found = profile(name)
    assert "2026-" in found.reconstructed
    assert found.assumed
    findings = judge_checkpoint(found, effective_formats(found, "0.33.0"), "fp8")
    assert "checkpoint/reconstructed" in {finding.rule for finding in findings}
    assert {finding.severity.value for finding in findings} <= {"info", "warning"}
