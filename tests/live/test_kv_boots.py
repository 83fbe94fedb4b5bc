"""Our prediction against real servers, to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.live.server import Figures, boot, vllm_environment

from sparkproof.checkpoint.state_layout import read_state_layout
from sparkproof.core.memory_plan import KvPlan
from sparkproof.facts.memory_book import rules_of
from sparkproof.memory.kv_plan import KvShape, plan_kv
from sparkproof.memory.settings import Device, resolve_settings
from sparkproof.recipe.vllm_args import parse_serve_args

CONFIGS = Path(__file__).parents[1] / "data" / "memory" / "configs"
VERSION = "0.32.0"
GIB = 1 << 30
MTP = ("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 2}')
SSM = ("--mamba-ssm-cache-dtype", "float32")
CASES = [
    ("cpu-nemotron-h", ("--max-model-len", "2048")),
    ("cpu-qwen3-next", ("--max-model-len", "1024", "--no-enable-prefix-caching", *SSM, *MTP)),
]


def predict(name: str, args: tuple[str, ...]) -> KvPlan:
    layout = read_state_layout((CONFIGS / f"{name}.json").read_bytes(), name=name)
    device = Device("cpu", 23.5)
    settings = resolve_settings(layout, parse_serve_args(args), rules_of(VERSION), device)
    return plan_kv(KvShape(layout, settings), GIB)


def differences(plan: KvPlan, seen: Figures) -> list[str]:
    expected = {
        "tokens": (plan.tokens, seen.tokens),
        "concurrency": (f"{plan.concurrency:.2f}", seen.concurrency),
        "num_gpu_blocks": (str(plan.blocks), seen.info["num_gpu_blocks"]),
        "block_size": (str(plan.block_size), seen.info["block_size"]),
        "kv_cache_size_tokens": (str(plan.tokens), seen.info["kv_cache_size_tokens"]),
    }
    return [
        f"{key}: {ours} is {theirs}" for key, (ours, theirs) in expected.items() if ours != theirs
    ]


@pytest.mark.live
@pytest.mark.enable_socket
@pytest.mark.parametrize(("name", "args"), CASES, ids=[case[0] for case in CASES])
def test_a_real_boot_prints_what_was_predicted(name: str, args: tuple[str, ...]) -> None:
    environment = vllm_environment()
    if environment is None:
        pytest.skip("no environment of the live tier: `make test-live` makes it")
    assert differences(predict(name, args), boot(environment, CONFIGS / f"{name}.json", args)) == []
