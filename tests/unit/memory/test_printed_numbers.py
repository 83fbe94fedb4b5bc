"""The KV arithmetic against what real boots printed, to the last digit."""

from __future__ import annotations

import pytest
from tests.unit.memory.boots import Boot, read_boots

from sparkproof.memory.kv_plan import ROUNDING_BYTES, plan_kv

BOOTS = read_boots()


@pytest.mark.parametrize("boot", BOOTS, ids=lambda boot: boot.id)
def test_printed_numbers_come_out_exactly(boot: Boot) -> None:
    shape = boot.shape()
    rounding = ROUNDING_BYTES if boot.kv_gib is not None else 0
    plan = plan_kv(shape, boot.pool_bytes, rounding_bytes=rounding)
    length = shape.settings.max_model_len
    possible = {
        shape.printed(blocks, length)[0]: blocks
        for blocks in range(plan.blocks_if_less, plan.blocks_if_more + 1)
    }
    assert boot.printed.tokens in possible
    blocks = possible[boot.printed.tokens]
    if boot.printed.concurrency:
        shown = round(shape.printed(blocks, length)[1], 2)
        assert shown == pytest.approx(boot.printed.concurrency)
    if boot.printed.block_size:
        assert plan.block_size == boot.printed.block_size
    if boot.printed.blocks:
        assert blocks == boot.printed.blocks
    if boot.printed.padding:
        assert sorted(plan.padding_layers) == sorted(boot.printed.padding)
    if boot.printed.state_padding:
        assert round(plan.state_padding_percent, 2) == boot.printed.state_padding


@pytest.mark.parametrize(
    "boot", [boot for boot in BOOTS if boot.kv_gib is not None], ids=lambda boot: boot.id
)
def test_two_decimals_leave_at_most_a_hundredth_of_a_gib(boot: Boot) -> None:
    shape = boot.shape()
    plan = plan_kv(shape, boot.pool_bytes, rounding_bytes=ROUNDING_BYTES)
    assert plan.blocks_if_more - plan.blocks_if_less <= 2 * ROUNDING_BYTES // shape.block_bytes + 1
