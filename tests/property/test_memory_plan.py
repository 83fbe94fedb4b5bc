"""What has to hold of every plan."""

from __future__ import annotations

from itertools import permutations

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.property.literal_kv import Layer
from tests.property.test_memory_literal import layout_of, models
from tests.unit.memory.boots import read_layout

from sparkproof.core.errors import UsageError
from sparkproof.core.serve_args import ServeArgs, Speculation
from sparkproof.facts.memory_book import examined_versions, rules_of
from sparkproof.memory.budget import Weights, plan_budget
from sparkproof.memory.coresidence import Server, order_of_start, plan_residence
from sparkproof.memory.kv_plan import KvShape
from sparkproof.memory.phases import Host, plan_phases
from sparkproof.memory.settings import Device, resolve_settings
from sparkproof.memory.solve import (
    STEP,
    holds,
    least_utilization,
    longest_context,
    pool_for,
    sequences_in,
)

GB10 = Device("12.1", 121.69)
GIB = 1 << 30
versions = st.sampled_from([str(item) for item in examined_versions()])
lengths = st.integers(1, 300_000)


def shape_of(layers: list[Layer], version: str, **args: object) -> KvShape:
    given_args = ServeArgs(**{"max_model_len": 300_000, **args})  # type: ignore[arg-type]
    layout = layout_of(layers)
    try:
        return KvShape(layout, resolve_settings(layout, given_args, rules_of(version), GB10))
    except UsageError:
        assume(False)
        raise


@settings(max_examples=60)
@given(models(), versions, lengths, lengths, st.integers(1, 20), st.integers(1, 20))
def test_more_context_and_more_sequences_never_need_less(
    layers: list[Layer], version: str, a: int, b: int, few: int, many: int
) -> None:
    shape = shape_of(layers, version)
    short, long = sorted((a, b))
    few, many = sorted((few, many))
    assert shape.request_bytes(short) <= shape.request_bytes(long)
    assert pool_for(shape, few, short) <= pool_for(shape, many, short)
    assert pool_for(shape, few, short) <= pool_for(shape, few, long)


@settings(max_examples=60)
@given(models(), versions, lengths, st.integers(1, 6), st.booleans())
def test_more_speculation_never_needs_less_at_the_same_block_size(
    layers: list[Layer], version: str, length: int, tokens: int, prefix: bool
) -> None:
    shapes = [
        shape_of(layers, version, prefix_caching=prefix, speculation=Speculation(count, "ngram"))
        for count in (tokens, tokens + 1)
    ]
    fewer, more = shapes
    assert more.alignment.block >= fewer.alignment.block
    if more.alignment.block == fewer.alignment.block:  # else rounding may save a block
        assert more.request_bytes(length) >= fewer.request_bytes(length)


@settings(max_examples=60)
@given(models(), versions, lengths, st.sampled_from([(1, 2), (1, 4), (2, 4)]))
def test_tensor_parallelism_never_raises_the_bytes_of_a_rank(
    layers: list[Layer], version: str, length: int, ranks: tuple[int, int]
) -> None:
    fewer, more = (shape_of(layers, version, tensor_parallel=count) for count in ranks)
    assert more.block_bytes <= fewer.block_bytes
    blocks = [[group.spec.block for group in shape.grouping.groups] for shape in (fewer, more)]
    if blocks[0] == blocks[1]:  # else rounding up to another block size may cost a block
        assert more.request_bytes(length) <= fewer.request_bytes(length)


@settings(max_examples=60)
@given(models(), versions, st.integers(1, 8), lengths)
def test_the_solved_pool_is_the_least_that_holds(
    layers: list[Layer], version: str, sequences: int, length: int
) -> None:
    shape = shape_of(layers, version)
    pool = pool_for(shape, sequences, length)
    assert holds(shape, pool, sequences, length)
    assert not holds(shape, pool - 1, sequences, length)
    assert sequences_in(shape, pool, length) >= sequences
    longest = longest_context(shape, pool, sequences, 300_000)
    assert longest >= length
    if longest < 300_000:
        assert sequences_in(shape, pool, longest) >= sequences
        assert sequences_in(shape, pool, longest + 1) < sequences


@given(st.integers(0, 100 * GIB), st.integers(0, 60 * GIB), st.integers(8 * GIB, 140 * GIB))
def test_the_solved_utilization_is_the_least_that_passes(
    overhead: int, pool: int, total: int
) -> None:
    share = least_utilization(overhead, pool, total)
    if share is None:
        assert total < overhead + pool
        return
    assert total * share + 1 >= overhead + pool
    if share > STEP * 1.5:
        assert total * (share - STEP) < overhead + pool


@settings(max_examples=60)
@given(
    weights=st.integers(GIB // 4, 100 * GIB),
    utilization=st.floats(0.05, 1.0),
    batched=st.integers(512, 70_000),
    kv_gib=st.integers(0, 90),
    eager=st.booleans(),
    backend=st.sampled_from(["", "marlin", "flashinfer_b12x"]),
    used=st.none() | st.integers(0, 60 * GIB),
    jobs=st.integers(0, 20),
)
def test_lines_and_phases_sum_to_the_total(
    weights: int,
    utilization: float,
    batched: int,
    kv_gib: int,
    eager: bool,
    backend: str,
    used: int | None,
    jobs: int,
) -> None:
    args = ServeArgs(
        utilization=utilization,
        batched_tokens=batched,
        kv_bytes=kv_gib * GIB,
        enforce_eager=eager,
        moe_backend=backend,
    )
    layout = read_layout("qwen3.6-35b-a3b")
    shape = KvShape(layout, resolve_settings(layout, args, rules_of("0.33.0"), GB10))
    total = int(121.69 * GIB)
    budget = plan_budget(shape, args, Weights(weights, layers=40), total)
    assert sum(line.bytes for line in budget.lines) == budget.requested_bytes
    for line in budget.lines:
        assert line.low_bytes <= line.bytes <= line.high_bytes
    host = Host(total, 15 * GIB, used_bytes=used, tenants={"gateway": GIB}, jobs=jobs)
    for phase in plan_phases(budget, host, 40):
        assert sum(phase.uses.values()) + phase.free_bytes == total
        assert phase.low_free_bytes <= phase.free_bytes


@given(
    st.lists(
        st.builds(
            lambda asks, keeps: (max(asks, keeps), keeps),
            st.integers(0, 100),
            st.integers(0, 60),
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 200),
)
def test_no_other_order_of_starting_passes_where_ours_does_not(
    sizes: list[tuple[int, int]], available: int
) -> None:
    servers = [Server(str(i), asks, keeps) for i, (asks, keeps) in enumerate(sizes)]
    ours = plan_residence(order_of_start(servers), available, 0)
    best = any(plan_residence(order, available, 0).fits for order in permutations(servers))
    assert ours.fits == best
