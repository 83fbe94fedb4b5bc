"""What releases make of a declaration, and what it means for an operator."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.checkpoint.profiles import profile

from sparkproof.checkpoint.effective import EffectiveFormat, effective_formats
from sparkproof.checkpoint.rules import judge_checkpoint
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, LayerClass, Note
from sparkproof.core.observations.stored_tensors import StoredTensors
from sparkproof.facts.book import rules
from sparkproof.facts.loader_rules import loader_rules
from sparkproof.facts.model_families import model_families
from sparkproof.facts.quant_schemes import quant_schemes
from sparkproof.testing.checkpoints import (
    FP4,
    FP4_LOCAL,
    FP8_CHANNEL,
    FP8_TOKEN,
    QWEN3,
    QWEN3_5_MOE,
    QWEN3_MOE,
    compressed_tensors,
    config_group,
    modelopt,
)


def read_as(found: CheckpointProfile, version: str, wanted: LayerClass) -> EffectiveFormat:
    [item] = [
        item for item in effective_formats(found, version) if item.declared.layer_class is wanted
    ]
    return item


@pytest.mark.parametrize(
    ("version", "scheme"),
    [
        ("0.20.2", "unquantized"),
        ("0.22.0", "unquantized"),
        ("0.23.0", "nvfp4-w4a4"),
        ("0.33.0", "nvfp4-w4a4"),
        ("0.23.0rc1", "unknown"),
        ("0.22.1.dev7", "unquantized"),
        ("0.23.0.post1", "nvfp4-w4a4"),
        ("0.23.1rc1+g12", "nvfp4-w4a4"),
        ("0.33.1.dev3+g1", "nvfp4-w4a4"),
    ],
)
def test_modelopt_output_layer_changes_with_the_release(version: str, scheme: str) -> None:
    found = profile(QWEN3_MOE, modelopt("NVFP4", exclude=()))
    assert read_as(found, version, LayerClass.LM_HEAD).effective.scheme == scheme


@pytest.mark.parametrize("version", ["0.20.0", "0.33.0"])
def test_a_class_target_does_not_reach_the_output_layer(version: str) -> None:
    by_class = profile(QWEN3, compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=()))
    item = read_as(by_class, version, LayerClass.LM_HEAD)
    assert (item.declared.scheme, item.effective.scheme) == ("nvfp4-w4a4", "unquantized")
    by_name = profile(
        QWEN3, compressed_tensors(config_group(FP4, FP4_LOCAL, "Linear", "lm_head"), ignore=())
    )
    assert read_as(by_name, version, LayerClass.LM_HEAD).effective.scheme == "nvfp4-w4a4"


@pytest.mark.parametrize(
    ("version", "scheme"), [("0.28.0", "nvfp4-w4a4"), ("0.29.0", "nvfp4-w4a16")]
)
def test_null_activations_change_with_the_release(version: str, scheme: str) -> None:
    found = profile(QWEN3, modelopt("NVFP4", config_groups={"g": config_group(FP4, None)}))
    assert read_as(found, version, LayerClass.MLP).effective.scheme == scheme


def test_refusals() -> None:
    found = profile(QWEN3, modelopt("W4A16_NVFP4"))
    assert "ValueError" in read_as(found, "0.20.0", LayerClass.MLP).refusal
    assert not read_as(found, "0.22.0", LayerClass.MLP).refusal
    grouped = {**FP4, "strategy": "group"}
    odd = profile(QWEN3, compressed_tensors(config_group(grouped, None)))
    assert "refuses to start" in read_as(odd, "0.33.0", LayerClass.MLP).refusal


def test_no_version() -> None:
    with pytest.raises(UsageError, match="latest"):
        effective_formats(profile(QWEN3), "latest")


IGNORED = ("lm_head", "re:.*visual.*", "re:^mtp.*", "re:.*mlp.gate$")
SAYINGS: dict[str, tuple[CheckpointProfile, str, str]] = {
    "lm-head-4bit": (
        profile(
            QWEN3, compressed_tensors(config_group(FP4, FP4_LOCAL, "Linear", "lm_head"), ignore=())
        ),
        "0.33.0",
        "auto",
    ),
    "w4a16-called-nvfp4": (
        profile(QWEN3, compressed_tensors(config_group(FP4, None))),
        "0.33.0",
        "auto",
    ),
    "sources-disagree": (
        profile(QWEN3, modelopt("NVFP4"), {"quantization": {"quant_algo": "FP8"}}),
        "0.33.0",
        "auto",
    ),
    "kv-scales-missing": (profile(QWEN3), "0.33.0", "fp8"),
    "kv-scales-declared": (
        profile(QWEN3, modelopt("NVFP4", kv_cache_scheme={"num_bits": 8, "type": "float"})),
        "0.33.0",
        "auto",
    ),
    "experts-unquantized": (
        profile(
            QWEN3_MOE,
            compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=("lm_head", "re:.*mlp.*")),
        ),
        "0.33.0",
        "auto",
    ),
    "draft-format": (
        profile(QWEN3_5_MOE, compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=IGNORED)),
        "0.33.0",
        "auto",
    ),
    "split-fusion": (
        profile(
            QWEN3,
            compressed_tensors(
                config_group(FP4, FP4_LOCAL), config_group(FP8_CHANNEL, FP8_TOKEN, "re:.*gate_proj")
            ),
        ),
        "0.33.0",
        "auto",
    ),
    "entry-not-exact": (
        profile(
            QWEN3_5_MOE,
            compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=("lm_head", "mtp.layers")),
        ),
        "0.33.0",
        "auto",
    ),
    "names-differ": (
        profile(
            QWEN3_5_MOE, compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=("re:visual.*",))
        ),
        "0.33.0",
        "auto",
    ),
    "read-otherwise": (profile(QWEN3, modelopt("NVFP4", exclude=())), "0.22.0", "auto"),
    "refused": (profile(QWEN3, modelopt("W4A16_NVFP4")), "0.20.0", "auto"),
    "no-such-module": (
        profile(
            QWEN3,
            modelopt(
                "MIXED_PRECISION",
                quantized_layers={
                    "model.layers.0.mlp.gate_proj": {"quant_algo": "FP8"},
                    "model.layers.0.novel": {"quant_algo": "FP8"},
                },
            ),
        ),
        "0.33.0",
        "auto",
    ),
    "experts-borrowed": (
        profile(
            QWEN3_5_MOE,
            modelopt(
                "MIXED_PRECISION",
                quantized_layers={
                    "model.language_model.layers.0.mlp.shared_expert.down_proj": {
                        "quant_algo": "FP8"
                    }
                },
            ),
        ),
        "0.33.0",
        "auto",
    ),
    "shards-borrowed": (
        profile(
            QWEN3_MOE,
            modelopt(
                "MIXED_PRECISION",
                quantized_layers={"model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"}},
            ),
        ),
        "0.33.0",
        "auto",
    ),
    "reconstructed": (profile({**QWEN3, "_sparkproof": {"sources": ["a"]}}), "0.33.0", "auto"),
    "kv-scales-absent": (
        msgspec.structs.replace(
            profile(QWEN3), kv_cache_scheme="fp8 static", stored=StoredTensors(1, 9, 9, 9)
        ),
        "0.33.0",
        "auto",
    ),
    **{
        kind: (
            msgspec.structs.replace(profile(QWEN3), notes=(Note(kind, "something is amiss"),)),
            "0.33.0",
            "auto",
        )
        for kind in (
            "stored-otherwise",
            "shape-differs",
            "scales-missing",
            "input-scales-missing",
            "draft-missing",
            "stored-twice",
            "shard-missing",
            "shard-damaged",
        )
    },
}


@pytest.mark.parametrize("slug", sorted(SAYINGS))
def test_rule_fires_and_has_its_page(slug: str) -> None:
    found, version, kv_cache_dtype = SAYINGS[slug]
    findings = judge_checkpoint(found, effective_formats(found, version), kv_cache_dtype)
    [finding] = [each for each in findings if each.rule == f"checkpoint/{slug}"][:1]
    rule = rules()[finding.rule]
    assert finding.severity is rule.severity
    assert finding.message == finding.message.strip()
    assert not finding.message.endswith(".")
    assert finding.remedy


def test_every_rule_of_the_family_is_exercised() -> None:
    listed = {id_ for id_ in rules() if id_.startswith("checkpoint/")}
    assert listed == {f"checkpoint/{slug}" for slug in SAYINGS}


def test_a_plain_checkpoint_has_no_findings() -> None:
    found = profile(QWEN3_MOE)
    assert judge_checkpoint(found, effective_formats(found, "0.33.0")) == ()
    good = profile(QWEN3, compressed_tensors(config_group(FP4, FP4_LOCAL)))
    assert judge_checkpoint(good, effective_formats(good, "0.33.0")) == ()


def test_facts_are_complete() -> None:
    assert len({rule.id for rule in loader_rules()}) == len(loader_rules())
    assert all(rule.source for rule in loader_rules())
    assert all(family.source for family in model_families().values())
    assert all(scheme.source for scheme in quant_schemes().values())
    named = {name for family in model_families().values() for name in family.architectures}
    assert {"Qwen3_5MoeForConditionalGeneration", "NemotronHForCausalLM"} <= named
    for rule in loader_rules():
        assert set(rule.families) <= set(model_families())
        assert rule.becomes or rule.refusal
