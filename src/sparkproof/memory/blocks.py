"""Blocks a request needs, blocks a pool holds, and the two numbers of the boot log."""

from __future__ import annotations

import math

from sparkproof.core.observations.state_layout import StateKind
from sparkproof.memory.grouping import Group, Grouping
from sparkproof.memory.settings import Settings


def blocks_of_group(group: Group, settings: Settings, length: int) -> int:
    """Blocks that one request of `length` tokens takes in one group at most."""
    spec = group.spec
    if spec.kind.recurrent:
        return _states(spec.kind, spec.block, settings, length)
    if spec.kind is StateKind.SLIDING:
        held = min(spec.window - 1 + settings.in_flight_tokens, length)
        return math.ceil(held / spec.block) + 1
    if spec.kind is StateKind.CHUNKED:
        return math.ceil(min(spec.chunk + settings.in_flight_tokens, length) / spec.block)
    return math.ceil(math.ceil(length / settings.context_parallel) / spec.block)


def _states(kind: StateKind, block: int, settings: Settings, length: int) -> int:
    extra = settings.speculative_tokens
    rules = settings.rules
    if settings.state_mode == "none":
        return 1 + extra
    if settings.state_mode == "align":
        checkpointed = kind.value in rules.words("checkpoint_kinds") or (
            kind is StateKind.GDN and settings.checkpoint_tokens > 0
        )
        return 2 + extra + checkpointed
    return math.ceil(length / block) + (extra if rules.flag("all_mode_speculates") else 0)


def blocks_per_request(grouping: Grouping, settings: Settings, length: int) -> int:
    """Blocks that one request of `length` tokens takes in all groups together."""
    return sum(blocks_of_group(group, settings, length) for group in grouping.groups)


def request_bytes(grouping: Grouping, settings: Settings, length: int) -> int:
    """Bytes that the engine's own check asks for one request of `length` tokens."""
    blocks = blocks_per_request(grouping, settings, length)
    reserved = 1 if settings.rules.flag("null_block_reserved") else 0
    return (blocks + reserved) * grouping.block_bytes


def printed_tokens(
    grouping: Grouping, settings: Settings, blocks: int, length: int
) -> tuple[int, float]:
    """Tokens and concurrency as this release prints them."""
    concurrency = blocks / blocks_per_request(grouping, settings, length)
    if settings.rules.text("token_line") == "blocks-over-groups":
        tokens = blocks // len(grouping.groups) * grouping.smallest_block
        return tokens * settings.context_parallel, concurrency
    return int(concurrency * length), concurrency


def longest_request(grouping: Grouping, settings: Settings, pool_bytes: int, limit: int) -> int:
    """The longest request, up to `limit` tokens, that a pool holds; 0 if not even one token."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if request_bytes(grouping, settings, middle) <= pool_bytes:
            low = middle
        else:
            high = middle - 1
    return low
