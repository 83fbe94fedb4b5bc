"""A pick on a guess of which layers there are is no answer, and says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.report import Report
from sparkproof.core.results.proof import LayerProof
from sparkproof.core.results.select import SelectResult
from sparkproof.core.verdict import Verdict
from sparkproof.facts.model_families import find_family
from sparkproof.testing.checkpoints import FP4, FP4_LOCAL, compressed_tensors, config_group
from sparkproof.usecases.select import select

UNBOOKED: Mapping[str, Any] = {
    "architectures": ["DbrxForCausalLM"],
    "model_type": "novel",
    "num_hidden_layers": 4,
    "hidden_size": 512,
    "num_attention_heads": 8,
    "head_dim": 128,
}
LLAMA = {**UNBOOKED, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}
QUANTIZED = {"quantization_config": compressed_tensors(config_group(FP4, FP4_LOCAL))}
MAMBA: Mapping[str, Any] = {
    "architectures": ["Mamba2ForCausalLM"],
    "model_type": "mamba2",
    "num_hidden_layers": 4,
    "hidden_size": 512,
    "state_size": 128,
    "num_heads": 16,
    "head_dim": 64,
    "n_groups": 8,
    "conv_kernel": 4,
    "expand": 2,
}


def asked(
    folder: Path, config: Mapping[str, Any], vllm: str = "0.33.0", args: tuple[str, ...] = ()
) -> Report[SelectResult]:
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    box = Box(nvcc=True, ninja=True)
    return select([Deployment(checkpoint=str(folder), box=box, args=args)], vllm=vllm)


def rows(report: Report[SelectResult]) -> dict[str, LayerProof]:
    assert report.result is not None
    (branch,) = report.result.columns[0].branches
    return {item.proof.subject: item.proof for item in branch.layers}


def guessed(report: Report[SelectResult]) -> str:
    return "; ".join(f.subject for f in report.findings if f.rule == "select/guessed")


def test_the_layers_of_an_architecture_that_is_not_in_the_book(tmp_path: Path) -> None:
    assert find_family(("DbrxForCausalLM",), "novel") is None
    report = asked(tmp_path, {**UNBOOKED, **QUANTIZED})
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "DbrxForCausalLM is not in the book" in report.summary
    attention = rows(report)["attention"]
    assert (attention.verdict, attention.scheme) == (Verdict.INCONCLUSIVE, "nvfp4-w4a4")
    assert attention.prediction is not None
    assert attention.prediction.selected  # what it would be is told all the same


def test_its_experts_are_guessed_without_quantization_too(tmp_path: Path) -> None:
    report = asked(tmp_path, {**UNBOOKED, "num_local_experts": 8})
    assert guessed(report) == "experts"
    assert rows(report)["attention"].verdict is Verdict.SKIPPED
    uncounted = {k: v for k, v in UNBOOKED.items() if k != "num_hidden_layers"}
    assert "experts" in guessed(asked(tmp_path, {**uncounted, "n_routed_experts": 8}))


def test_dense_layers_without_quantization_run_the_same_wherever_they_are(tmp_path: Path) -> None:
    report = asked(tmp_path, UNBOOKED)
    assert report.verdict in (Verdict.PASS, Verdict.SKIPPED)
    assert guessed(report) == ""


def test_what_is_declared_of_no_layer_that_could_be_found(tmp_path: Path) -> None:
    block = compressed_tensors(config_group(FP4, FP4_LOCAL, "re:.*blocks.*ffn$"), ignore=())
    report = asked(tmp_path, {**UNBOOKED, "quantization_config": block})
    assert (report.verdict, guessed(report)) == (Verdict.INCONCLUSIVE, "layers")


def test_attention_of_a_pooling_model_and_of_none_at_all(tmp_path: Path) -> None:
    pooling = {**UNBOOKED, "architectures": ["BertModel"], "model_type": "bert"}
    report = asked(tmp_path, pooling)
    assert (report.verdict, guessed(report)) == (Verdict.INCONCLUSIVE, "attention-kernel")
    nothing = {k: v for k, v in UNBOOKED.items() if k != "architectures"}
    assert guessed(asked(tmp_path, nothing)) == "attention-kernel"


def test_a_model_of_states_alone_gets_no_attention(tmp_path: Path) -> None:
    found = rows(asked(tmp_path, MAMBA))
    assert "linear-attention" in found
    assert not {"attention", "attention-kernel", "mlp"} & set(found)


def test_a_method_that_the_release_dropped(tmp_path: Path) -> None:
    """0.30.0 took bitsandbytes out of its list."""
    config = {**MAMBA, "quantization_config": {"quant_method": "bitsandbytes"}}
    report = asked(tmp_path, config)
    assert report.verdict is Verdict.FAIL
    assert "no quantization method `bitsandbytes`" in report.summary
    assert "select/quantization-refused" in {f.rule for f in report.findings}
    before = asked(tmp_path, config, vllm="0.26.0")
    assert before.verdict is Verdict.INCONCLUSIVE
    assert "can't be told: quant_method bitsandbytes" in before.summary


@pytest.mark.parametrize("method", ["awq", "gptq", "auto-round", "fp8", "modelopt", "mxfp4"])
def test_methods_that_its_list_has_under_this_or_another_name(tmp_path: Path, method: str) -> None:
    report = asked(tmp_path, {**MAMBA, "quantization_config": {"quant_method": method, "bits": 4}})
    assert "quantization" not in rows(report)


def test_what_the_artifact_delivers_is_no_reason_to_skip_the_picks(tmp_path: Path) -> None:
    for more in ({}, {"num_local_experts": 8}):
        report = asked(tmp_path, {**LLAMA, **more})
        assert report.verdict is Verdict.PASS


def test_a_flag_that_is_refused_is_best_left_out(tmp_path: Path) -> None:
    """Before anything else is forced, and with the holes of vLLM's message filled."""
    words = ("--linear-backend", "flashinfer_b12x")
    config = {**LLAMA, **QUANTIZED}
    report = asked(tmp_path, config, "0.26.0", words)
    assert report.verdict is Verdict.FAIL
    assert report.next_steps == ("it passes without --linear-backend flashinfer_b12x",)
    joined = asked(tmp_path, config, "0.26.0", ("=".join(words),))
    assert joined.next_steps == ("it passes without --linear-backend=flashinfer_b12x",)
    message = asked(tmp_path, LLAMA, args=("--attention-backend", "FLASHMLA")).summary
    assert "Selected backend FLASHMLA is not valid" in message
    assert "Reason: [FLASHMLA: head_size not supported" in message
    assert "…" not in message


@pytest.mark.parametrize(
    ("overrides", "changed"),
    [
        ('{"quantization_config": null}', "quantization_config"),
        ('{"text_config": {"num_experts": 1}, "rope_theta": 1}', "text_config"),
        ('{"rope_scaling": {"rope_type": "yarn"}, "max_position_embeddings": 9}', ""),
    ],
)
def test_a_config_that_flags_change(tmp_path: Path, overrides: str, changed: str) -> None:
    found = rows(asked(tmp_path, LLAMA, args=("--hf-overrides", overrides)))
    assert ("config" in found) is bool(changed)
    if changed:
        assert found["config"].verdict is Verdict.INCONCLUSIVE
        assert found["config"].reason.endswith(f"changes {changed}")
