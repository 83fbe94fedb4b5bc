"""How long a request a model's config allows, and what its attention can be divided into."""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from sparkproof.checkpoint.state_layout import text_table
from sparkproof.core.errors import FormatError
from sparkproof.formats.json_object import Fields, Json

_LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
"""Keys of which vLLM takes the smallest, but for `_OVERRIDING` (``derive_max_model_len_and_key`` of
0.20.0 to 0.33.0)."""
_OVERRIDING = "model_max_length"
_UNSCALED = frozenset({"", "default", "su", "llama3", "mrope"})
"""Kinds of position scaling whose factor does not lengthen the context, in every release."""
_FROM_ORIGINAL = "yarn"
"""Lengthens the original context up to 0.29.0, and the declared one has it already from 0.30.0."""
_SHORT_BY_DEFAULT = "longrope"
"""Without a flag the context is the original one."""
_SCALINGS = ("rope_scaling", "rope_parameters")
_LIMIT = 1 << 40


class Limits(NamedTuple):
    """What a config allows; 0 where it does not say.

    Attributes:
        longest: context in tokens, the most that any release makes of a scaling.
        length: context in tokens where no flag asks for one.
        heads: attention heads of the text model.
    """

    longest: int = 0
    length: int = 0
    heads: int = 0


def read_limits(config: bytes, name: str = "config.json") -> Limits:
    """The limits of a config; none where it can't be read, which others say."""
    try:
        text = text_table(config, name)
    except FormatError:
        return Limits()
    heads = _count(text, "num_attention_heads")
    length = _length(text)
    scaled = _scaled(text, length)
    if scaled is None:
        return Limits(heads=heads)
    same = all(item == length for item in scaled)
    return Limits(max(scaled), length if same else 0, heads)


def _length(text: Fields) -> int:
    overriding = _count(text, _OVERRIDING)
    return overriding or min(filter(None, (_count(text, key) for key in _LENGTHS)), default=0)


def _count(text: Fields, key: str) -> int:
    """A number, 0 for none and for a list with one a layer."""
    value = text.raw.get(key)
    known = isinstance(value, int) and not isinstance(value, bool)
    return value if known and isinstance(value, int) and 0 < value < _LIMIT else 0


def _scaled(text: Fields, length: int) -> list[int] | None:
    """What every scaling that is declared may make of a length; None where one can't be told."""
    found = [length]
    for table in (t for key in _SCALINGS for t in _tables(text.raw.get(key))):
        kind = table.get("rope_type", table.get("type", ""))
        factor = table.get("factor") or 1.0
        original = _count(Fields(table, text.where), "original_max_position_embeddings")
        if not isinstance(kind, str) or not _is_factor(factor):
            return None
        if kind == _FROM_ORIGINAL and original:
            found.append(int(original * factor))
        elif kind == _SHORT_BY_DEFAULT:
            found.append(original)
        elif kind not in _UNSCALED:
            found.append(int(length * factor))
    return found


def _is_factor(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _LIMIT


def _tables(value: Json) -> list[dict[str, Json]]:
    """The scaling itself, or one for each kind of layer."""
    if not isinstance(value, dict):
        return []
    inner = [item for item in value.values() if isinstance(item, dict)]
    return [value, *inner]
