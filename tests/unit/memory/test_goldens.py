"""Numbers that have a name."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.memory.boots import read_layout

from sparkproof.core.serve_args import ServeArgs, Speculation
from sparkproof.facts.memory_book import rules_of
from sparkproof.memory.budget import GIB, Weights, plan_budget
from sparkproof.memory.kv_plan import ROUNDING_BYTES, KvShape, plan_kv
from sparkproof.memory.settings import Device, resolve_settings
from sparkproof.memory.solve import least_utilization, pool_for

GB10 = Device("12.1", 121.69)
GUIDE = ServeArgs(
    max_model_len=262144,
    utilization=0.3,
    kv_dtype="fp8",
    prefix_caching=False,
    speculation=Speculation(3, "mtp"),
)


def shape(args: ServeArgs = GUIDE, version: str = "0.23.0") -> KvShape:
    layout = read_layout("qwen3.6-35b-a3b")
    return KvShape(layout, resolve_settings(layout, args, rules_of(version), GB10))


def test_the_guide_s_pool() -> None:
    plan = plan_kv(shape(), int(7.15 * GIB), rounding_bytes=ROUNDING_BYTES)
    assert plan.block_size == 2144
    assert (plan.blocks_if_less, plan.blocks_if_more) == (317, 318)
    assert plan.tokens_if_more == 617_494
    assert f"{plan.concurrency_if_more:.2f}" == "2.36"
    assert plan.blocks_per_request == 135


def test_the_same_pool_with_prefix_caching() -> None:
    caching = msgspec.structs.replace(GUIDE, prefix_caching=True)
    plan = plan_kv(shape(caching), int(7.15 * GIB), rounding_bytes=ROUNDING_BYTES)
    assert plan.tokens_if_more == 604_070


def test_the_boot_floor() -> None:
    """One request of 262,144 tokens needs a utilization of about 0.24."""
    cut = shape()
    total = int(121.69 * GIB)
    weights = Weights(int(21.96 * GIB), loaded=True, layers=40)
    budget = plan_budget(cut, GUIDE, weights, total)
    share = least_utilization(budget.overhead_bytes, pool_for(cut, 1, 262144), total)
    assert share == pytest.approx(0.24, abs=0.01)


@pytest.mark.parametrize(
    ("length", "caching", "kb"),
    [(262144, False, 12.4), (262144, True, 12.7), (32768, False, 20.6), (65536, True, 17.0)],
)
def test_bytes_per_token_are_no_constant_of_the_model(
    length: int, caching: bool, kb: float
) -> None:
    args = msgspec.structs.replace(GUIDE, max_model_len=length, prefix_caching=caching)
    plan = plan_kv(shape(args), 318 * 24_150_016)
    assert round(plan.bytes_per_token / 1000, 1) == kb


def test_a_release_that_aligns_to_checkpoints() -> None:
    """0.33.0 keeps one more state and blocks of 64 tokens where prefix caching is on."""
    caching = msgspec.structs.replace(GUIDE, prefix_caching=True)
    plan = plan_kv(shape(caching, "0.33.0"), int(7.15 * GIB))
    assert plan.block_size == 2176
    assert plan.blocks_per_request == 121 + 3 * 6


def test_what_fp8_buys_and_mtp_costs() -> None:
    now = plan_kv(shape(), 7 * GIB)
    wide = plan_kv(shape(msgspec.structs.replace(GUIDE, kv_dtype="auto")), 7 * GIB)
    alone = plan_kv(shape(msgspec.structs.replace(GUIDE, speculation=None)), 7 * GIB)
    assert wide.tokens < now.tokens < alone.tokens
