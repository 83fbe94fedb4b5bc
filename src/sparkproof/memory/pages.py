"""Bytes that one layer keeps: per token for attention, per request for a recurrent state."""

from __future__ import annotations

import math

import msgspec

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.state_layout import (
    AttentionShape,
    LayerState,
    RecurrentShape,
    StateKind,
)
from sparkproof.facts.memory_book import CacheFormat
from sparkproof.memory.settings import Settings

INDEXER_SCALE_BYTES = 4
"""One float32 scale for every 128 values of an indexer key."""


class PageSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one layer puts into one block; equal specs can share a group.

    Attributes:
        block: tokens in a block.
        token_bytes: bytes a token, 0 for a recurrent state.
        state_bytes: bytes of a recurrent state, 0 for attention.
        padded: bytes of the page after padding, 0 for none.
        identity: heads, dimensions and format that tell layers of equal size apart.
    """

    kind: StateKind
    block: int
    token_bytes: int = 0
    state_bytes: int = 0
    padded: int = 0
    window: int = 0
    chunk: int = 0
    identity: tuple[int | str, ...] = ()

    @property
    def natural_bytes(self) -> int:
        """Page without padding."""
        return self.state_bytes or self.block * self.token_bytes

    @property
    def page_bytes(self) -> int:
        """Page as allocated."""
        return self.padded or self.natural_bytes


def token_bytes(layer: LayerState, cache: CacheFormat, settings: Settings) -> int:
    """Bytes one token takes in one attention layer on one rank.

    Raises:
        UsageError: the format does not fit the layer.
    """
    shape = layer.attention
    assert shape is not None
    if layer.kind is StateKind.INDEXER:
        return shape.head_dim + shape.head_dim // 128 * INDEXER_SCALE_BYTES
    if layer.kind is StateKind.MLA:
        return _latent_bytes(shape, cache, settings.model_bytes)
    heads = max(1, shape.kv_heads // settings.tensor_parallel)
    return heads * _head_bytes(shape, cache, settings.model_bytes)


def _latent_bytes(shape: AttentionShape, cache: CacheFormat, model_bytes: int) -> int:
    if cache.packing == "latent-row":
        return cache.row_bytes
    if cache.packing == "plain":
        return int(shape.head_dim * (cache.element_bytes or model_bytes))
    raise UsageError(f"`{cache.name}` does not fit latent attention", hint="take fp8 or auto")


def _head_bytes(shape: AttentionShape, cache: CacheFormat, model_bytes: int) -> int:
    dims = (shape.head_dim, shape.value_dim)
    if cache.packing == "plain":
        return int(sum(dims) * (cache.element_bytes or model_bytes))
    if cache.packing == "per-token-head":
        return sum(int(dim * cache.element_bytes) for dim in dims) + 2 * 4
    if cache.packing == "packed-nvfp4":
        return sum(dim // 2 + dim // 16 for dim in dims)
    if cache.packing == "packed-slot":
        key = math.ceil(shape.head_dim * cache.key_bits / 8) + cache.key_extra_bytes
        value = math.ceil(shape.head_dim * cache.value_bits / 8) + cache.value_extra_bytes
        return (key + value + 1) // 2 * 2
    raise UsageError(f"`{cache.name}` is for latent attention only", hint="take fp8 or auto")


def state_bytes(layer: LayerState, settings: Settings) -> int:
    """Bytes of one recurrent state of one layer on one rank.

    Raises:
        UsageError: the heads can't be shared out over the ranks.
    """
    shape, ranks = layer.recurrent, settings.tensor_parallel
    assert shape is not None
    taps = shape.conv_kernel - 1 + _extra_taps(layer.kind, settings)
    conv = taps * _share(_conv_channels(layer.kind, shape, ranks), ranks) if taps > 0 else 0
    return conv * settings.conv_bytes + _temporal(layer.kind, shape, ranks) * settings.ssm_bytes


def _extra_taps(kind: StateKind, settings: Settings) -> int:
    rules = settings.rules
    grows = {
        StateKind.GDN: True,
        StateKind.MAMBA2: True,
        StateKind.KDA: rules.flag("kda_speculates"),
        StateKind.SHORT_CONV: rules.flag("short_conv_speculates"),
    }
    return settings.speculative_tokens if grows.get(kind, False) else 0


def _conv_channels(kind: StateKind, shape: RecurrentShape, ranks: int) -> int:
    if kind in (StateKind.MAMBA1, StateKind.SHORT_CONV):
        return shape.inner
    if kind is StateKind.LINEAR:
        return 0
    groups = shape.groups
    if kind is StateKind.MAMBA2 and groups % ranks:
        groups = ranks  # groups are replicated until every rank has the ones its heads use
    return shape.inner + 2 * groups * shape.state


def _temporal(kind: StateKind, shape: RecurrentShape, ranks: int) -> int:
    if kind is StateKind.SHORT_CONV:
        return 0
    if kind is StateKind.MAMBA1:
        return _share(shape.inner, ranks) * shape.state
    last = shape.head_dim if kind in (StateKind.KDA, StateKind.LINEAR) else shape.state
    return _share(shape.heads, ranks) * shape.head_dim * last


def _share(total: int, ranks: int) -> int:
    if total % ranks:
        raise UsageError(
            f"tensor parallelism of {ranks} does not divide {total} state channels or heads",
            hint="vLLM refuses to start so",
        )
    return total // ranks
