"""What AWQ, GPTQ and AutoRound write into a quantization block."""

from __future__ import annotations

import msgspec

from sparkproof.formats.json_object import Fields

_MAX_RULES = 4096


class LayerOverride(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the layers that a name or pattern covers.

    Attributes:
        bits: 0 where the block's own hold.
        excluded: the layers are left alone.
    """

    entry: str
    bits: int = 0
    group_size: int = 0
    excluded: bool = False


class WeightOnly(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Integer (or MX) weights, one setting for all with exceptions.

    Attributes:
        bits: 0 where not stated.
        group_size: inputs under one scale; -1 for a whole row, 0 where not stated.
        block: sides of a two-dimensional group.
        activation_order: columns are permuted by activation (``desc_act``).
        lm_head: the output layer is quantized too.
        only: GPTQ's parts of names that are quantized; empty for all.
        blocks: AutoRound's beginnings of names that are quantized; empty for all.
        overrides: exceptions in the order of the file.
        data_type: AutoRound's, e.g. ``int`` or ``mx_fp``.
        packing: AutoRound's ``packing_format``.
    """

    bits: int = 0
    group_size: int = 0
    block: tuple[int, ...] = ()
    symmetric: bool = True
    activation_order: bool = False
    lm_head: bool = False
    only: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    overrides: tuple[LayerOverride, ...] = ()
    data_type: str = ""
    packing: str = ""


def parse_weight_only(block: Fields) -> WeightOnly:
    """Read the fields that these methods share under several names.

    Raises:
        FormatError: one of another type or range; the message names it.
    """
    block_sides = isinstance(block.raw.get("group_size"), list)
    return WeightOnly(
        bits=_first(block, ("bits", "w_bit", "wbits"), high=64),
        group_size=0 if block_sides else _first(block, ("group_size", "q_group_size"), low=-1),
        block=block.integers("group_size") if block_sides else (),
        symmetric=_symmetric(block),
        activation_order=_flag(block, "desc_act"),
        lm_head=_flag(block, "lm_head"),
        only=_names(block, ("modules_in_block_to_quantize",)),
        blocks=_names(block, ("block_name_to_quantize", "to_quant_block_names")),
        overrides=(*_dynamic(block), *_extra(block)),
        data_type=block.text("data_type").lower(),
        packing=block.text("packing_format").lower(),
    )


def _first(block: Fields, keys: tuple[str, ...], low: int = 0, high: int = 1 << 24) -> int:
    return next((block.integer(key, low=low, high=high) for key in keys if key in block), 0)


def _flag(block: Fields, key: str) -> bool:
    """Some writers put a word (``desc_act: "static"``) or a list where a flag is meant."""
    value = block.raw.get(key)
    return value if isinstance(value, bool) else False


def _symmetric(block: Fields) -> bool:
    if "sym" in block:
        return block.flag("sym", default=True)
    return not block.flag("zero_point", default=False)


def _names(block: Fields, keys: tuple[str, ...]) -> tuple[str, ...]:
    for key in keys:
        value = block.raw.get(key)
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        if isinstance(value, list):
            flat = [name for item in value for name in (item if isinstance(item, list) else [item])]
            if not all(isinstance(name, str) for name in flat):
                raise block.wrong(key, "no list of names")
            return tuple(str(name) for name in flat)
    return ()


def _dynamic(block: Fields) -> tuple[LayerOverride, ...]:
    """GPTQModel: patterns with a sign, ``-:`` leaves out, ``+:`` or none sets."""
    if not isinstance(block.raw.get("dynamic"), dict):
        return ()
    table = block.table("dynamic")
    found = []
    for pattern in list(table.raw if table else ())[:_MAX_RULES]:
        inner = table.table(pattern) if table else None
        sign, _, rest = pattern.partition(":")
        signed = sign in ("+", "-")
        found.append(
            LayerOverride(
                f"re:{rest if signed else pattern}",
                inner.integer("bits", high=64) if inner else 0,
                inner.integer("group_size", low=-1) if inner else 0,
                excluded=sign == "-",
            )
        )
    return tuple(found)


def _extra(block: Fields) -> tuple[LayerOverride, ...]:
    """AutoRound: layers by name or pattern; 16 bits or more mean that they are left alone."""
    found = []
    for name, entry in block.tables("extra_config")[: _MAX_RULES * 16]:
        bits = entry.integer("bits", high=64)
        size = 0 if isinstance(entry.raw.get("group_size"), list) else _size(entry)
        found.append(LayerOverride(name, bits, size, excluded=bits >= 16))
    return tuple(found)


def _size(entry: Fields) -> int:
    return entry.integer("group_size", low=-1)
