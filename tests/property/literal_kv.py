"""The KV arithmetic once more: one object a layer, counting instead of dividing.

Written from the released source, apart from the code under test, and shares nothing with it but
the rules' values. Slow on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Layer:
    kind: str  # full, sliding, chunked, gdn, mamba2, shortconv
    kv_heads: int = 0
    head_dim: int = 0
    window: int = 0
    chunk: int = 0
    heads: int = 0
    state_dim: int = 0
    groups: int = 0
    group_dim: int = 0
    taps: int = 0

    @property
    def recurrent(self) -> bool:
        return self.kind in ("gdn", "mamba2", "shortconv")


@dataclass(frozen=True)
class World:
    """Values of the release and the flags."""

    element: int
    model: int
    conv: int
    ssm: int
    ranks: int
    speculative: int
    mode: str
    block: int
    smallest: int
    length: int
    in_flight: int
    sliding_block: str
    old_tokens: bool
    pad_attention: bool
    pad_states: bool
    conv_grows: bool
    extra_state: dict[str, int]
    step: int


@dataclass(frozen=True)
class Page:
    layer: Layer
    block: int
    size: int


class RefusedError(Exception):
    pass


def up(value: int, step: int) -> int:
    """The first multiple of `step` that is not below `value`."""
    found = 0
    while found < value:
        found += step
    return found


def bytes_of_token(layer: Layer, world: World) -> int:
    heads = layer.kv_heads // world.ranks
    if heads == 0:
        heads = 1
    total = 0
    for _ in range(heads):
        total += layer.head_dim * world.element  # key
        total += layer.head_dim * world.element  # value
    return total


def bytes_of_state(layer: Layer, world: World) -> int:
    taps = layer.taps - 1
    if layer.kind in ("gdn", "mamba2") or (layer.kind == "shortconv" and world.conv_grows):
        taps += world.speculative
    if layer.kind == "shortconv":
        return taps * (layer.heads * layer.state_dim // world.ranks) * world.conv
    groups = layer.groups
    if layer.kind == "mamba2" and groups % world.ranks:
        groups = world.ranks
    channels = layer.heads * layer.state_dim + groups * layer.group_dim + groups * layer.group_dim
    conv = taps * (channels // world.ranks) * world.conv
    temporal = 0
    for _ in range(layer.heads // world.ranks):
        temporal += layer.state_dim * layer.group_dim * world.ssm
    return conv + temporal


def block_size(layers: list[Layer], world: World) -> int:
    attention = [layer for layer in layers if not layer.recurrent]
    states = [bytes_of_state(layer, world) for layer in layers if layer.recurrent]
    if not attention or not states:
        return world.block
    per_token = bytes_of_token(attention[0], world)
    block = world.step
    while block * per_token < max(states):
        block += world.step
    return max(block, world.block)


def pages(layers: list[Layer], world: World) -> list[Page]:
    block = block_size(layers, world)
    attention = [layer for layer in layers if not layer.recurrent]
    found = []
    for layer in layers:
        if layer.recurrent:
            size = bytes_of_state(layer, world)
            if attention:
                size = block * bytes_of_token(attention[0], world)
            found.append(Page(layer, world.length if world.mode == "none" else block, size))
            continue
        own = block
        if layer.kind == "sliding" and world.sliding_block == "smallest-kernel":
            own = world.smallest
        if layer.kind == "sliding" and world.sliding_block == "largest-kernel":
            own = max(size for size in (16, 32, 64) if size <= max(block, 16))
        found.append(Page(layer, own, own * bytes_of_token(layer, world)))
    return found


def same_size(found: list[Page], world: World) -> list[Page]:
    largest = max(page.size for page in found)
    result = []
    for page in found:
        if page.size == largest:
            result.append(page)
        elif page.layer.recurrent:
            if not world.pad_states:
                raise RefusedError
            result.append(replace(page, size=largest))
        elif largest % page.size == 0:
            ratio = largest // page.size
            result.append(replace(page, block=page.block * ratio, size=largest))
        elif world.pad_attention:
            result.append(replace(page, size=largest))
        else:
            raise RefusedError
    return result


def groups_of(found: list[Page]) -> list[list[Page]]:
    buckets: list[list[Page]] = []
    for page in found:
        for bucket in buckets:
            if bucket[0] == page:
                bucket.append(page)
                break
        else:
            buckets.append([page])
    fewest = min(len(bucket) for bucket in buckets)
    most = max(len(bucket) for bucket in buckets)
    size = most if most * 2 < fewest * 3 else fewest
    groups = []
    for bucket in buckets:
        number = 0
        while number * size < len(bucket):
            number += 1
        groups += [bucket[start::number] for start in range(number)]
    return groups


def one_table(found: list[Page]) -> bool:
    if len({page.block for page in found}) > 1:
        return False
    kinds = {page.layer.kind for page in found}
    if kinds == {"full"} or all(page.layer.recurrent for page in found):
        return True
    limits = {(page.layer.window, page.layer.chunk) for page in found}
    return len(kinds) == 1 and len(limits) == 1


def need(page: Page, world: World) -> int:
    layer = page.layer
    if layer.recurrent:
        if world.mode == "none":
            return 1 + world.speculative
        return 2 + world.speculative + world.extra_state.get(layer.kind, 0)
    tokens = world.length
    if layer.kind == "sliding":
        tokens = min(layer.window - 1 + world.in_flight, world.length)
    if layer.kind == "chunked":
        tokens = min(layer.chunk + world.in_flight, world.length)
    blocks = up(tokens, page.block) // page.block
    return blocks + 1 if layer.kind == "sliding" else blocks


def literal(layers: list[Layer], world: World, pool: int) -> tuple[int, int, int, int]:
    """Block size, blocks, blocks a request, printed tokens."""
    found = pages(layers, world)
    if len(set(found)) == 1 or one_table(found):
        groups = [found]
    else:
        groups = groups_of(same_size(found, world))
    per_block = max(sum(page.size for page in group) for group in groups)
    blocks = pool // per_block
    request = sum(need(group[0], world) for group in groups)
    if world.old_tokens:
        tokens = blocks // len(groups) * min(group[0].block for group in groups)
    else:
        tokens = int(blocks / request * world.length)
    return block_size(layers, world), blocks, request, tokens
