"""Architectures in the book: which of their layers a declaration reaches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.checkpoint.profiles import profile, schemes

from sparkproof.checkpoint.layout import lay_out
from sparkproof.core.observations.checkpoint_profile import LayerClass
from sparkproof.facts.model_families import On, model_families
from sparkproof.formats.hf_config import ModelConfig
from sparkproof.formats.hf_experts import ExpertLayers
from sparkproof.testing.checkpoints import FP4, FP4_LOCAL, compressed_tensors, config_group

MODELOPT: Mapping[str, Any] = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
LLAMA4: Mapping[str, Any] = {
    "architectures": ["Llama4ForConditionalGeneration"],
    "model_type": "llama4",
    "text_config": {
        "model_type": "llama4_text",
        "num_hidden_layers": 4,
        "num_local_experts": 16,
        "interleave_moe_layer_step": 2,
    },
    "vision_config": {"hidden_size": 64},
}
KIMI: Mapping[str, Any] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "text_config": {
        "num_hidden_layers": 3,
        "first_k_dense_replace": 1,
        "n_routed_experts": 8,
        "n_shared_experts": 1,
    },
    "vision_config": {"hidden_size": 64},
}
GRANITE: Mapping[str, Any] = {
    "architectures": ["GraniteMoeHybridForCausalLM"],
    "model_type": "granitemoehybrid",
    "num_hidden_layers": 4,
    "layer_types": ["mamba", "mamba", "mamba", "attention"],
    "shared_intermediate_size": 64,
}


@pytest.mark.parametrize("name", sorted(model_families()))
def test_every_part_of_a_family_is_found_in_a_model_that_has_all(name: str) -> None:
    family = model_families()[name]
    kinds = {part.on for part in family.parts}
    both = On.LINEAR in kinds and On.ATTENTION in kinds
    for architecture, body in family.architectures.items():
        config = ModelConfig(
            where="config.json",
            architectures=(architecture,),
            num_layers=2,
            layer_types=("hybrid",) * 2 if both else ("mamba",) * 2 if On.LINEAR in kinds else (),
            num_experts=4,
            expert_layers=ExpertLayers(first=1),
            shared_expert=True,
            draft_layers=1,
            vision=True,
        )
        found = lay_out(config, ())
        assert (found.family, found.guess) == (name, "")
        assert {m.layer_class for m in found.modules} == {p.layer_class for p in family.parts}
        inside = [m.name for m in found.modules if m.layer >= 0]
        assert all(item.startswith(f"{body}layers.") for item in inside)


def test_the_tower_of_llama_4_is_built_without_the_declaration() -> None:
    found = profile(LLAMA4, {**MODELOPT, "exclude_modules": ["*router*", "*self_attn*"]})
    assert schemes(found, LayerClass.VISION) == [("unquantized", "")]
    assert schemes(found, LayerClass.SHARED_EXPERT) == [("nvfp4-w4a4", "")]
    assert schemes(found, LayerClass.MLP) == [("nvfp4-w4a4", "")]
    assert found.guess == ""


def test_the_tower_of_kimi_is_built_without_one_kind_of_declaration() -> None:
    ignore = ("re:.*shared_experts.*", "lm_head")
    found = profile(KIMI, compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=ignore))
    assert schemes(found, LayerClass.VISION) == [("unquantized", "")]
    assert schemes(found, LayerClass.SHARED_EXPERT) == [("unquantized", "")]
    assert schemes(found, LayerClass.EXPERTS) == [("nvfp4-w4a4", "")]
    assert schemes(profile(KIMI, MODELOPT), LayerClass.VISION) == [("nvfp4-w4a4", "")]


def test_a_hybrid_with_experts_in_every_layer() -> None:
    found = profile({**GRANITE, "num_local_experts": 8}, MODELOPT)
    for layer_class in (LayerClass.EXPERTS, LayerClass.SHARED_EXPERT, LayerClass.LINEAR_ATTENTION):
        assert schemes(found, layer_class) == [("nvfp4-w4a4", "")]
    assert not found.of(LayerClass.MLP)
    dense = profile(GRANITE, MODELOPT)
    assert schemes(dense, LayerClass.MLP) == [("nvfp4-w4a4", "")]
    assert not dense.of(LayerClass.EXPERTS)


@pytest.mark.parametrize("entry", ["block_sparse_moe.experts", "experts"])
def test_experts_that_lie_in_one_tensor_are_known_by_the_name_of_the_module(entry: str) -> None:
    block = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
    model = {**GRANITE, "num_local_experts": 8}
    found = profile(model, {**block, "modules_to_not_convert": [entry]})
    assert schemes(found, LayerClass.EXPERTS) == [("unquantized", "")]
