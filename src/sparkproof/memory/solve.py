"""The least or most of one knob that still works, the others held."""

from __future__ import annotations

import math
from collections.abc import Callable

from sparkproof.memory.kv_plan import KvShape

STEP = 0.001
"""Utilizations are solved to this step."""


def pool_for(shape: KvShape, sequences: int, length: int) -> int:
    """The least ``--kv-cache-memory-bytes`` for `sequences` requests of `length` tokens.

    The engine also insists on one request of the full context length.
    """
    reserved = 1 if shape.settings.rules.flag("null_block_reserved") else 0
    blocks = sequences * shape.per_request(length) + reserved
    return max(blocks * shape.block_bytes, shape.request_bytes(shape.settings.max_model_len))


def holds(shape: KvShape, pool_bytes: int, sequences: int, length: int) -> bool:
    """Whether a pool holds the requests and passes the engine's own check."""
    return pool_bytes >= pool_for(shape, sequences, length)


def sequences_in(shape: KvShape, pool_bytes: int, length: int) -> int:
    """Requests of `length` tokens that a pool holds at once."""
    reserved = 1 if shape.settings.rules.flag("null_block_reserved") else 0
    return max(shape.blocks(pool_bytes) - reserved, 0) // shape.per_request(length)


def longest_context(shape: KvShape, pool_bytes: int, sequences: int, limit: int) -> int:
    """The longest context at which a pool holds `sequences` requests; 0 if none."""
    reserved = 1 if shape.settings.rules.flag("null_block_reserved") else 0
    blocks = shape.blocks(pool_bytes) - reserved
    return _largest(lambda length: sequences * shape.per_request(length) <= blocks, limit)


def least_utilization(overhead_bytes: int, pool_bytes: int, total_bytes: int) -> float | None:
    """The least utilization, to `STEP`, whose request covers both; None if all of it does not."""
    steps = round(1 / STEP)
    needed = overhead_bytes + pool_bytes
    first = max(math.floor(needed / total_bytes * steps) - 1, 1)
    for step in range(first, steps + 1):
        if math.ceil(total_bytes * (step / steps)) >= needed:
            return step / steps
    return None


def _largest(fits: Callable[[int], bool], limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
