"""Every scheme that has an oracle, from checkpoints that real tools wrote, on vLLM 0.33.0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.usecases.configs import GPT_OSS

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.prediction import Prediction
from sparkproof.core.results.select import Fate
from sparkproof.facts.backend import Speed
from sparkproof.usecases.select import select

QUANTIZED = Path(__file__).parents[2] / "data" / "checkpoints" / "quantized"
PICKS = [
    ("ct-dense-w4a16", "mlp", "MarlinLinearKernel"),
    ("ct-dense-w4a16-asym", "mlp", "MarlinLinearKernel"),
    ("ct-dense-w8a16", "mlp", "MarlinLinearKernel"),
    ("ct-dense-w8a8", "mlp", "CutlassInt8ScaledMMLinearKernel"),
    ("ar-dense-awq-4", "mlp", "MarlinLinearKernel"),
    ("ar-dense-gptq-8", "mlp", "MarlinLinearKernel"),
    ("ar-moe-autoround-4", "experts", "MARLIN"),
    ("ct-dense-mxfp4", "mlp", "FlashInferMxFp4LinearKernel"),
    ("ct-dense-mxfp4a16", "mlp", "MarlinMxFp4LinearKernel"),
    ("ct-dense-mxfp8", "mlp", "FlashInferCutlassMxfp8LinearKernel"),
    ("ct-dense-nvfp4", "mlp", "FlashInferCutlassNvFp4LinearKernel"),
    ("ct-dense-nvfp4a16", "mlp", "MarlinNvFp4LinearKernel"),
    ("ct-dense-fp8-dynamic", "mlp", "CutlassFP8ScaledMMLinearKernel"),
    ("ct-moe-nvfp4", "experts", "FLASHINFER_CUTLASS"),
    ("ct-moe-nvfp4a16", "experts", "MARLIN"),
    ("mo-moe-nvfp4", "experts", "FLASHINFER_CUTLASS"),
]
LATENT = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "num_hidden_layers": 2,
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "n_routed_experts": 64,
    "num_experts_per_tok": 4,
    "first_k_dense_replace": 1,
    "moe_intermediate_size": 1408,
}


def pick(checkpoint: Path, subject: str, *args: str, release: str = "0.33.0") -> Prediction:
    deployment = Deployment(
        checkpoint=str(checkpoint), args=args, box=Box(nvcc=True, ninja=True), name="x"
    )
    result = select([deployment], vllm=release, offline=True).result
    assert result is not None
    (branch,) = result.columns[0].branches
    found = next(item.proof.prediction for item in branch.layers if item.proof.subject == subject)
    assert found is not None
    return found


def written(folder: Path, config: dict[str, object]) -> Path:
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("build", "subject", "backend"), PICKS)
def test_what_a_real_build_gets_on_gb10(build: str, subject: str, backend: str) -> None:
    assert pick(QUANTIZED / build, subject).selected == backend


def test_gpt_oss_gets_marlin_since_it_stands_before_triton(tmp_path: Path) -> None:
    found = pick(written(tmp_path, GPT_OSS), "experts")
    assert found.selected == "MARLIN"
    assert found.oracle == "moe/mxfp4"


def test_attention_sinks_leave_few_backends(tmp_path: Path) -> None:
    found = pick(written(tmp_path, GPT_OSS), "attention-kernel")
    refused = {step.backend: step.reason for step in found.steps}
    assert refused["FLASH_ATTN"].startswith("attention sinks not supported")


def test_a_pick_that_hangs_on_the_network_names_the_function(tmp_path: Path) -> None:
    checkpoint = written(tmp_path, GPT_OSS)
    open_pick = pick(checkpoint, "attention-kernel")
    assert open_pick.selected == ""
    assert open_pick.reason.startswith("depends on has_nvidia_artifactory(): ")
    avoided = pick(checkpoint, "attention-kernel", "--attention-backend", "triton_attn")
    refused = pick(checkpoint, "attention-kernel", "--attention-config.use_trtllm_attention", "0")
    assert (avoided.selected, refused.selected) == ("TRITON_ATTN", "TRITON_ATTN")


def test_a_box_with_the_kernels_settles_it(tmp_path: Path) -> None:
    box = Box(nvcc=True, ninja=True, packages={"flashinfer-cubin": "0.7.2"})
    deployment = Deployment(checkpoint=str(written(tmp_path, GPT_OSS)), box=box, name="x")
    report = select([deployment], vllm="0.33.0", offline=True)
    assert "deliver/not-examined" not in {item.rule for item in report.findings if item.remedy}
    assert report.result is not None
    (branch,) = report.result.columns[0].branches
    proofs = {item.proof.subject: item.proof.prediction for item in branch.layers}
    found = proofs["attention-kernel"]
    assert found is not None
    assert found.selected == "FLASHINFER"


def test_a_question_to_the_network_comes_with_both_ways_out(tmp_path: Path) -> None:
    box = Box(nvcc=True, ninja=True)
    deployment = Deployment(checkpoint=str(written(tmp_path, GPT_OSS)), box=box, name="x")
    found = select([deployment], vllm="0.33.0", offline=True).findings
    (told,) = [item.remedy for item in found if "has_nvidia_artifactory" in item.message]
    assert "--package flashinfer-cubin=VERSION" in told
    assert "--attention-backend TRITON_ATTN" in told


@pytest.mark.parametrize("release", ["0.24.0", "0.33.0"])
def test_latent_attention_has_an_order_of_its_own(tmp_path: Path, release: str) -> None:
    found = pick(written(tmp_path, LATENT), "attention-kernel", release=release)
    assert (found.oracle, found.selected) == ("attention/mla", "TRITON_MLA")


def test_a_backend_outside_every_order_can_be_named(tmp_path: Path) -> None:
    found = pick(QUANTIZED / "ct-dense-nvfp4", "attention-kernel", "--attention-backend", "B12X")
    assert [step.backend for step in found.steps if "B12X" in step.backend] == ["B12X"]
    assert found.selected in ("", "B12X")


def test_every_speed_has_its_word() -> None:
    words = {fate.value for fate in Fate}
    assert {speed.value for speed in Speed} - {Speed.EMULATION.value} <= words
