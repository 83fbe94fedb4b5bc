"""The facts that a profile rests on, probed in the releases they were read from."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkproof.facts.model_families import model_families

pytestmark = pytest.mark.artifact
LAYERS = "vllm/model_executor/layers/quantization/"
MODELS = "vllm/model_executor/models/"


@pytest.fixture(scope="module")
def source(real_wheel: Callable[..., Path]) -> Callable[[str, str], str]:
    def read(version: str, path: str) -> str:
        with zipfile.ZipFile(real_wheel(f"vllm=={version}")) as wheel:
            return wheel.read(path).decode()

    return read


def test_every_architecture_is_registered(source: Callable[[str, str], str]) -> None:
    registry = source("0.33.0", MODELS + "registry.py")
    named = {name for family in model_families().values() for name in family.architectures}
    missing = {name for name in named if f'"{name}"' not in registry}
    assert missing <= {"DeepseekV32ForCausalLM"}  # there in 0.28.0, gone in 0.33.0


def test_fused_layers_are_what_the_models_pack(source: Callable[[str, str], str]) -> None:
    text = source("0.33.0", MODELS + "qwen3_5.py")
    for fused, parts in model_families()["qwen3_5_moe"].fused.items():
        listed = re.search(rf'"{fused}": \[([^\]]*)\]', text)
        assert listed
        assert tuple(re.findall(r'"(\w+)"', listed[1])) == parts


@pytest.mark.parametrize(
    ("version", "path", "quantizes"),
    [
        ("0.22.0", LAYERS + "modelopt.py", False),
        ("0.33.0", LAYERS + "modelopt.py", True),
        ("0.19.1", LAYERS + "compressed_tensors/compressed_tensors.py", False),
        ("0.22.0", LAYERS + "compressed_tensors/compressed_tensors.py", True),
    ],
)
def test_which_releases_quantize_the_output_layer(
    source: Callable[[str, str], str], version: str, path: str, quantizes: bool
) -> None:
    assert (
        "isinstance(layer, ParallelLMHead)"
        in re.sub(r"\(LinearBase, ParallelLMHead\)", "ParallelLMHead", source(version, path))
    ) is quantizes


def test_when_null_activations_count(source: Callable[[str, str], str]) -> None:
    assert "input_activations" not in source("0.28.0", LAYERS + "modelopt.py")
    assert "input_activations" in source("0.33.0", LAYERS + "modelopt.py")


def test_nvfp4_asks_for_tensor_groups(source: Callable[[str, str], str]) -> None:
    for version in ("0.22.0", "0.33.0"):
        text = source(version, LAYERS + "compressed_tensors/compressed_tensors.py")
        body = text[text.index("def _is_nvfp4_format") :]
        assert "QuantizationStrategy.TENSOR_GROUP" in body[:500]
