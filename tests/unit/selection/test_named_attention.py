"""Attention backends that a model's own configuration names where no flag does."""

from __future__ import annotations

import json

import pytest

from sparkproof.checkpoint.state_layout import read_state_layout
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.prediction import How, Outcome
from sparkproof.facts.surfaces import load_surface
from sparkproof.selection.predict import predict, predict_attention, predict_attentions
from sparkproof.selection.request import Choices

GB10, B200 = ComputeCapability(12, 1), ComputeCapability(10, 0)
GEMMA = "Gemma4ForCausalLM"


def gemma(global_head: int, architecture: str = GEMMA) -> CheckpointProfile:
    kinds = ["sliding_attention"] * 5 + ["full_attention"]
    config = {
        "architectures": [architecture],
        "model_type": "gemma4_text",
        "num_hidden_layers": 6,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "num_global_key_value_heads": 2,
        "head_dim": 256,
        "global_head_dim": global_head,
        "hidden_size": 2816,
        "sliding_window": 1024,
        "layer_types": kinds,
    }
    state = read_state_layout(json.dumps(config).encode(), name="config.json")
    return CheckpointProfile(
        "m", (architecture,), "gemma4", "", (), head_dim=256, num_experts=128, state=state
    )


@pytest.mark.parametrize(
    ("release", "device", "head", "flag", "picked", "how"),
    [
        ("0.20.0", GB10, 512, "", "TRITON_ATTN", How.SCHEME),
        ("0.20.0", B200, 512, "", "TRITON_ATTN", How.SCHEME),
        ("0.33.0", GB10, 512, "", "TRITON_ATTN", How.SCHEME),
        ("0.33.0", GB10, 512, "FLEX_ATTENTION", "FLEX_ATTENTION", How.FLAG),
        ("0.33.0", GB10, 256, "", "FLASH_ATTN", How.AUTO),
    ],
)
def test_gemmas_with_two_sizes_of_heads_go_where_their_configuration_says(
    release: str, device: ComputeCapability, head: int, flag: str, picked: str, how: How
) -> None:
    choices = Choices(attention_backend=flag)
    found = predict_attention(load_surface(release), device, profile=gemma(head), choices=choices)
    assert (found.selected, found.how) == (picked, how)
    assert ("configuration names it" in found.reason) is (how is How.SCHEME)


@pytest.mark.parametrize(
    ("release", "flag", "refused"),
    [
        ("0.33.0", "FLASH_ATTN", ("heads of 512",)),
        ("0.26.0", "FLASH_ATTN", ("heads of 512",)),
        ("0.20.0", "FLASHINFER", ("heads of 512",)),
        ("0.33.0", "TRITON_ATTN", ()),
    ],
)
def test_a_forced_backend_is_asked_for_every_size_of_heads(
    release: str, flag: str, refused: tuple[str, ...]
) -> None:
    """vLLM builds each layer's attention apart, and the first one that is refused ends it."""
    found = predict_attentions(
        load_surface(release), GB10, profile=gemma(512), choices=Choices(attention_backend=flag)
    )
    assert tuple(layers for layers, item in found if item.error) == refused
    assert {item.selected for _, item in found if not item.error} <= {flag, ""}
    assert len(found) == 1 + len(refused)


def test_one_size_of_heads_is_asked_once_and_needs_no_words() -> None:
    choices = Choices(attention_backend="FLASH_ATTN")
    found = predict_attentions(load_surface("0.33.0"), GB10, profile=gemma(256), choices=choices)
    assert [(layers, item.selected) for layers, item in found] == [("", "FLASH_ATTN")]


def test_a_device_with_a_kernel_for_all_heads_is_asked_as_ever() -> None:
    found = predict_attention(load_surface("0.33.0"), B200, profile=gemma(512))
    assert found.how is not How.SCHEME


@pytest.mark.parametrize(
    ("release", "refused"), [("0.20.0", {"FLASHINFER_CUTLASS"}), ("0.33.0", set())]
)
def test_gemmas_experts_get_the_activation_that_the_class_of_the_release_gives(
    release: str, refused: set[str]
) -> None:
    """0.20.0 has no tanh form, and its log on a GB10 named TRITON."""
    layer = LayerFormat(LayerClass.EXPERTS, QuantScheme.UNQUANTIZED)
    found = predict(load_surface(release), GB10, layer, profile=gemma(512))
    fate = {step.backend: step.outcome for step in found.steps}
    asked = ("FLASHINFER_CUTLASS", "TRITON")
    assert {name for name in asked if fate[name] is Outcome.REFUSED} == refused


def test_a_class_that_takes_a_backend_of_its_own_is_not_said_to_take_the_generic_one() -> None:
    profile = CheckpointProfile("m", ("DeepseekV4ForCausalLM",), "deepseek_v4", "fp8", ())
    found = predict_attention(load_surface("0.33.0"), GB10, profile=profile)
    assert (found.selected, found.how, found.steps) == ("", How.NONE, ())
    assert "sparse backend of its own" in found.reason
