"""Groups: layers that share one block table, and the bytes of one block over all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.state_layout import StateKind
from sparkproof.memory.pages import PageSpec
from sparkproof.memory.settings import Settings

_GROWING = frozenset({StateKind.FULL, StateKind.MLA, StateKind.INDEXER, StateKind.SINK})
_LATENT = frozenset({StateKind.MLA, StateKind.INDEXER})


class Bucket(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Layers with the same page."""

    spec: PageSpec
    count: int


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One block table.

    Attributes:
        members: pages in it, of one kind unless pages differ in size only.
    """

    members: tuple[Bucket, ...]

    @property
    def spec(self) -> PageSpec:
        """The page that stands for the group."""
        return self.members[0].spec

    @property
    def layers(self) -> int:
        """Layers in it."""
        return sum(member.count for member in self.members)

    @property
    def block_bytes(self) -> int:
        """Bytes of one block over all layers of the group."""
        return sum(member.spec.page_bytes * member.count for member in self.members)


class Grouping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the pool is cut.

    Attributes:
        block_bytes: bytes of one block of the pool.
        padding_layers: layers that exist on paper only, to make groups equal.
    """

    groups: tuple[Group, ...]
    block_bytes: int
    padding_layers: tuple[int, ...] = ()

    @property
    def smallest_block(self) -> int:
        """Tokens of the smallest block of any group."""
        return min(group.spec.block for group in self.groups)


def merge(buckets: Sequence[Bucket]) -> tuple[Bucket, ...]:
    """Put equal pages together, in the order in which they first appear."""
    found: dict[PageSpec, int] = {}
    for bucket in buckets:
        found[bucket.spec] = found.get(bucket.spec, 0) + bucket.count
    return tuple(Bucket(spec, count) for spec, count in found.items())


def group_layers(buckets: Sequence[Bucket], settings: Settings) -> Grouping:
    """Group the pages of a model the way the release does.

    Raises:
        UsageError: pages that the release can't bring to one size, as it says itself.
    """
    merged = merge(buckets)
    if not settings.hybrid_manager and not _one_type(merged):
        merged = merge([Bucket(_promote(b.spec, merged), b.count) for b in merged])
        if not _one_type(merged):
            raise UsageError(
                "without the hybrid KV cache manager all layers have to be of one kind",
                hint="leave --disable-hybrid-kv-cache-manager out",
            )
    if _one_type(merged):
        group = Group(merged)
        return Grouping((group,), group.block_bytes)
    try:
        unified = merge([Bucket(_unify(b.spec, merged, settings), b.count) for b in merged])
    except UsageError:
        fallback = _all_growing(merged) if settings.rules.flag("local_fallback") else None
        if fallback is None:
            raise
        return Grouping((fallback,), fallback.block_bytes)
    return _equal_groups(unified)


def _one_type(buckets: Sequence[Bucket]) -> bool:
    """All layers need the same number of blocks, so one table serves them."""
    specs = [bucket.spec for bucket in buckets]
    first = specs[0]
    if len({spec.block for spec in specs}) > 1:
        return False
    if first.kind in _GROWING:
        return all(spec.kind in _GROWING for spec in specs)
    if first.kind.recurrent:
        return all(spec.kind.recurrent for spec in specs)
    return all(
        spec.kind is first.kind and (spec.window, spec.chunk) == (first.window, first.chunk)
        for spec in specs
    )


def _promote(spec: PageSpec, buckets: Sequence[Bucket]) -> PageSpec:
    """Without the hybrid manager, windowed layers are kept like full attention."""
    full = [bucket.spec.block for bucket in buckets if bucket.spec.kind in _GROWING]
    if not full or spec.kind not in (StateKind.SLIDING, StateKind.CHUNKED):
        return spec
    block = full[0] if len(set(full)) == 1 else spec.block
    return msgspec.structs.replace(spec, kind=StateKind.FULL, window=0, chunk=0, block=block)


def _all_growing(buckets: Sequence[Bucket]) -> Group | None:
    kinds = {bucket.spec.kind for bucket in buckets}
    if not (kinds & _LATENT and StateKind.SLIDING in kinds) or StateKind.CHUNKED in kinds:
        return None
    promoted = merge([Bucket(_promote(b.spec, buckets), b.count) for b in buckets])
    return Group(promoted) if _one_type(promoted) else None


def _unify(spec: PageSpec, buckets: Sequence[Bucket], settings: Settings) -> PageSpec:
    largest = max(bucket.spec.page_bytes for bucket in buckets)
    page = spec.page_bytes
    if page == largest:
        return spec
    if spec.kind.recurrent:
        if settings.rules.flag("pad_states"):
            return msgspec.structs.replace(spec, padded=largest)
    elif largest % page == 0:
        return msgspec.structs.replace(spec, block=spec.block * (largest // page))
    elif _can_pad(spec.kind, settings):
        return msgspec.structs.replace(spec, padded=largest)
    raise UsageError(
        f"a page of {page:,} bytes ({spec.kind}) does not divide the largest page of"
        f" {largest:,} bytes: vLLM {settings.rules.version} can't cut one pool for both",
        hint="another --kv-cache-dtype, --block-size or drafter changes the pages",
    )


def _can_pad(kind: StateKind, settings: Settings) -> bool:
    rule = settings.rules.text("pad_attention")
    return rule != "never" and kind not in _LATENT


def _equal_groups(buckets: Sequence[Bucket]) -> Grouping:
    """Split every bucket into groups of one size; the last of a bucket may be short."""
    counts = [bucket.count for bucket in buckets]
    size = max(counts) if max(counts) < min(counts) * 1.5 else min(counts)
    groups: list[Group] = []
    padding: list[int] = []
    for bucket in buckets:
        number = math.ceil(bucket.count / size)
        missing = number * size - bucket.count
        padding += [missing] if missing else []
        groups += [
            Group((Bucket(bucket.spec, len(range(i, bucket.count, number))),))
            for i in range(number)
        ]
    return Grouping(tuple(groups), max(group.block_bytes for group in groups), tuple(padding))
