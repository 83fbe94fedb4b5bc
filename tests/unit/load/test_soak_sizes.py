"""Lengths of a soak: mixed within the server's limit, or enough to overfill its pool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkproof.core.errors import UsageError
from sparkproof.load.soak_sizes import mixed_sizes, overfilling_sizes, pool_of


def test_mixed_lengths_stay_below_the_limit() -> None:
    sizes = mixed_sizes(8, 1024, 0, 0)
    assert sizes.prompt_low == sizes.output_low == 16
    assert 900 < sizes.prompt_high + sizes.output_high < 1024
    assert mixed_sizes(8, 262_144, 0, 0).prompt_high < 8192
    assert mixed_sizes(8, 262_144, 100_000, 0).prompt_high > 90_000
    assert mixed_sizes(8, 0, 0, 0).prompt_high > 4000  # the server does not tell


@pytest.mark.parametrize(
    ("limit", "longest", "prefix"), [(64, 0, 0), (1024, 2048, 0), (256, 0, 200)]
)
def test_what_does_not_fit_is_refused(limit: int, longest: int, prefix: int) -> None:
    with pytest.raises(UsageError, match="do not fit"):
        mixed_sizes(8, limit, longest, prefix)


@given(
    concurrency=st.integers(1, 64),
    limit=st.integers(128, 300_000),
    pool=st.integers(256, 5_000_000),
    block=st.sampled_from([16, 32, 128, 384]),
)
def test_overfilling_lengths_do_what_they_are_for(
    concurrency: int, limit: int, pool: int, block: int
) -> None:
    try:
        sizes = overfilling_sizes(concurrency, limit, pool, block)
    except UsageError:
        return
    prompt = (sizes.prompt_low + sizes.prompt_high) / 2
    assert sizes.concurrency >= concurrency
    assert sizes.prompt_high + sizes.output_high < limit
    assert sizes.concurrency * prompt <= pool  # all are let in
    assert sizes.concurrency * (prompt + 1 + sizes.output_low) >= 1.05 * pool  # and not all can end
    assert sizes.output_low >= block  # each needs another block while it writes


def test_more_streams_where_lengths_alone_cannot() -> None:
    assert overfilling_sizes(8, 1024, 5120, 128).concurrency == 8
    assert overfilling_sizes(2, 1024, 5120, 128).concurrency > 2
    with pytest.raises(UsageError, match="can't be overfilled"):
        overfilling_sizes(8, 1024, 1_398_080, 128)


def test_the_pool_as_vllm_tells_it() -> None:
    told = {"block_size": "16", "effective_attention_block_size": "384"}
    assert pool_of({**told, "kv_cache_size_tokens": "5120", "num_gpu_blocks": "40"}) == (5120, 384)
    assert pool_of({"block_size": "128", "num_gpu_blocks": "40"}) == (5120, 128)
    assert pool_of({"block_size": "None", "num_gpu_blocks": "9" * 30}) == (0, 0)
