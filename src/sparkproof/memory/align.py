"""Block sizes: how a hybrid's attention blocks are stretched to the size of a state."""

from __future__ import annotations

import math

import msgspec

from sparkproof.core.observations.state_layout import LayerState, StateKind, StateLayout
from sparkproof.facts.memory_book import CacheFormat
from sparkproof.memory.pages import PageSpec, state_bytes, token_bytes
from sparkproof.memory.settings import Settings

WINDOWED = frozenset({StateKind.SLIDING})


class Alignment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The block size of a model and what it cost.

    Attributes:
        block: tokens in a block of the primary attention layers.
        state_page: bytes every recurrent state is padded to, 0 where nothing is padded.
        padding_percent: by how much that is more than the state needs.
    """

    block: int
    state_page: int = 0
    padding_percent: float = 0.0


def align_blocks(layout: StateLayout, settings: Settings) -> Alignment:
    """Stretch the block until an attention page holds a recurrent state."""
    states = [layer for layer in layout.layers if layer.kind.recurrent]
    primary = next((layer for layer in layout.layers if not layer.kind.recurrent), None)
    if not states or primary is None:
        return Alignment(settings.block_size)
    per_token = token_bytes(primary, settings.cache, settings)
    state = max(state_bytes(layer, settings) for layer in states)
    step = _step(layout, settings)
    block = max(settings.block_size, step * math.ceil(state / (step * per_token)))
    page = block * per_token
    if page == state:
        return Alignment(block)
    return Alignment(block, page, 100 * (page - state) / state)


def _step(layout: StateLayout, settings: Settings) -> int:
    step = max(settings.backend.smallest, settings.block_size)
    if layout.latent:
        step = max(step, settings.rules.count("latent_hybrid_block"))
    if settings.state_mode == "all":
        return math.lcm(settings.state_block_size or layout.chunk_size or 2048, step)
    if settings.checkpoint_tokens:
        step = math.lcm(step, settings.checkpoint_tokens)
    return step


def page_spec(
    layer: LayerState, settings: Settings, alignment: Alignment, cache: CacheFormat | None = None
) -> PageSpec:
    """The page of one layer before pages of different kinds are made equal."""
    if layer.kind.recurrent:
        none = settings.state_mode == "none"
        return PageSpec(
            kind=layer.kind,
            block=settings.max_model_len if none else alignment.block,
            state_bytes=state_bytes(layer, settings),
            padded=alignment.state_page,
            identity=_shape(layer),
        )
    shape = layer.attention
    assert shape is not None
    used = cache or settings.cache
    per_token = token_bytes(layer, used, settings)
    return PageSpec(
        kind=layer.kind,
        block=_block(layer.kind, settings, alignment, per_token),
        token_bytes=per_token,
        window=shape.window + settings.window_more if shape.window else 0,
        chunk=shape.chunk,
        identity=(*_shape(layer), used.name),
    )


def _block(kind: StateKind, settings: Settings, alignment: Alignment, per_token: int) -> int:
    rule = settings.rules.text("sliding_block")
    if kind not in WINDOWED or rule == "model":
        return alignment.block
    backend = settings.backend
    if rule == "smallest-kernel":
        return backend.smallest
    if backend.multiples:
        return max(backend.smallest, alignment.block // backend.smallest * backend.smallest)
    budget = per_token * alignment.block
    return max(
        (size for size in backend.sizes if size * per_token <= budget), default=backend.smallest
    )


def _shape(layer: LayerState) -> tuple[int | str, ...]:
    if layer.attention is not None:
        shape = layer.attention
        return (shape.kv_heads, shape.head_dim, shape.value_dim)
    state = layer.recurrent
    assert state is not None
    return (state.heads, state.head_dim, state.state, state.groups, state.conv_kernel, state.inner)
