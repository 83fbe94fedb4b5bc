"""The fit use case, from files to a verdict."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult
from sparkproof.core.verdict import Verdict
from sparkproof.facts.surfaces import load_surface
from sparkproof.render.fit_html import fit_page
from sparkproof.render.fit_text import render_fit
from sparkproof.render.lines import plain_text
from sparkproof.usecases.fit.command import FitRequest, fit, fit_request

CONFIGS = Path(__file__).parents[2] / "data" / "memory" / "configs"
Q36 = str(CONFIGS / "qwen3.6-35b-a3b.json")
GUIDE = (
    "--max-model-len", "262144", "--kv-cache-dtype", "fp8", "--no-enable-prefix-caching",
    "--gpu-memory-utilization", "0.3",
    "--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}',
)  # fmt: skip


def ask(**parts: object) -> Report[FitResult]:
    given = {"checkpoint": Q36, "version": "0.23.0", "argv": GUIDE, **parts}
    return fit(FitRequest(**given))  # type: ignore[arg-type]


def answer(report: Report[FitResult]) -> FitResult:
    assert report.result is not None
    return report.result


def fired(report: Report[FitResult]) -> set[str]:
    return {finding.rule for finding in report.findings}


def test_a_pool_out_of_a_log() -> None:
    report = ask(kv_gib=7.15)
    assert report.verdict is Verdict.PASS
    assert "317 or 318 blocks of 2,144 tokens, 615,552 or 617,494 tokens" in report.summary
    text = plain_text(render_fit(answer(report)))
    assert "GPU KV cache size: 615,552 tokens" in text
    assert "317 to 318 blocks" in text


def test_blocks_that_a_flag_states_are_no_estimate() -> None:
    result = answer(ask(argv=(*GUIDE, "--num-gpu-blocks-override", "400"), weights_gib=21.96))
    assert (result.plan.blocks, result.low, result.high) == (400, None, None)


def test_no_more_is_reserved_than_the_blocks_that_a_flag_states() -> None:
    report = ask(argv=(*GUIDE, "--num-gpu-blocks-override", "400"), weights_gib=21.96)
    result = answer(report)
    assert result.memory is not None
    assert result.plan.pool_bytes == result.memory.kv_bytes
    assert result.plan.pool_bytes * 318 == pytest.approx(400 * 7.15 * 2**30, rel=0.01)
    assert "(--num-gpu-blocks-override)" in report.summary


def test_a_plan_from_flags_alone() -> None:
    report = ask(weights_gib=21.96)
    result = answer(report)
    assert result.memory is not None
    assert result.low is not None
    assert result.high is not None
    assert result.memory.kv_low_bytes < result.memory.kv_bytes < result.memory.kv_high_bytes
    assert "boxes that were not measured" in plain_text(render_fit(result))
    assert not report.unknowns
    assert result.low.tokens < result.plan.tokens < result.high.tokens
    solved = {item.knob: item.number for item in result.solved}
    assert solved["--gpu-memory-utilization"] == pytest.approx(0.24, abs=0.01)
    assert solved["--kv-cache-memory-bytes"] == 135 * 24_150_016


def test_an_estimate_for_a_device_that_was_not_measured_says_so() -> None:
    (told,) = ask(device="h200", weights_gib=21.96).unknowns
    assert told.topic == "fit/interval"
    assert "--rest-gib" in told.hint
    assert not ask(device="h200", weights_gib=21.96, rest_gib=2.0).unknowns


def test_a_video_that_no_batch_takes_in_fails_the_plan() -> None:
    gemma = {"checkpoint": str(CONFIGS / "gemma-4-26b-a4b.json"), "version": "0.20.0"}
    flags = ("--max-model-len", "8192")
    refused = ask(**gemma, argv=flags, kv_gib=20.0)
    assert refused.verdict is Verdict.FAIL
    assert "memory/item-above-batch" in fired(refused)
    enough = ask(**gemma, argv=(*flags, "--max-num-batched-tokens", "2496"), kv_gib=20.0)
    assert enough.verdict is Verdict.PASS


def test_the_phases_are_drawn() -> None:
    text = plain_text(render_fit(answer(ask(weights_gib=21.96, jobs=8))))
    assert "kernels compile" in text
    assert "WWWW" in text
    assert "tightest" in text


def test_states_are_spoken_of_only_where_layers_keep_some() -> None:
    sliding = ask(checkpoint=str(CONFIGS / "cpu-qwen3.json"), argv=(), kv_gib=1.0)
    assert ", states " not in plain_text(render_fit(answer(sliding)))
    assert ", states " in plain_text(render_fit(answer(ask(argv=(), kv_gib=7.15))))


def test_what_to_type_next_can_be_typed() -> None:
    (step,) = ask(kv_gib=7.15).next_steps
    command, _, note = step.partition("  # ")
    words = shlex.split(command)
    assert words[:5] == ["sparkproof", "fit", Q36, "--weights-gib", "GIB"]
    assert words[words.index("--") + 1 :] == list(GUIDE)
    assert note == "adds the budget and its phases"


def test_the_page_shows_every_phase_stacked() -> None:
    report = ask(weights_gib=21.96, jobs=8)
    page = fit_page(report)
    memory = answer(report).memory
    assert memory is not None
    root = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    told = [item.text or "" for item in root.iter() if item.tag.endswith("title")]
    assert len(told) == sum(len(phase.uses) for phase in memory.phases)
    assert any(text.endswith("weights 21.96 GiB") for text in told)
    assert "<script" not in page


@pytest.mark.parametrize("version", ["0.20.1", "0.20.2", "0.21.0", "0.22.0"])
def test_the_line_of_tokens_means_the_same_from_0_20_1_on(version: str) -> None:
    report = ask(kv_gib=7.15, version=version)
    assert report.verdict is Verdict.PASS
    assert "615,552 or 617,494 tokens" in report.summary
    assert report.unknowns == ()


def test_a_build_between_two_examined_releases_asks_both() -> None:
    report = ask(kv_gib=7.15, version="0.20.1.dev0+g101584af0", argv=GUIDE)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert answer(report).neighbour is not None
    assert "0.20.0 prints" in report.unknowns[-1].why


def test_neighbours_that_agree_are_no_unknown_pool() -> None:
    report = ask(kv_gib=7.15, version="0.23.1rc1")
    assert report.verdict is Verdict.PASS
    assert [unknown.topic for unknown in report.unknowns] == ["fit/version"]


def test_a_release_beyond_all_that_was_examined_is_inconclusive() -> None:
    report = ask(kv_gib=7.15, version="", artifact="vllm==0.34.0")
    assert report.verdict is Verdict.INCONCLUSIVE
    (unknown,) = [item for item in report.unknowns if item.topic == "fit/version"]
    assert "newer than 0.33.0" in unknown.why
    assert unknown.hint


@pytest.mark.parametrize("version", ["99", "0.34.0", "0.33.1.dev5", "soon"])
def test_a_version_out_of_reach_is_refused_as_everywhere(version: str) -> None:
    with pytest.raises(UsageError) as caught:
        fit_request(Q36, (), version=version)
    with pytest.raises(UsageError) as elsewhere:
        load_surface(version)
    assert (str(caught.value), caught.value.hint) == (str(elsewhere.value), elsewhere.value.hint)


@pytest.mark.parametrize("version", ["0.11.0", "latest"])
def test_a_version_that_nobody_examined(version: str) -> None:
    with pytest.raises(UsageError):
        ask(kv_gib=7.15, version=version)


def test_the_version_of_an_artifact() -> None:
    assert answer(ask(kv_gib=7.15, version="", artifact="vllm==0.28.0")).version == "0.28.0"
    name = "vllm-0.26.0-cp38-abi3-manylinux_2_28_aarch64.whl"
    assert answer(ask(kv_gib=7.15, version="", artifact=name)).version == "0.26.0"


def test_a_pool_below_one_request() -> None:
    report = ask(kv_gib=2.0)
    assert report.verdict is Verdict.FAIL
    assert "memory/below-one-request" in fired(report)
    longest = next(f.remedy for f in report.findings if f.rule == "memory/below-one-request")
    assert "--max-model-len" in longest


def test_a_length_that_is_advised_is_no_longer_than_the_model_s_own() -> None:
    report = ask(kv_gib=7.15, argv=("--max-model-len", "4M"))
    assert report.verdict is Verdict.FAIL
    remedies = [item.remedy for item in report.findings if item.rule.startswith("memory/below")]
    assert remedies[0].startswith("--max-model-len 262144 fits")
    assert "release/beyond-model" in fired(report)


def test_the_default_utilization_is_named_for_what_it_is() -> None:
    report = ask(weights_gib=21.96, argv=("--max-model-len", "262144"))
    assert {"memory/discrete-utilization", "memory/over-reservation"} <= fired(report)


def test_a_box_without_room_for_the_request(tmp_path: Path) -> None:
    saved = tmp_path / "meminfo"
    saved.write_text("MemTotal: 127600000 kB\nMemAvailable: 30000000 kB\n")
    report = ask(weights_gib=21.96, meminfo=saved)
    assert "memory/start-check" in fired(report)
    assert report.verdict is Verdict.FAIL


def test_servers_that_share_the_box() -> None:
    report = ask(weights_gib=21.96, tenants={"embedder": 20.0, "coder": 50.0})
    result = answer(report)
    assert [start.passes for start in result.starts] == [True, True, True]
    crowded = ask(weights_gib=21.96, tenants={"a": 60.0, "b": 50.0})
    assert "memory/servers-clash" in fired(crowded)


def test_many_batched_tokens_and_an_unused_context() -> None:
    report = ask(
        weights_gib=21.96, argv=(*GUIDE, "--max-num-batched-tokens", "32768"), typical_length=4000
    )
    assert {"memory/batched-tokens", "memory/context-unused"} <= fired(report)


def test_a_head_that_the_checkpoint_has_not(tmp_path: Path) -> None:
    config = json.loads(Path(Q36).read_bytes())
    del config["text_config"]["mtp_num_hidden_layers"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    report = ask(checkpoint=str(tmp_path), kv_gib=7.15)
    assert "memory/no-draft-head" in fired(report)


def test_a_method_with_a_model_of_its_own_is_not_taken_for_a_head(tmp_path: Path) -> None:
    config = json.loads(Path(Q36).read_bytes())
    del config["text_config"]["mtp_num_hidden_layers"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    argv = ("--speculative-config", '{"method": "eagle3", "num_speculative_tokens": 2}')
    report = ask(checkpoint=str(tmp_path), kv_gib=7.15, argv=argv)
    (found,) = (item for item in report.findings if item.rule == "memory/no-draft-head")
    assert found.message == "the method eagle3 drafts with a model of its own, the flags name none"


def test_a_drafter_has_to_be_there() -> None:
    argv = (
        "--speculative-config",
        '{"method": "dflash", "model": "z/x", "num_speculative_tokens": 8}',
    )
    with pytest.raises(UsageError, match="z/x"):
        ask(kv_gib=60.0, argv=argv)
    with_drafter = ask(kv_gib=60.0, argv=argv, drafter=str(CONFIGS / "dflash-35b.json"))
    assert answer(with_drafter).drafter == "dflash-35b.json"


def test_weights_are_taken_from_the_index_or_the_shards(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(Path(Q36).read_bytes())
    (tmp_path / "a.safetensors").write_bytes(b"x" * 4096)
    first = answer(ask(checkpoint=str(tmp_path)))
    assert first.memory is not None
    assert first.memory.lines[0].low_bytes == 4096
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 8192}}')
    second = answer(ask(checkpoint=str(tmp_path)))
    assert second.memory is not None
    assert second.memory.lines[0].low_bytes == 8192


def test_nothing_to_plan_from() -> None:
    with pytest.raises(UsageError, match="neither the pool nor the weights"):
        ask()


def test_no_such_checkpoint() -> None:
    with pytest.raises(UnreachableError, match="no checkpoint"):
        ask(checkpoint="/nowhere/at/all")


@pytest.mark.parametrize(
    ("field", "value"), [("compress_ratios", [4, 128]), ("model_type", "deepseek_v4")]
)
def test_a_layout_that_is_not_known_is_refused_by_name(
    tmp_path: Path, field: str, value: object
) -> None:
    config = json.loads(Path(Q36).read_bytes())
    config["text_config"][field] = value
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=field):
        ask(checkpoint=str(tmp_path), kv_gib=7.15)


def test_a_deployment_in_place_of_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "config.json").write_bytes(Path(Q36).read_bytes())
    (tmp_path / "deployment.toml").write_text(
        'checkpoint = "checkpoint"\nartifact = "vllm==0.23.0"\n'
        f'args = {json.dumps(list(GUIDE))}\n[box]\nreserve_gib = 20.0\n[env]\nMAX_JOBS = "4"\n'
    )
    request = fit_request(str(tmp_path / "deployment.toml"), (), weights_gib=21.96)
    assert (request.reserve_gib, request.jobs) == (20.0, 4)
    assert answer(fit(request)).plan.block_size == 2144
    with pytest.raises(UsageError, match="its own"):
        fit_request(str(tmp_path / "deployment.toml"), ("--max-model-len", "1"))


def test_a_broken_deployment_names_its_field(tmp_path: Path) -> None:
    path = tmp_path / "d.toml"
    path.write_text("checkpoint = 5\n")
    with pytest.raises(FormatError, match="checkpoint"):
        fit_request(str(path), ())


def test_the_longest_context_is_found_where_it_is_left_open() -> None:
    argv = ("--max-model-len", "-1", "--kv-cache-dtype", "fp8", "--no-enable-prefix-caching")
    plan = answer(ask(kv_gib=2.0, argv=argv)).plan
    assert 0 < plan.max_model_len < 262144
    assert plan.request_bytes <= plan.pool_bytes


def test_the_document_round_trips() -> None:
    report = ask(weights_gib=21.96, tenants={"gateway": 4.0})
    data = msgspec.json.encode(report)
    assert msgspec.json.decode(data, type=Report[FitResult]) == report


def test_flags_are_read_by_the_release_s_own_parser() -> None:
    """Abbreviated, as one word, in pieces, or inside another object: our table knows none of it."""
    words = ("--max-model=131072", "-tp=2", "-ac.backend", "TRITON_ATTN")
    result = answer(ask(version="0.33.0", argv=words, kv_gib=7.15))
    assert result.plan.max_model_len == 131072
    assert result.arguments == "the parser of vLLM 0.33.0"
    whole = ("--max-model-len", "131072", "--tensor-parallel-size", "2")
    same = answer(ask(version="0.33.0", argv=whole, kv_gib=7.15))
    assert result.plan.tokens == same.plan.tokens


def test_what_the_release_refuses_fails_the_plan_and_is_left_out_of_it() -> None:
    report = ask(version="0.33.0", argv=("--swap-space", "4", "--block-size", "x"), kv_gib=7.15)
    assert report.verdict is Verdict.FAIL
    assert [item.rule for item in report.findings] == [
        "release/unknown-option",
        "release/bad-value",
    ]
    assert (
        answer(report).plan.block_size
        == answer(ask(version="0.33.0", argv=(), kv_gib=7.15)).plan.block_size
    )
    assert report.next_steps == ()


def test_a_build_of_a_release_is_read_by_its_parser() -> None:
    result = answer(ask(version="0.27.1+93523f72", argv=("--max-model=8192",), kv_gib=7.15))
    assert (result.arguments, result.plan.max_model_len) == ("the parser of vLLM 0.27.1", 8192)


def test_where_no_parser_is_at_hand_the_basis_says_so() -> None:
    result = answer(ask(version="0.33.1.dev5", kv_gib=7.15))
    assert "our own table of flags" in result.arguments
    assert "vLLM 0.33.1.dev5" in result.arguments
    assert "flags read" in plain_text(render_fit(result))
