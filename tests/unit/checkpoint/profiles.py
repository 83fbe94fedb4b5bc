"""Profiles of configs that stand in the tests themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, LayerClass
from sparkproof.testing.checkpoints import config_files


def profile(
    model: Mapping[str, Any],
    quantization: Mapping[str, Any] | None = None,
    hf_quant: Mapping[str, Any] | None = None,
    name: str = "test",
) -> CheckpointProfile:
    """What a config declares, with what may stand beside it."""
    return read_checkpoint(config_files(model, quantization, hf_quant), name)


def schemes(found: CheckpointProfile, layer_class: LayerClass) -> list[tuple[str, str]]:
    """The schemes of a layer class, each with its layers."""
    return [(item.scheme.value, item.layers) for item in found.of(layer_class)]
