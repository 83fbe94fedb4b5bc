"""Which layer is which: the several ways in which configs spell their pattern."""

from __future__ import annotations

from enum import Enum

from sparkproof.core.errors import FormatError
from sparkproof.facts.memory_book import LayoutBook, StateFields, layout_book
from sparkproof.formats.json_object import Fields

_MAX_LAYERS = 4096


class Part(Enum):
    """What one decoder layer keeps."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"
    RECURRENT = "recurrent"
    BOTH = "both"
    NONE = "none"


_SPELLED = {
    Part.FULL: "full_attention",
    Part.SLIDING: "sliding_attention",
    Part.CHUNKED: "chunked_attention",
    Part.RECURRENT: "recurrent",
    Part.BOTH: "hybrid",
    Part.NONE: "none",
}


def layer_parts(text: Fields, model_type: str, layers: int) -> list[Part]:
    """One part a layer, layers that borrow another's cache left out.

    Raises:
        FormatError: names the field that is missing or contradicts another.
    """
    if not 0 < layers <= _MAX_LAYERS:
        raise text.wrong("num_hidden_layers", f"missing or outside 1 to {_MAX_LAYERS}")
    book = layout_book()
    states = book.fields_of(model_type)
    parts = _named_parts(text) or _computed_parts(text, model_type, layers, book, states)
    if states and states.everywhere:
        parts = [Part.BOTH if part is Part.FULL else part for part in parts]
    shared = text.integer("num_kv_shared_layers", high=_MAX_LAYERS)
    if shared > layers:
        raise text.wrong("num_kv_shared_layers", "more than there are layers")
    return parts[: len(parts) - shared] if shared else parts


def _named_parts(text: Fields) -> list[Part]:
    for key in ("layer_types", "layers_block_type"):
        if key in text:
            return [_part(text, key, name) for name in text.texts(key)]
    pattern = text.text("hybrid_override_pattern")
    if pattern:
        return [_part(text, "hybrid_override_pattern", letter) for letter in pattern]
    if "attn_type_list" in text:
        numbers = text.integers("attn_type_list")
        return [_part(text, "attn_type_list", str(number)) for number in numbers]
    return []


def recurrent_pattern(text: Fields, model_type: str, layers: int) -> tuple[tuple[str, ...], bool]:
    """A name a layer, as configs spell them, where some layers are recurrent.

    Returns:
        The names, empty where no layer is or the pattern can't be read; and whether layers
        have nothing beside their state.
    """
    states = layout_book().fields_of(model_type)
    try:
        parts = layer_parts(text, model_type, layers)
    except FormatError:
        return (), False
    if not {Part.RECURRENT, Part.BOTH} & set(parts):
        return (), False
    return tuple(_SPELLED[part] for part in parts), states is not None and states.alone


def part_named(name: str) -> Part | None:
    """What a layer keeps, from the name or letter that a config gives its kind."""
    book = layout_book()
    for part, names in (
        (Part.FULL, book.full),
        (Part.SLIDING, book.sliding),
        (Part.CHUNKED, book.chunked),
        (Part.RECURRENT, book.recurrent),
        (Part.BOTH, book.both),
        (Part.NONE, book.stateless),
    ):
        if name in names:
            return part
    return None


def attends(index: int, every: int) -> bool:
    """Whether a layer is the attention layer that ends each run of `every`."""
    return (index + 1) % every == 0


def _part(text: Fields, key: str, name: str) -> Part:
    part = part_named(name)
    if part is None:
        raise text.wrong(key, f"unknown where it says `{name[:40]}`")
    return part


def _computed_parts(
    text: Fields, model_type: str, layers: int, book: LayoutBook, states: StateFields | None
) -> list[Part]:
    if states and states.alone:
        return [Part.RECURRENT] * layers
    if states and states.table:
        return _listed(text, states.table, layers)
    if states and not states.everywhere:
        return _interleaved(text, layers)
    no_rope = text.integers("no_rope_layers") if "no_rope_layers" in text else ()
    if "attention_chunk_size" in text and no_rope:
        return [Part.CHUNKED if rotary else Part.FULL for rotary in no_rope[:layers]]
    period = text.integer("sliding_window_pattern", book.default_period.get(model_type, 0))
    _refuse_unstated(text, model_type, book)
    windowed = "sliding_window" in text and text.flag("use_sliding_window", default=True)
    if not windowed:
        return [Part.FULL] * layers
    if period:
        return [Part.FULL if attends(i, period) else Part.SLIDING for i in range(layers)]
    first = (
        text.integer("max_window_layers", high=_MAX_LAYERS) if "use_sliding_window" in text else 0
    )
    if 0 < first < layers:
        raise text.wrong("max_window_layers", "windows in some layers only, which vLLM refuses")
    return [Part.FULL if first else Part.SLIDING] * layers


def _refuse_unstated(text: Fields, model_type: str, book: LayoutBook) -> None:
    """A pattern or a window that the config class fills in, by rules that are not told here."""
    if model_type in book.patterned:
        raise text.wrong("layer_types", f"missing; layers of `{model_type}` are not all alike")
    windowed = model_type in book.default_period or model_type in book.windowed
    if windowed and "sliding_window" not in text.raw:
        raise text.wrong("sliding_window", f"missing; layers of `{model_type}` have one or null")


def _listed(text: Fields, table: str, layers: int) -> list[Part]:
    """Kimi: 1-based numbers of the recurrent layers."""
    inner = text.table(table)
    if inner is None:
        raise text.wrong(table, "missing")
    recurrent = set(inner.integers("kda_layers"))
    return [Part.RECURRENT if i + 1 in recurrent else Part.FULL for i in range(layers)]


def _interleaved(text: Fields, layers: int) -> list[Part]:
    """Attention every n-th layer, or at listed places."""
    if "full_attention_interval" in text:
        every = text.integer("full_attention_interval", low=1, high=_MAX_LAYERS)
        return [Part.FULL if attends(i, every) else Part.RECURRENT for i in range(layers)]
    if "attn_layer_period" in text:
        every = text.integer("attn_layer_period", low=1, high=_MAX_LAYERS)
        offset = text.integer("attn_layer_offset", high=_MAX_LAYERS)
        return [Part.FULL if i % every == offset else Part.RECURRENT for i in range(layers)]
    for key in ("attn_layer_indices", "full_attn_idxs"):
        if key in text:
            listed = set(text.integers(key))
            return [Part.FULL if i in listed else Part.RECURRENT for i in range(layers)]
    if "layer_group_size" in text:
        every = text.integer("layer_group_size", low=1, high=_MAX_LAYERS)
        return [Part.FULL if attends(i, every) else Part.RECURRENT for i in range(layers)]
    raise text.wrong("layer_types", "missing, as is every other form of the pattern")
