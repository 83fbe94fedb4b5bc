"""`select` on shipped surfaces and the examples: outcomes, roles, reports, flags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.errors import UsageError
from sparkproof.core.field_report import DeviceClass
from sparkproof.core.finding import Confidence, Severity
from sparkproof.core.report import Report
from sparkproof.core.results.select import Fate, FlagChoice, LayerSelection, SelectResult
from sparkproof.core.verdict import Verdict
from sparkproof.testing.checkpoints import QWEN3, config_files, modelopt
from sparkproof.usecases.select import select

ROOT = Path(__file__).parents[3]
TOOLS = Box(nvcc=True, ninja=True)
MTP = '{"method": "mtp", "num_speculative_tokens": 3}'


def example(build: str, *args: str, box: Box = TOOLS, device: str = "gb10") -> Deployment:
    folder = ROOT / "examples" / f"qwen3.6-35b-a3b-{build}" / "checkpoint"
    return Deployment(checkpoint=str(folder), name=build, args=args, box=box, device=device)


def asked(*deployments: Deployment, vllm: str = "0.33.0") -> SelectResult:
    result = report_of(*deployments, vllm=vllm).result
    assert result is not None
    return result


def report_of(*deployments: Deployment, vllm: str = "0.33.0") -> Report[SelectResult]:
    return select(deployments, vllm=vllm, offline=True)


def layer(result: SelectResult, subject: str, column: int = 0) -> LayerSelection:
    (branch, *_) = result.columns[column].branches
    return next(item for item in branch.layers if item.proof.subject == subject)


def fates(item: LayerSelection) -> list[Fate]:
    return [told.fate for told in item.told]


def choice(result: SelectResult, flag: str, value: str) -> FlagChoice:
    return next(c for c in result.columns[0].choices if (c.flag, c.value) == (flag, value))


def test_three_builds_of_one_model_get_three_kernels() -> None:
    result = asked(example("w4a4"), example("w4a16"), example("mixed"))
    assert [column.name for column in result.columns] == ["w4a4", "w4a16", "mixed"]
    picks = [layer(result, "experts", number).proof.prediction for number in range(3)]
    assert [p.selected for p in picks if p] == [
        "FLASHINFER_CUTLASS",
        "MARLIN",
        "FLASHINFER_CUTLASS",
    ]
    assert fates(layer(result, "experts", 0)) == [Fate.NATIVE_FP4, Fate.JIT]
    assert fates(layer(result, "experts", 1)) == [Fate.WEIGHT_ONLY]


def test_without_an_artifact_delivery_is_unknown_and_not_judged() -> None:
    report = report_of(example("w4a4"))
    assert report.verdict is Verdict.PASS
    assert report.result is not None
    assert not report.result.columns[0].delivery_known
    deliveries = layer(report.result, "experts").proof.deliveries
    assert {item.verdict for item in deliveries if item.means == "family"} == {Verdict.SKIPPED}


def test_every_refusal_names_a_file_and_a_line() -> None:
    prediction = layer(asked(example("w4a4")), "experts").proof.prediction
    assert prediction is not None
    for step in prediction.steps[:4]:
        assert step.evidence
        assert step.evidence[0].line > 0


def test_what_is_unstated_is_judged_both_ways() -> None:
    result = asked(example("w4a4", box=Box()))
    assert [branch.assumptions for branch in result.columns[0].branches] == [
        {"tool:nvcc": "yes", "tool:ninja": "yes"},
        {"tool:nvcc": "no", "tool:ninja": "no"},
    ]


def test_a_flag_that_the_release_lacks_refuses_to_start() -> None:
    result = asked(example("w4a4", "--linear-backend", "marlin"), vllm="0.20.0")
    told = layer(result, "shared-expert").told[0]
    assert (told.fate, told.confidence) == (Fate.REFUSES, Confidence.SHOWN)
    assert told.detail == "this release has no --linear-backend"


def test_the_drafter_follows_its_own_flags() -> None:
    inherits = asked(
        example("w4a16", "--moe-backend", "marlin", "--speculative-config", MTP), vllm="0.27.1"
    )
    assert fates(layer(inherits, "draft-experts")) == [Fate.REFUSES]
    own = MTP.replace("}", ', "moe_backend": "triton", "attention_backend": "triton_attn"}')
    result = asked(
        example("w4a16", "--moe-backend", "marlin", "--speculative-config", own), vllm="0.27.1"
    )
    experts = layer(result, "draft-experts").proof.prediction
    attention = layer(result, "draft-attention").proof.prediction
    assert experts is not None
    assert attention is not None
    assert (experts.selected, attention.selected) == ("TRITON", "TRITON_ATTN")


def test_a_draft_model_of_its_own_is_named_as_not_looked_at() -> None:
    config = '{"method": "dflash", "model": "org/drafter", "num_speculative_tokens": 7}'
    report = report_of(example("w4a4", "--speculative-config", config))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.result is not None
    assert "org/drafter" in layer(report.result, "draft-model").proof.reason


@pytest.mark.parametrize("drafter", ['"method": "ngram"', '"model": "[ngram]"'])
def test_a_lookup_drafter_loads_no_draft_layers(drafter: str) -> None:
    config = f'{{{drafter}, "num_speculative_tokens": 4}}'
    result = asked(example("w4a4", "--speculative-config", config))
    (branch,) = result.columns[0].branches
    assert not [i for i in branch.layers if i.proof.subject.startswith("draft-")]
    assert layer(result, "draft").proof.verdict is Verdict.SKIPPED


def test_a_draft_model_leaves_the_own_head_alone() -> None:
    config = '{"method": "eagle3", "model": "org/drafter", "num_speculative_tokens": 3}'
    result = asked(example("w4a4", "--speculative-config", config))
    told = layer(result, "draft").proof
    assert (told.verdict, told.reason.split(" drafts")[0]) == (
        Verdict.SKIPPED,
        "not loaded: eagle3",
    )


@pytest.mark.parametrize("drafter", ["", '"method": "eagle3", '])
def test_a_drafter_without_a_model_does_not_start(drafter: str) -> None:
    config = f'{{{drafter}"num_speculative_tokens": 3}}'
    report = report_of(example("w4a4", "--speculative-config", config))
    assert report.verdict is Verdict.FAIL
    assert "select/drafter-refused" in {finding.rule for finding in report.findings}


def test_a_cache_format_that_is_refused_is_told_once() -> None:
    report = report_of(example("w4a4", "--kv-cache-dtype", "nope"))
    errors = [item.rule for item in report.findings if item.severity is Severity.ERROR]
    assert errors == ["select/cache-format-refused"]
    assert "attention" not in report.summary
    assert report.verdict is Verdict.FAIL


def unknown_architecture(folder: Path, *args: str, **config: object) -> Report[SelectResult]:
    told = {"architectures": ["NoSuchForCausalLM"], "model_type": "none", "head_dim": 128}
    (folder / "config.json").write_text(json.dumps({**told, **config}), encoding="utf-8")
    return report_of(Deployment(checkpoint=str(folder), box=TOOLS, args=args))


def test_transformers_may_stand_in_for_an_unknown_architecture(tmp_path: Path) -> None:
    report = unknown_architecture(tmp_path)
    assert report.verdict is Verdict.INCONCLUSIVE
    (told,) = [f for f in report.findings if f.rule == "select/transformers-stand-in"]
    assert "runs as TransformersForCausalLM if the installed Transformers has" in told.message
    assert "trust" not in told.message


def test_code_of_the_checkpoint_may_stand_in_where_it_is_trusted(tmp_path: Path) -> None:
    own = {"AutoConfig": "configuration_no.NoConfig", "AutoModelForCausalLM": "modeling_no.No"}
    found = unknown_architecture(tmp_path, auto_map=own).findings
    (told,) = {f.message for f in found if f.rule == "select/transformers-stand-in"}
    assert "own code (modeling_no.No), with --trust-remote-code" in told
    trusting = unknown_architecture(tmp_path, "--trust-remote-code", auto_map=own)
    assert any("(modeling_no.No), which may run" in f.message for f in trusting.findings)


@pytest.mark.parametrize(
    ("args", "architecture"),
    [(("--model-impl", "vllm"), "NoSuchForCausalLM"), ((), "MllamaForConditionalGeneration")],
)
def test_an_architecture_that_nothing_stands_in_for(
    args: tuple[str, ...], architecture: str, tmp_path: Path
) -> None:
    report = unknown_architecture(tmp_path, *args, architectures=[architecture])
    assert report.verdict is Verdict.FAIL
    assert "select/unknown-architecture" in {finding.rule for finding in report.findings}


def test_reports_of_the_same_device_are_told_apart_from_others() -> None:
    gb10 = asked(example("w4a4", "--moe-backend", "flashinfer_b12x"))
    here = layer(gb10, "experts")
    assert Fate.REPORTED in fates(here)
    assert all(record.count(DeviceClass.GB10) for record in here.reports if record.bad)
    board = asked(example("w4a4", "--moe-backend", "flashinfer_b12x", device="rtx-5090"))
    there = layer(board, "experts")
    told = [item for item in there.told if item.fate is Fate.REPORTED]
    assert len(told) == sum(1 for r in there.reports if r.bad and r.count(DeviceClass.SM12X))
    assert len(told) < len([record for record in there.reports if record.bad])


def test_a_report_changes_no_verdict() -> None:
    report = report_of(example("w4a4", "--moe-backend", "flashinfer_b12x"))
    assert report.verdict is Verdict.PASS
    reported = [item for item in report.criteria if item.name.startswith("reported/")]
    assert reported
    assert {item.verdict for item in reported} == {Verdict.SKIPPED}


def test_every_flag_is_tried_and_told_what_speaks_against_it() -> None:
    result = asked(example("w4a4"))
    b12x = choice(result, "--moe-backend", "flashinfer_b12x")
    assert b12x.accepted
    assert b12x.half
    assert any("this kind of device" in reason for reason in b12x.against)
    idle = [item for item in result.columns[0].choices if item.error and item.accepted]
    assert "ValueError" in idle[0].error
    assert not choice(result, "--moe-backend", "marlin").error


def test_no_flag_passes_beside_a_layer_that_fails_whatever_it_is() -> None:
    result = asked(example("w4a4", "--linear-backend", "marlin"), vllm="0.20.0")
    found = choice(result, "--attention-backend", "TRITON_ATTN")
    assert found.verdict is Verdict.FAIL
    assert "no --linear-backend" in found.error


def test_what_is_wrong_with_the_checkpoint_fails_it_and_no_flag_is_offered(tmp_path: Path) -> None:
    part = "model.layers.0.self_attn"
    listed = {
        f"{part}.{name}_proj": {"quant_algo": algo} for name, algo in (("q", "FP8"), ("k", "MXFP8"))
    }
    files = config_files(QWEN3, modelopt("MIXED_PRECISION", quantized_layers=listed))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    report = report_of(Deployment(checkpoint=str(tmp_path), box=TOOLS))
    assert report.result is not None
    [column] = report.result.columns
    assert report.verdict is Verdict.FAIL
    assert "loaded as one layer" in report.summary
    assert (column.choices, column.changes) == ((), ())
    assert report.next_steps == ("sparkproof explain checkpoint/split-fusion",)


def test_a_value_that_the_command_line_refuses_is_not_accepted() -> None:
    result = asked(example("w4a4", "--linear-backend", "marlin"), vllm="0.22.0")
    found = {c.value: c for c in result.columns[0].choices if c.flag == "--linear-backend"}
    refused = [value for value, item in found.items() if not item.accepted]
    assert all(found[value].error == f"this release does not take {value}" for value in refused)


def test_nothing_to_read_from_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="neither an artifact nor a release"):
        select([example("w4a4")], offline=True)
    with pytest.raises(UsageError, match="different devices"):
        select([example("w4a4"), example("w4a4", device="h200")], vllm="0.33.0")
    with pytest.raises(UsageError, match="development version"):
        select([example("w4a4")], vllm="0.27.2rc1.dev360", offline=True)


@pytest.mark.parametrize(
    ("build", "value", "verdict", "rule"),
    [
        ("w4a4", "fp4", Verdict.FAIL, "select/quantization-refused"),
        ("w4a4", "FP8", Verdict.FAIL, "select/quantization-refused"),
        ("w4a4", "compressed-tensors", Verdict.PASS, ""),
        ("w4a4", "humming", Verdict.INCONCLUSIVE, "deliver/not-examined"),
        ("w4a16", "fp4", Verdict.PASS, "select/quantization-replaced"),
        ("w4a16", "modelopt_mixed", Verdict.PASS, ""),
        ("w4a16", "humming", Verdict.INCONCLUSIVE, "deliver/not-examined"),
    ],
)
def test_a_quantization_flag_beside_a_checkpoint_that_says_its_method(
    build: str, value: str, verdict: Verdict, rule: str
) -> None:
    report = report_of(example(build, "--quantization", value))
    assert report.verdict is verdict
    about = [item.rule for item in report.findings if item.subject == "quantization-flag"]
    assert about == ([rule] if rule else [])
