"""Bytes that readers of real headers published, against ours for the same shapes and formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checkpoint.shapes import Choose, lay_out_tensors

from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.core.observations.checkpoint_profile import LayerClass
from sparkproof.core.observations.stored_tensors import StoredTensors
from sparkproof.formats.safetensors import parse_header
from sparkproof.testing.safetensors import shard

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data"
GIB = 1 << 30


def stored(config: dict[str, Any], block: dict[str, Any], choose: Choose) -> StoredTensors:
    config["quantization_config"] = block
    head, size = shard(lay_out_tensors(config, choose))
    header = parse_header(head, size, "x")
    found = read_checkpoint({"config.json": json.dumps(config).encode()}, "x", [header]).stored
    assert found is not None
    return found


def config_of(name: str) -> dict[str, Any]:
    text = (DATA / "memory" / "configs" / f"{name}.json").read_text()
    config: dict[str, Any] = json.loads(text)
    return config


def gib(found: StoredTensors, layer_class: LayerClass) -> float:
    return sum(item.bytes for item in found.of(layer_class)) / GIB


def mixed_27b(kind: str, at: int) -> str:
    if kind == "mlp":
        return "w4a4" if at <= 55 else "fp8-channel"
    return "fp8-channel" if kind in ("attention", "delta", "head") else "bf16"


def weight_only_35b(kind: str, _: int) -> str:
    if kind in ("attention", "delta"):
        return "fp8-tensor"
    return "w4a16" if kind in ("experts", "shared", "head") else "bf16"


def test_a_mixed_27b_build() -> None:
    """Source: the tensor table of github SuperElectron/dgx-spark-tuner, 2026-08-30."""
    block = json.loads((DATA / "checkpoints" / "q38-unsloth.json").read_text())
    found = stored(config_of("qwen3.6-27b"), block, mixed_27b)
    assert [item for item in found.formats if not item.agrees] == []
    for layer_class, published in (
        (LayerClass.MLP, 9.837),
        (LayerClass.ATTENTION, 1.563),
        (LayerClass.LM_HEAD, 1.185),
        (LayerClass.EMBEDDING, 2.368),
        (LayerClass.DRAFT, 0.791),
    ):
        assert round(gib(found, layer_class), 3) == published
    # Norms and convolutions, which we count apart, are in the published 5.206.
    assert gib(found, LayerClass.LINEAR_ATTENTION) == pytest.approx(5.206, abs=0.005)
    assert round(found.read_bytes / 1e9, 1) == 19.1


def test_a_weight_only_35b_build() -> None:
    """Source: github SuperElectron/dgx-spark-tuner, architecture notes, 2026-08-23."""
    example = ROOT / "examples" / "qwen3.6-35b-a3b-w4a16" / "checkpoint" / "config.json"
    block = json.loads(example.read_text())["quantization_config"]
    found = stored(config_of("qwen3.6-35b-a3b"), block, weight_only_35b)
    assert [item for item in found.formats if not item.agrees] == []
    assert found.read_bytes / 1e9 == pytest.approx(2.254, abs=0.001)
    [experts] = found.of(LayerClass.EXPERTS)
    assert (experts.modules, experts.read_bytes) == (40 * 256 * 3, experts.bytes // 32)
    # Quantized to 4 bits by their config and left in 16 by a careless tool: seen at once.
    careless = stored(config_of("qwen3.6-35b-a3b"), block, lambda kind, at: "bf16")
    assert {note.kind for note in careless.notes} == {"stored-otherwise"}
