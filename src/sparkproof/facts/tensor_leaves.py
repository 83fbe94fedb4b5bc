"""What the last word of a tensor's name says it is for."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from sparkproof.facts.book import load_file


class Role(StrEnum):
    """What a tensor is to its module."""

    WEIGHT = "weight"
    SCALE = "scale"
    GLOBAL_SCALE = "global-scale"
    INPUT_SCALE = "input-scale"
    ZERO_POINT = "zero-point"
    ORDER = "order"
    SHAPE = "shape"
    CHANNEL_SCALE = "channel-scale"
    KV_SCALE = "kv-scale"
    ASIDE = "aside"


class _Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: tuple[str, ...]
    suffixes: tuple[str, ...]


class _Hidden(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    takes: tuple[str, ...]
    gives: tuple[str, ...]


class _Leaves(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    source: str
    checked: date
    weight: _Names
    scale: _Names
    global_scale: _Names
    input_scale: _Names
    zero_point: _Names
    order: _Names
    shape: _Names
    channel_scale: _Names
    kv_scale: _Names
    aside: _Names
    hidden: _Hidden


class LeafBook:
    """Roles by last word, and by suffix where the word is a module's own name.

    Attributes:
        takes_hidden, gives_hidden: last words of modules on the vector that runs through a model.
    """

    def __init__(self) -> None:
        leaves = load_file("tensor_leaves.toml", _Leaves)
        self.takes_hidden = frozenset(leaves.hidden.takes)
        self.gives_hidden = frozenset(leaves.hidden.gives)
        by_role = {role: getattr(leaves, role.replace("-", "_")) for role in Role}
        self._names = {name: role for role, entry in by_role.items() for name in entry.names}
        pairs = [(suffix, role) for role, entry in by_role.items() for suffix in entry.suffixes]
        self._suffixes = sorted(pairs, key=lambda pair: -len(pair[0]))

    def split(self, leaf: str) -> tuple[str, Role | None]:
        """Role of a last word, and what of it belongs to the module's name ("" for nothing).

        The role is None where the word tells nothing: the tensor is the module itself.
        """
        if leaf in self._names:
            return "", self._names[leaf]
        for suffix, role in self._suffixes:
            if leaf.endswith(suffix):
                return leaf.removesuffix(suffix), role
        return leaf, None


@cache
def leaf_book() -> LeafBook:
    """The book, read once."""
    return LeafBook()
