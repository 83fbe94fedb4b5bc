"""First deployments on a shipped surface: sizes, neighbours, ways out, what is left out."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.usecases.configs import GPT_OSS

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.suggest import SuggestResult
from sparkproof.core.verdict import Verdict
from sparkproof.facts.advice import parsers_of, purposes
from sparkproof.recipe.deployment_toml import parse_deployment
from sparkproof.usecases.suggest.command import Wanted, suggest
from sparkproof.usecases.upgrade.sides import shipped_surface

DATA = Path(__file__).parents[2] / "data"
NVFP4 = str(DATA / "upgrade" / "checkpoints" / "q36-nvfp4.json")
SUPER = str(DATA / "upgrade" / "checkpoints" / "super-nvfp4.json")
BOX = Box(nvcc=True, ninja=True)


@cache
def surface(version: str) -> ReleaseSurface | None:
    return shipped_surface(version)


def ask(checkpoint: str = NVFP4, **more: Any) -> SuggestResult:
    asked: dict[str, Any] = {"checkpoint": checkpoint, "artifact": "0.33.0", "box": BOX, **more}
    wanted = Wanted(**asked)
    report = suggest(wanted, surfaces=surface, offline=True)
    assert report.result is not None
    assert report.verdict is report.result.verdict
    return report.result


def value(result: SuggestResult, flag: str) -> str | None:
    args = result.deployment.args
    return args[args.index(flag) + 1] if flag in args else None


def test_every_line_has_a_reason_and_the_file_is_a_deployment() -> None:
    result = ask(purpose="agent", weights_gib=22.0)
    assert all(line.reason and line.rests_on for line in result.lines)
    assert parse_deployment(result.toml.encode(), "it") == result.deployment
    assert result.deployment.artifact == "vllm==0.33.0"
    assert result.toml.count("  # ") >= 8


def test_without_device_code_it_is_not_proven() -> None:
    assert ask().verdict is Verdict.INCONCLUSIVE


def test_more_requests_need_a_larger_share() -> None:
    few = ask(weights_gib=22.0, sequences=2, context=65536)
    many = ask(weights_gib=22.0, sequences=16, context=65536)
    shares = [float(value(item, "--gpu-memory-utilization") or 0) for item in (few, many)]
    assert 0.2 < shares[0] < shares[1] < 0.9
    assert few.plan is not None
    assert few.plan.concurrency >= 2


def test_requests_are_halved_until_they_fit() -> None:
    small = Box(nvcc=True, ninja=True, total_memory_gib=40.0)
    result = ask(weights_gib=22.0, sequences=64, context=262144, box=small)
    kept = int(value(result, "--max-num-seqs") or 0)
    assert 1 <= kept < 64


def test_without_weights_the_pool_is_given_and_the_share_left_out() -> None:
    result = ask()
    assert value(result, "--gpu-memory-utilization") is None
    assert int(value(result, "--kv-cache-memory-bytes") or 0) > 1 << 30


def test_a_declared_cache_format_is_left_to_the_checkpoint() -> None:
    result = ask(SUPER)
    assert value(result, "--kv-cache-dtype") is None
    left = {line.name: line.reason for line in result.lines if line.left_out}
    assert "declares" in left["--kv-cache-dtype"]


def test_extraction_neither_drafts_nor_parses() -> None:
    flags = {word for word in ask(purpose="extraction").deployment.args if word.startswith("--")}
    assert not flags & {"--speculative-config", "--tool-call-parser", "--reasoning-parser"}


def test_an_older_release_has_only_its_own_flags() -> None:
    for version in ("0.20.0", "0.25.1"):
        result = ask(artifact=version)
        known = surface(version)
        assert known is not None
        words = [word for word in result.deployment.args if word.startswith("--")]
        assert [word for word in words if known.option(word) is None] == []


def test_a_checkpoint_that_is_refused_says_why() -> None:
    result = ask(str(DATA / "checkpoints" / "fx-w4a16-ct.json"))
    assert result.verdict is Verdict.FAIL
    assert len(result.tried) > 1
    assert "refuses" in result.tried[-1].reason


def test_a_neighbour_takes_its_memory(tmp_path: Path) -> None:
    neighbour = Deployment(checkpoint=NVFP4, artifact="vllm==0.33.0", name="neighbour")
    with pytest.raises(UsageError, match="neighbour"):
        ask(beside=(neighbour,), weights_gib=22.0)
    shared = msgspec.structs.replace(neighbour, args=("--gpu-memory-util=0.5",))
    by_share = ask(beside=(shared,), weights_gib=22.0).deployment.box.co_tenants
    assert 55 < by_share["neighbour"] < 65
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_bytes(Path(NVFP4).read_bytes())
    index = {"metadata": {"total_size": 22 << 30}, "weight_map": {}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    args = ("--gpu-memory-utilization", "0.4", "--max-model-len", "32768")
    sized = Deployment(checkpoint=str(folder), artifact="vllm==0.33.0", name="neighbour", args=args)
    result = ask(beside=(sized,), weights_gib=22.0)
    assert 40 < result.deployment.box.co_tenants["neighbour"] < 55


def test_an_unknown_purpose_names_the_known() -> None:
    with pytest.raises(UsageError) as refused:
        ask(purpose="poetry")
    assert "agent" in refused.value.hint


def test_advice_names_parsers_that_some_release_has() -> None:
    found = surface("0.33.0")
    assert found is not None
    names = {(item.kind, item.name) for item in found.parsers}
    for model_type in ("qwen3_5_moe", "nemotron_h", "gemma4", "gpt_oss", "minimax_m2"):
        family = parsers_of(model_type)
        assert family is not None
        assert any(("tool", name) in names for name in family.tool)
        assert any(("reasoning", name) in names for name in family.reasoning)
    assert set(purposes()) == {"agent", "chat", "extraction"}


def test_a_pick_that_hangs_on_the_network_is_avoided(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(GPT_OSS), encoding="utf-8")
    result = ask(str(tmp_path), weights_gib=14.0)
    args = result.deployment.args
    assert args[args.index("--attention-backend") + 1] == "TRITON_ATTN"


def test_a_deployment_that_the_release_would_refuse_is_no_suggestion(tmp_path: Path) -> None:
    config = json.loads(Path(NVFP4).read_text(encoding="utf-8"))
    config.get("text_config", config)["max_seq_length"] = 4096
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    found = ask(str(path))
    assert found.verdict is Verdict.FAIL
    assert all("4096 tokens" in item.reason for item in found.tried)
