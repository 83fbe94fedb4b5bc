"""A memory plan: what the KV pool is cut into, where every byte goes, and when."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class KvGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One block table of the KV pool.

    Attributes:
        kinds: what its layers keep.
        block_tokens: tokens in a block.
        page_bytes: bytes of one block in one layer.
        blocks_per_request: blocks of one request of the full context length.
    """

    kinds: tuple[str, ...]
    layers: int
    block_tokens: int
    page_bytes: int
    blocks_per_request: int


class KvPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The KV pool of one release: exact, given the bytes.

    Attributes:
        block_size: tokens, as the boot log and `vllm:cache_config_info` print it.
        block_bytes: bytes of one block over all layers, per rank.
        pool_bytes: bytes given to the pool, per rank.
        blocks: blocks in the pool.
        tokens, concurrency: as this release prints them.
        request_bytes: what the engine asks for one request of `max_model_len`.
        tokens_if_more, concurrency_if_more: the same with one block more, where the bytes were
            rounded and may hold it; equal to `tokens` and `concurrency` where they may not.
        padding_layers: layers that only fill groups up.
        state_padding_percent: by how much recurrent states are padded.
    """

    version: str
    max_model_len: int
    block_size: int
    block_bytes: int
    pool_bytes: int
    blocks: int
    blocks_per_request: int
    tokens: int
    concurrency: float
    request_bytes: int
    token_line: str
    groups: tuple[KvGroup, ...]
    cache_dtype: str
    state_mode: str
    prefix_caching: bool
    speculative_tokens: int
    batched_tokens: int
    sequences: int
    padding_layers: tuple[int, ...] = ()
    state_padding_percent: float = 0.0
    blocks_if_more: int = 0
    tokens_if_more: int = 0
    concurrency_if_more: float = 0.0
    blocks_if_less: int = 0
    tokens_if_less: int = 0
    concurrency_if_less: float = 0.0

    @property
    def bytes_per_token(self) -> float:
        """The pool divided by the printed tokens: depends on the context length."""
        return self.pool_bytes / self.tokens if self.tokens else 0.0


class Origin(StrEnum):
    """Where a number is from, surest first."""

    GIVEN = "given"
    """A flag or the user's word."""
    MEASURED = "measured"
    """Read on this box or in this log."""
    CHECKPOINT = "checkpoint"
    """Added up from the checkpoint's own headers."""
    EXACT = "exact"
    """Follows from the above by the release's own arithmetic."""
    ESTIMATED = "estimated"
    """From dated field reports, with an interval."""


class BudgetLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One use of memory.

    Attributes:
        name: stable slug, e.g. ``weights``.
        low_bytes, high_bytes: the interval that should hold four boots in five.
        why: what the number rests on, one line.
    """

    name: str
    bytes: int
    low_bytes: int
    high_bytes: int
    origin: Origin
    why: str


class Phase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stretch of a server's life and what is held in it.

    Attributes:
        name: stable slug, e.g. ``capture``.
        uses: line name to bytes; they and `free_bytes` sum to the total memory.
        free_bytes: what is left; negative where the phase does not fit.
        low_free_bytes, high_free_bytes: the same at either end of the estimates.
        turn_down: what to change if this is the tightest phase.
    """

    name: str
    title: str
    uses: dict[str, int]
    free_bytes: int
    low_free_bytes: int
    turn_down: str
    high_free_bytes: int


class MemoryPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The budget of one server on one box.

    Attributes:
        total_bytes: what the device reports as its memory.
        requested_bytes: utilization times total, what the engine allows itself.
        lines: uses inside the request; they sum to it exactly, with ``kv`` as the rest or, with
            an explicit pool or where nothing is left for one, with ``slack``.
        host: uses outside of it.
    """

    total_bytes: int
    available_bytes: int
    requested_bytes: int
    kv_bytes: int
    kv_low_bytes: int
    kv_high_bytes: int
    lines: tuple[BudgetLine, ...]
    host: tuple[BudgetLine, ...]
    phases: tuple[Phase, ...]

    @property
    def tightest(self) -> Phase:
        """The phase that leaves the least."""
        return min(self.phases, key=lambda phase: phase.free_bytes)
