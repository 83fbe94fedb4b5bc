"""Small models that llm-compressor, ModelOpt and AutoRound wrote: declared and stored agree."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from sparkproof.checkpoint.effective import effective_formats
from sparkproof.checkpoint.read import WANTED, read_checkpoint
from sparkproof.checkpoint.rules import judge_checkpoint
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, LayerClass
from sparkproof.core.observations.stored_tensors import StoredTensors
from sparkproof.formats.safetensors import StoredTensor, parse_header

DATA = Path(__file__).parents[2] / "data" / "checkpoints" / "quantized"
ROWS = tomllib.loads((DATA / "MANIFEST.toml").read_text())["fixtures"]
SIZES: dict[str, int] = {
    row["file"].split("/")[0]: row["whole_bytes"] for row in ROWS if "whole_bytes" in row
}
SCHEMES = {
    "ar-dense-awq-4": "int4-w4a16",
    "ar-dense-gptq-4": "int4-w4a16",
    "ar-dense-gptq-8": "int8-w8a16",
    "ar-moe-autoround-4": "int4-w4a16",
    "ct-dense-fp8-block": "fp8-block",
    "ct-dense-fp8-dynamic": "fp8-channel",
    "ct-dense-fp8-static": "fp8-tensor",
    "ct-dense-lmhead": "nvfp4-w4a16",
    "ct-dense-mxfp4": "mxfp4",
    "ct-dense-mxfp4a16": "mxfp4",
    "ct-dense-mxfp8": "mxfp8",
    "ct-dense-nvfp4": "nvfp4-w4a4",
    "ct-dense-nvfp4a16": "nvfp4-w4a16",
    "ct-dense-w4a16": "int4-w4a16",
    "ct-dense-w4a16-asym": "int4-w4a16",
    "ct-dense-w4afp8": "int4-w4a8",
    "ct-dense-w8a16": "int8-w8a16",
    "ct-dense-w8a8": "int8-w8a8",
    "ct-moe-mixed": "nvfp4-w4a4",
    "ct-moe-nvfp4": "nvfp4-w4a4",
    "ct-moe-nvfp4a16": "nvfp4-w4a16",
    "mo-dense-fp8": "fp8-tensor",
    "mo-dense-fp8-pb-wo": "fp8-block",
    "mo-dense-fp8-pc-pt": "fp8-channel",
    "mo-dense-int4-awq": "unknown",
    "mo-dense-mxfp8": "mxfp8",
    "mo-dense-nvfp4-kv": "nvfp4-w4a4",
    "mo-dense-w4a16": "nvfp4-w4a16",
    "mo-moe-mixed": "nvfp4-w4a4",
    "mo-moe-mlp-only": "nvfp4-w4a4",
    "mo-moe-nvfp4": "nvfp4-w4a4",
}
KNOWN = sorted(name for name, scheme in SCHEMES.items() if scheme != "unknown")
BODY = {LayerClass.MLP, LayerClass.EXPERTS}
DENSE_PARAMETERS = 2 * (256 * 64 * (4 + 2 + 2 + 4) + 3 * 256 * 512) + 2 * 512 * 256


def read(name: str, **change: Any) -> CheckpointProfile:
    folder = DATA / name
    files = {n: (folder / n).read_bytes() for n in WANTED if (folder / n).exists()}
    head = parse_header(
        (folder / "model.safetensors.head").read_bytes(), SIZES[name], "model.safetensors"
    )
    for start, tensor in change.items():
        for found in [n for n in head.tensors if n.endswith(start)]:
            del head.tensors[found]
            if tensor is not None:
                head.tensors[found] = tensor
    return read_checkpoint(files, name, [head])


def stored(found: CheckpointProfile) -> StoredTensors:
    assert found.stored is not None
    return found.stored


def rules(found: CheckpointProfile) -> list[str]:
    return [finding.rule.removeprefix("checkpoint/") for finding in judge_checkpoint(found)]


def test_every_model_is_in_the_table() -> None:
    assert set(SIZES) == set(SCHEMES)


@pytest.mark.parametrize("name", KNOWN)
def test_stored_as_declared(name: str) -> None:
    found = stored(read(name))
    assert [item for item in found.formats if not item.agrees] == []
    assert {item.scheme for item in found.formats if item.layer_class in BODY} == {SCHEMES[name]}
    assert (found.notes, found.unknowns) == ((), ())
    assert found.bytes + (DATA / name / "model.safetensors.head").stat().st_size == SIZES[name]


@pytest.mark.parametrize("name", [name for name in KNOWN if "dense" in name])
def test_parameters_are_counted_unpacked(name: str) -> None:
    assert stored(read(name)).parameters == DENSE_PARAMETERS


@pytest.mark.parametrize("name", KNOWN)
def test_what_a_token_reads(name: str) -> None:
    found = stored(read(name))
    experts = sum(item.bytes for item in found.of(LayerClass.EXPERTS))
    [embedding] = found.of(LayerClass.EMBEDDING)
    assert embedding.read_bytes == 256 * 2
    assert found.read_bytes == found.bytes - experts // 2 - embedding.bytes + 512


def test_an_unknown_packing_is_shown_and_not_guessed() -> None:
    found = read("mo-dense-int4-awq")
    assert {f.scheme for f in stored(found).of(LayerClass.MLP)} == {"unknown"}
    assert any("pre_quant_scale BF16 512" in unknown.why for unknown in found.unknowns)


@pytest.mark.parametrize(("name", "scales"), [("ct-dense-fp8-static", 4), ("mo-dense-nvfp4-kv", 4)])
def test_scales_of_keys_and_values(name: str, scales: int) -> None:
    found = read(name)
    assert stored(found).kv_scales == scales
    assert "kv-scales-declared" in rules(found)
    without = read(name, k_scale=None, v_scale=None)
    assert stored(without).kv_scales == 0
    assert "kv-scales-absent" in rules(without)


def test_a_draft_that_was_dropped() -> None:
    folder = DATA / "ct-moe-nvfp4"
    config = (folder / "config.json").read_bytes().replace(b"{", b'{"mtp_num_hidden_layers": 1,', 1)
    head = parse_header((folder / "model.safetensors.head").read_bytes(), SIZES[folder.name], "x")
    found = read_checkpoint({"config.json": config}, "x", [head])
    assert "draft-missing" in rules(found)


@pytest.mark.parametrize(
    ("change", "rule", "what"),
    [
        ({"0.mlp.down_proj.weight_scale": None}, "scales-missing", "scales missing"),
        (
            {"0.mlp.down_proj.input_global_scale": None},
            "input-scales-missing",
            "activations are declared fp4 and 1 modules",
        ),
        (
            {"mlp.down_proj.weight_global_scale": None},
            "scales-missing",
            "global scales missing in 2 places",
        ),
    ],
)
def test_missing_scales(change: dict[str, Any], rule: str, what: str) -> None:
    found = read("ct-dense-nvfp4", **change)
    assert rules(found) == [rule]
    assert what in stored(found).notes[0].what


def test_matrices_of_another_width_than_the_model_has() -> None:
    """Packed twice as tight as declared: types, groups and scales agree with each other."""
    name = "layers.0.self_attn.q_proj"
    found = read(
        "ct-dense-nvfp4",
        **{
            f"{name}.weight_packed": StoredTensor("U8", (256, 64), (0, 256 * 64)),
            f"{name}.weight_scale": StoredTensor("F8_E4M3", (256, 8), (0, 256 * 8)),
        },
    )
    [note] = stored(found).notes
    assert (note.kind, note.subject) == ("shape-differs", "attention")
    assert "q_proj is 128 wide and hidden_size 256" in note.what


def test_one_expert_without_its_scale() -> None:
    found = read("mo-moe-nvfp4", **{"0.mlp.experts.3.up_proj.weight_scale_2": None})
    assert [note.what for note in stored(found).notes] == ["1 of 4 global scales missing"]


def test_experts_left_in_16_bits_behind_a_declaration() -> None:
    plain = StoredTensor("BF16", (128, 256), (0, 128 * 256 * 2))
    found = read(
        "ct-moe-nvfp4",
        **{
            "gate_proj.weight_packed": None,
            "gate_proj.weight_scale": None,
            "gate_proj.weight_global_scale": None,
            "gate_proj.input_global_scale": None,
        },
    )
    assert "stored-otherwise" not in rules(found)
    folder = DATA / "ct-moe-nvfp4"
    head = parse_header((folder / "model.safetensors.head").read_bytes(), SIZES[folder.name], "x")
    for name in [n for n in head.tensors if ".experts." in n]:
        del head.tensors[name]
    for at in range(4):
        head.tensors[f"model.layers.0.mlp.experts.{at}.gate_proj.weight"] = plain
    files = {"config.json": (folder / "config.json").read_bytes()}
    found = read_checkpoint(files, "x", [head])
    assert "stored-otherwise" in rules(found)
    [item] = stored(found).of(LayerClass.EXPERTS)
    assert (item.scheme, item.declared, item.modules) == ("unquantized", "nvfp4-w4a4", 4)


def test_what_gptq_leaves_alone_is_taken_from_the_tensors() -> None:
    plain = StoredTensor("BF16", (512, 256), (0, 512 * 256 * 2))
    gone = {f"0.mlp.gate_proj.{leaf}": None for leaf in ("g_idx", "qweight", "qzeros", "scales")}
    folder = DATA / "ar-dense-gptq-4"
    head = parse_header((folder / "model.safetensors.head").read_bytes(), SIZES[folder.name], "x")
    for end in gone:
        del head.tensors[f"model.layers.{end}"]
    head.tensors["model.layers.0.mlp.gate_proj.weight"] = plain
    files = {"config.json": (folder / "config.json").read_bytes()}
    found = read_checkpoint(files, "x", [head])
    assert stored(found).notes == ()
    declared = {(i.scheme.value, i.layers) for i in found.of(LayerClass.MLP)}
    assert ("unquantized", "gate_proj of layer 0") in declared


@pytest.mark.parametrize("release", ["0.33.0", "0.22.0", "0.19.1"])
def test_a_packed_output_layer_that_no_target_names(release: str) -> None:
    """llm-compressor quantizes it under the target `Linear`; vLLM builds it in 16 bits."""
    found = read("ct-dense-lmhead")
    findings = judge_checkpoint(found, effective_formats(found, release))
    told = [f.message for f in findings if f.rule == "checkpoint/refused"]
    assert told == ["stored nvfp4-w4a16, and built in 16 bits: loading fails"]


def test_a_tensor_in_two_shards() -> None:
    folder = DATA / "ct-dense-nvfp4"
    head = parse_header((folder / "model.safetensors.head").read_bytes(), SIZES[folder.name], "x")
    files = {"config.json": (folder / "config.json").read_bytes()}
    found = read_checkpoint(files, "x", [head, head])
    assert "stored-twice" in rules(found)
