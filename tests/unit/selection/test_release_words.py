"""What a release's own tables and rules add to the settings of a model."""

from __future__ import annotations

import msgspec
import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import TRUE, Setting, all_of
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.observations.release_parts import ConfigRule, RuleCase
from sparkproof.core.observations.release_surface import QuantKey, ReleaseSurface, Source
from sparkproof.facts.model_traits import routing_of
from sparkproof.selection.release_words import with_release_words

HERE = Source("config.py", 1)
B200 = ComputeCapability(10, 0)
CASES = (
    RuleCase(all_of((Setting("has_e_score_bias"), Setting("num_expert_group"))), "Method.GROUPED"),
    RuleCase(
        all_of((Setting("scoring_func", "==", "softmax"), Setting("renormalize"))), "Method.R"
    ),
    RuleCase(TRUE, "Method.PLAIN"),
)
SURFACE = ReleaseSurface(
    "1",
    HERE,
    quant_keys=(QuantKey("kSled", (("scale2", None), ("scale.static", True))),),
    routing=ConfigRule("moe/routing-method", CASES, HERE),
)


def profile(architecture: str, **routing: str | int | bool) -> CheckpointProfile:
    return CheckpointProfile("m", (architecture,), "x", "", (), routing=dict(routing))


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (profile("Qwen3MoeForCausalLM", norm_topk_prob=True), "Method.R"),
        (profile("Qwen3MoeForCausalLM"), "Method.PLAIN"),
        (profile("Qwen3NextForCausalLM"), "Method.R"),
        (profile("DeepseekV3ForCausalLM", topk_method="noaux_tc", n_group=8), "Method.GROUPED"),
        (profile("DeepseekV3ForCausalLM", topk_method="greedy", n_group=8), "Method.R"),
        (profile("NoSuchForCausalLM"), None),
    ],
)
def test_the_release_names_the_method_of_a_models_router(
    model: CheckpointProfile, method: str | None
) -> None:
    found = with_release_words({}, SURFACE, B200, model)
    assert found.get("moe.routing_method") == method


def test_a_rule_that_could_not_be_read_leaves_the_method_open() -> None:
    unread = msgspec.structs.replace(SURFACE, routing=None)
    model = profile("Qwen3NextForCausalLM")
    assert "moe.routing_method" not in with_release_words({}, unread, B200, model)


def test_a_key_brings_its_parts_and_a_stated_setting_stays() -> None:
    stated = {"weight_key": "kSled", "activation_key": None, "moe.router_logits_dtype": "x"}
    found = with_release_words(dict(stated), SURFACE, B200, profile("MixtralForCausalLM"))
    assert found["weight_key.scale.static"] is True
    assert found["weight_key.scale2"] is None
    assert found["moe.router_logits_dtype"] == "x"
    assert "activation_key.scale.static" not in found


def test_a_class_may_give_its_router_a_fixed_value() -> None:
    given = routing_of(("MiniMaxM2ForCausalLM",), {"use_routing_bias": True})
    assert (given["scoring_func"], given["has_e_score_bias"]) == ("sigmoid", True)
    assert routing_of(("LlamaForCausalLM",), {}) == {}


@pytest.mark.parametrize(
    ("method", "named", "key"),
    [
        ("awq", ("kFour",), "kFour"),
        ("awq_marlin", ("kFour", "kFourAsym"), "kFourAsym"),
        ("awq", (), "kFourAsym"),
        ("compressed-tensors", ("kFour",), "kFourAsym"),
    ],
)
def test_zero_points_of_awq_go_by_the_plain_key_where_the_release_has_no_other(
    method: str, named: tuple[str, ...], key: str
) -> None:
    surface = msgspec.structs.replace(
        SURFACE, quant_keys=tuple(QuantKey(name, ()) for name in named)
    )
    model = CheckpointProfile("m", (), "x", method, ())
    found = with_release_words({"weight_key": "kFourAsym"}, surface, B200, model)
    assert found["weight_key"] == key
