"""Published checkpoints, as their quantization blocks are described: each is classified right."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pytest

from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.checkpoint.summary import format_label
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, LayerClass

DATA = Path(__file__).parents[2] / "data" / "checkpoints"
NO_ARCHITECTURE = "no architecture is declared"


def profile(name: str) -> CheckpointProfile:
    return read_checkpoint({"config.json": (DATA / f"{name}.json").read_bytes()}, name)


def lines(found: CheckpointProfile) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    for item in found.formats:
        text = item.scheme + (f": {item.layers}" if item.layers else "")
        said.setdefault(item.layer_class, []).append(text)
    return said


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("q36-redhat", "W4A4"),
        ("q36-nvidia", "mixed: W4A16 + FP8"),
        ("q36-unsloth", "mixed: W4A4 + FP8"),
        ("q38-unsloth", "mixed: W4A4 + FP8"),
        ("fx-w4a16-ct", "W4A16"),
        ("q36-fp8", "FP8 block"),
        ("lightning35", "mixed: W4A16 + FP8"),
        ("gptoss20", "MXFP4"),
        ("q3-30b-nvfp4", "W4A4"),
        ("q36-aeon", "W4A4"),
        ("q36-bf16", "BF16"),
        ("q36d-nvidia", "mixed: W4A16 + FP8"),
        ("q38-gittensor", "W4A4"),
        ("q38-hugin", "W4A16, attention, linear-attention not quantized"),
        ("q38-inferact", "W4A4"),
        ("q35-122b-int4", "INT4"),
        ("q35-397b-int4", "INT4"),
        ("gemma26-bf16", "BF16"),
        ("gemma31-nvfp4", "W4A4"),
        ("glm46-nvfp4", "W4A4"),
        ("glm47flash-awq", "INT4"),
        ("minimax27-awq", "INT4"),
        ("dsv4-0731", "mixed: FP8 block + MXFP4"),
    ],
)
def test_label(name: str, label: str) -> None:
    assert format_label(profile(name)) == label


def test_partial_layers_of_a_mixed_build() -> None:
    found = profile("q38-unsloth")
    assert lines(found) == {
        "attention": ["fp8-channel"],
        "linear-attention": ["fp8-channel"],
        "mlp": ["nvfp4-w4a4: layers 0-55", "fp8-channel: layers 56-63"],
        "lm-head": ["fp8-channel"],
        "draft": ["unquantized"],
        "vision": ["unquantized"],
    }
    assert found.kv_cache_scheme == "fp8 static tensor"
    assert [unknown.why for unknown in found.unknowns] == [NO_ARCHITECTURE]


def test_map_of_layers_without_an_architecture() -> None:
    said = lines(profile("q36-nvidia"))
    assert said["lm-head"] == ["nvfp4-w4a16"]
    assert said["experts"][0].startswith("nvfp4-w4a16")
    assert said["attention"][0].startswith("fp8-tensor")
    assert said["linear-attention"][0].startswith("fp8-tensor")
    assert said["draft"] == ["unquantized"]
    assert said["vision"] == ["unquantized"]


def test_output_layer_named_by_a_target() -> None:
    found = profile("fx-w4a16-ct")
    head = found.of(LayerClass.LM_HEAD)
    assert [(item.scheme, item.variant) for item in head] == [("nvfp4-w4a16", "strategy-group")]
    assert [note.kind for note in found.notes] == ["entry-not-exact"]


def test_experts_alone_are_mxfp4() -> None:
    said = lines(profile("gptoss20"))
    assert said.pop("experts") == ["mxfp4: every expert"]
    assert {text for texts in said.values() for text in texts} == {"unquantized"}


@pytest.mark.parametrize(
    ("name", "projections"), [("q38-inferact", "out_proj"), ("q38-gittensor", "in_proj_qkv")]
)
def test_delta_projections_in_part(name: str, projections: str) -> None:
    """48 of 144 in 4 bits in one build, all of them in the other; both without the gates."""
    said = dict(text.split(": ") for text in lines(profile(name))["linear-attention"])
    assert said["nvfp4-w4a4"].startswith(projections)
    assert "in_proj_a, in_proj_b" in said["unquantized"]


def test_described_output_layers() -> None:
    assert lines(profile("q36d-nvidia"))["lm-head"] == ["nvfp4-w4a16"]
    for name in ("q38-inferact", "q38-hugin", "q38-gittensor", "q36-bf16"):
        assert lines(profile(name))["lm-head"] == ["unquantized"]


def test_a_dense_model_of_a_family_with_experts_has_none() -> None:
    assert "experts" not in lines(profile("gemma31-nvfp4"))
    assert "experts" in lines(profile("gemma26-bf16"))


def test_manifest_tells_every_fixture() -> None:
    listed = tomllib.loads((DATA / "MANIFEST.toml").read_text())["fixtures"]
    assert {entry["file"] for entry in listed} == {path.name for path in DATA.glob("*.json")}
    for entry in listed:
        assert hashlib.sha256((DATA / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
        assert entry["source"]
        assert entry["source_date"]
