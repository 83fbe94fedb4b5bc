"""From layers, settings and bytes to the numbers that the boot log prints."""

from __future__ import annotations

from sparkproof.core.errors import UnknownLayoutError, UsageError
from sparkproof.core.memory_plan import KvGroup, KvPlan
from sparkproof.core.observations.state_layout import LayerState, StateLayout
from sparkproof.memory.align import Alignment, align_blocks, page_spec
from sparkproof.memory.blocks import (
    blocks_of_group,
    blocks_per_request,
    longest_request,
    printed_tokens,
    request_bytes,
)
from sparkproof.memory.grouping import Bucket, Grouping, group_layers
from sparkproof.memory.settings import Settings

ROUNDING_BYTES = 5 * (1 << 30) // 1000
"""Half of the last digit that the log prints of the pool, in GiB."""


class KvShape:
    """The pool's cut for one model and one set of flags; bytes come later.

    Args:
        layout: the target's layers.
        settings: flags and release, resolved.
        drafter: layers of a draft model that brings its own checkpoint.

    Raises:
        UsageError: a layout that is unknown here or refused by the release.
    """

    def __init__(
        self, layout: StateLayout, settings: Settings, drafter: StateLayout | None = None
    ) -> None:
        refuse_unknown(layout)
        _refuse_mixed(layout, settings)
        self.settings = settings
        self.alignment = align_blocks(layout, settings)
        buckets = [_bucket(layer, settings, self.alignment) for layer in layout.layers]
        buckets += [
            Bucket(page_spec(layer, settings, self.alignment, settings.draft_cache), layer.count)
            for layer in _draft_layers(layout, settings, drafter)
        ]
        self.grouping: Grouping = group_layers(
            [bucket for bucket in buckets if bucket.count], settings
        )
        if settings.pipeline_parallel > 1 and len(self.grouping.groups) > 1:
            raise UsageError(
                "the cut of a hybrid over pipeline stages is not known here",
                hint="leave --pipeline-parallel-size out",
            )

    @property
    def block_bytes(self) -> int:
        """Bytes of one block on the rank that has most layers."""
        stages = self.settings.pipeline_parallel
        if stages == 1:
            return self.grouping.block_bytes
        group = self.grouping.groups[0]
        return -(-group.layers // stages) * group.spec.page_bytes

    def blocks(self, pool_bytes: int) -> int:
        """Blocks that a pool holds."""
        return max(pool_bytes, 0) // self.block_bytes

    def per_request(self, length: int) -> int:
        """Blocks of one request."""
        return blocks_per_request(self.grouping, self.settings, length)

    def request_bytes(self, length: int) -> int:
        """Bytes that the engine asks for one request."""
        return request_bytes(self.grouping, self.settings, length)

    def longest(self, pool_bytes: int, limit: int) -> int:
        """The longest request that a pool holds."""
        return longest_request(self.grouping, self.settings, pool_bytes, limit)

    def printed(self, blocks: int, length: int) -> tuple[int, float]:
        """Tokens and concurrency as this release prints them."""
        return printed_tokens(self.grouping, self.settings, blocks, length)


def refuse_unknown(layout: StateLayout) -> None:
    """Stop where part of the state is not known.

    Raises:
        UnknownLayoutError: names the field or layer kind.
        UsageError: no layer keeps a state.
    """
    if layout.unknowns:
        first = layout.unknowns[0]
        raise UnknownLayoutError(
            f"{first.where}: {first.why}", hint=first.hint or "its state can't be added up"
        )
    if not layout.layers:
        raise UsageError(
            f"{layout.name} declares no layer that keeps a state",
            hint="`sparkproof checkpoint` shows what it declares",
        )


def _refuse_mixed(layout: StateLayout, settings: Settings) -> None:
    """Formats that a release keeps some of the layers out of."""
    boundary = settings.cache.packing == "packed-slot" and not layout.hybrid
    if settings.skip_layers or boundary:
        flag = "--kv-cache-dtype-skip-layers" if settings.skip_layers else settings.cache.name
        raise UsageError(
            f"`{flag}` leaves some layers in another format; "
            "which pages that gives is not known here",
            hint="give one format for all layers",
        )


def plan_kv(shape: KvShape, pool_bytes: int, *, rounding_bytes: int = 0, blocks: int = 0) -> KvPlan:
    """The pool as it will be printed.

    Args:
        shape: the cut.
        pool_bytes: bytes of the pool on each rank.
        rounding_bytes: how far `pool_bytes` may be from the truth, e.g. `ROUNDING_BYTES` for
            a figure read from a log.
        blocks: ``--num-gpu-blocks-override``, 0 for none.
    """
    settings = shape.settings
    length = settings.max_model_len
    count = blocks or shape.blocks(pool_bytes)
    more = blocks or shape.blocks(pool_bytes + rounding_bytes)
    less = blocks or shape.blocks(pool_bytes - rounding_bytes)
    tokens, concurrency = shape.printed(count, length)
    tokens_more, concurrency_more = shape.printed(more, length)
    tokens_less, concurrency_less = shape.printed(less, length)
    return KvPlan(
        version=settings.rules.version,
        max_model_len=length,
        block_size=shape.alignment.block,
        block_bytes=shape.block_bytes,
        pool_bytes=pool_bytes,
        blocks=count,
        blocks_per_request=shape.per_request(length),
        tokens=tokens,
        concurrency=concurrency,
        request_bytes=shape.request_bytes(length),
        token_line=settings.rules.text("token_line"),
        groups=_groups(shape, length),
        cache_dtype=settings.cache.name,
        state_mode=settings.state_mode,
        prefix_caching=settings.prefix_caching,
        speculative_tokens=settings.speculative_tokens,
        batched_tokens=settings.batched_tokens,
        sequences=settings.sequences,
        padding_layers=shape.grouping.padding_layers,
        state_padding_percent=shape.alignment.padding_percent,
        blocks_if_more=more,
        tokens_if_more=tokens_more,
        concurrency_if_more=concurrency_more,
        blocks_if_less=less,
        tokens_if_less=tokens_less,
        concurrency_if_less=concurrency_less,
    )


def _groups(shape: KvShape, length: int) -> tuple[KvGroup, ...]:
    return tuple(
        KvGroup(
            kinds=tuple(dict.fromkeys(member.spec.kind.value for member in group.members)),
            layers=group.layers,
            block_tokens=group.spec.block,
            page_bytes=max(member.spec.page_bytes for member in group.members),
            blocks_per_request=blocks_of_group(group, shape.settings, length),
        )
        for group in shape.grouping.groups
    )


def _bucket(layer: LayerState, settings: Settings, alignment: Alignment) -> Bucket:
    return Bucket(page_spec(layer, settings, alignment), layer.count)


def _draft_layers(
    layout: StateLayout, settings: Settings, drafter: StateLayout | None
) -> tuple[LayerState, ...]:
    if drafter is not None:
        refuse_unknown(drafter)
        return drafter.layers
    return layout.drafts if settings.drafts else ()
