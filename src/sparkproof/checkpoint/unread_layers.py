"""Models that keep no KV cache, and those whose layers nobody compared with what vLLM allocates."""

from __future__ import annotations

from sparkproof.core.unknown import Unknown
from sparkproof.facts.memory_book import layout_book
from sparkproof.formats.json_object import Fields

NO_SUM = "`sparkproof log FILE` reads the size of its pool off a boot"
NO_POOL = "fit/no-pool"
"""Topic of what is known: vLLM makes no cache for any layer."""
_NO_POOL = "there is no pool to size: weights and activations are all it takes"


def find_no_decoder(text: Fields, top: Fields, name: str) -> list[Unknown]:
    """A model that is no plain decoder: an encoder, or a decoder that looks at one.

    Raises:
        FormatError: a switch that is neither true nor false.
    """
    if any(owner.flag("is_encoder_decoder", default=False) for owner in (text, top)):
        why = "what a decoder keeps of an encoder's states is not known here"
        return [_note(name, text, "is_encoder_decoder", why, NO_SUM)]
    model_type = text.text("model_type") or top.text("model_type")
    if model_type in layout_book().encoder_only:
        why = f"`{model_type}` takes its whole input at once and keeps no KV cache"
        return [_note(name, text, "model_type", why, _NO_POOL, NO_POOL)]
    both_ways = text.raw.get("use_bidirectional_attention") is True
    inward = both_ways and model_type in layout_book().inward
    if inward or text.raw.get("is_causal") is False:
        key = "use_bidirectional_attention" if inward else "is_causal"
        why = f"{str(inward).lower()}, so it takes its whole input at once and keeps no KV cache"
        return [_note(name, text, key, why, _NO_POOL, NO_POOL)]
    return []


def find_unread(text: Fields, model_type: str, name: str) -> list[Unknown]:
    """A model type that the book does not list.

    What its fields seem to say stands beside it, since others than the arithmetic read that too.
    """
    if model_type in layout_book().known:
        return []
    if not model_type:
        why = "missing, so what vLLM keeps for each of its layers is not known"
    else:
        why = f"what vLLM keeps for the layers of `{model_type}` is not known here"
    return [_note(name, text, "model_type", why, NO_SUM)]


def _note(name: str, text: Fields, field: str, why: str, hint: str, topic: str = "fit") -> Unknown:
    return Unknown(f"{name}: {text.name(field)}", why, topic=topic, hint=hint)
