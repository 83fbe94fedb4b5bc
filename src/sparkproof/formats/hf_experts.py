"""What ``config.json`` says of a mixture of experts: how many, and in which layers."""

from __future__ import annotations

import msgspec

from sparkproof.formats.json_object import Fields

_MAX_LAYERS = 4096
_MAX_EXPERTS = 65536
_COUNTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
_SHARED = (
    "shared_expert_intermediate_size",
    "n_shared_experts",
    "num_shared_experts",
    "moe_num_shared_experts",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
    "share_expert_dim",
)
_FIRST = ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")
_STEPS = (
    "decoder_sparse_step",
    "interleave_moe_layer_step",
    "moe_layer_interval",
    "expert_layer_period",
)
_LISTS = ("moe_layers", "moe_layers_enum", "moe_layer_freq")
_NO_COUNT = ("shared", "tok", "active", "group", "top", "zero", "redundant")


class ExpertLayers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which layers of a model with experts have them; by default all.

    Attributes:
        first, end: the layers from the first up to the end, 0 for no end.
        dense: layers that have a plain MLP.
        step, offset: every how many layers, and which of each run; -1 for the last.
        listed: the layers themselves, None where they are not listed.
    """

    first: int = 0
    end: int = 0
    dense: tuple[int, ...] = ()
    step: int = 1
    offset: int = -1
    listed: tuple[int, ...] | None = None

    def has(self, at: int) -> bool:
        """Whether a layer has experts."""
        if self.listed is not None:
            return at in self.listed
        step = max(self.step, 1)
        met = at % step == (self.offset if self.offset >= 0 else step - 1)
        return met and at >= self.first and not 0 < self.end <= at and at not in self.dense


def parse_expert_layers(inner: Fields) -> ExpertLayers:
    """Read where the experts are, from whichever keys tell it.

    Raises:
        FormatError: a key of another type or range; the message names it.
    """
    end = inner.integer("moe_layer_end_index", low=-1, high=_MAX_LAYERS)
    offset = "expert_layer_offset"
    return ExpertLayers(
        first=_first(_FIRST, inner, 0),
        end=max(end + 1, 0) if "moe_layer_end_index" in inner else 0,
        dense=inner.integers("mlp_only_layers"),
        step=_first(_STEPS, inner, 1),
        offset=inner.integer(offset, high=_MAX_LAYERS) if offset in inner else -1,
        listed=_listed(inner),
    )


def _listed(inner: Fields) -> tuple[int, ...] | None:
    """Numbers as a list or as text, or a mark a layer."""
    key = next((k for k in _LISTS if isinstance(inner.raw.get(k), list | str)), "")
    if not key:
        return None
    if isinstance(inner.raw[key], str):
        words = [word.strip() for word in inner.text(key).split(",") if word.strip()]
        if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
            raise inner.wrong(key, "no list of layers")
        return tuple(map(int, words))
    numbers = inner.integers(key)
    if key.endswith("freq"):
        return tuple(at for at, mark in enumerate(numbers) if mark)
    return numbers


def count_experts(inner: Fields) -> int:
    """How many routed experts a layer has, 0 for none; a key that looks like it counts too.

    Raises:
        FormatError: the key is no count.
    """
    for key in _COUNTS:
        if key in inner:
            return inner.integer(key, high=_MAX_EXPERTS)
    likely = (k for k in inner.raw if "expert" in k and k.startswith(("n_", "num_", "moe_num_")))
    for key in likely:
        value = inner.raw[key]
        other = any(word in key for word in _NO_COUNT)
        if not other and type(value) is int and 1 < value <= _MAX_EXPERTS:
            return value
    return 0


def has_shared_expert(inner: Fields) -> bool:
    """Whether an expert stands beside the routed ones, that every token meets.

    Raises:
        FormatError: a key is no count.
    """
    return any(_any_positive(inner, key) for key in _SHARED)


def _any_positive(inner: Fields, key: str) -> bool:
    if isinstance(inner.raw.get(key), list):
        return any(number > 0 for number in inner.integers(key))
    return inner.integer(key) > 0


def _first(keys: tuple[str, ...], inner: Fields, default: int) -> int:
    found = (key for key in keys if isinstance(inner.raw.get(key), int | float))
    return next((inner.integer(key, high=_MAX_LAYERS) for key in found), default)
