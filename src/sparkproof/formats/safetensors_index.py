"""``model.safetensors.index.json``: which shard holds which tensor."""

from __future__ import annotations

import msgspec

from sparkproof.core.errors import FormatError

SUFFIX = ".safetensors.index.json"


class ShardIndex(msgspec.Struct, frozen=True):
    """The index; its free metadata is left alone."""

    weight_map: dict[str, str]

    @property
    def shards(self) -> tuple[str, ...]:
        """The files it names, in order."""
        return tuple(sorted(set(self.weight_map.values())))


def parse_shard_index(data: bytes, where: str) -> ShardIndex:
    """Read an index.

    Raises:
        FormatError: not JSON of this shape, or it names files in other folders.
    """
    try:
        index = msgspec.json.decode(data, type=ShardIndex)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError("no index of safetensors shards", where=where) from error
    if any("/" in name or "\\" in name or not name for name in index.shards):
        raise FormatError("names files outside of the checkpoint's folder", where=where)
    return index
