"""The layer class that a module's name speaks of, for modules that no family lists."""

from __future__ import annotations

import re
from functools import lru_cache

from sparkproof.core.observations.checkpoint_profile import LayerClass

_NUMBER = re.compile(r"[0-9]+")
_PLACES = (
    (LayerClass.DRAFT, r"(^|\.)(mtp|draft|eagle)"),
    (LayerClass.VISION, r"(^|\.)(visual|vision|vit|image|audio)"),
    (LayerClass.LM_HEAD, r"(^|\.)(lm_head|output_layer|output)$"),
    (LayerClass.EMBEDDING, r"(^|\.)(embed_tokens|tok_embeddings|embeddings|word_embeddings)$"),
    (LayerClass.SHARED_EXPERT, r"\.shared_experts?(\.|$)"),
    (LayerClass.EXPERTS, r"\.experts?(\.|$)"),
    (LayerClass.ROUTER, r"\.(gate|router|shared_expert_gate)(\.|$)"),
    (LayerClass.LINEAR_ATTENTION, r"\.(linear_attn|mamba|gdn)\.|\.mixer\.(in|out)_proj$"),
    (LayerClass.ATTENTION, r"\.(self_attn|attention|attn)\.|\.mixer\.[qkvo]_proj$"),
    (LayerClass.MLP, r"\.(mlp|feed_forward)\.|\.mixer\.(up|down)_proj$"),
)


def place(name: str) -> LayerClass:
    """The layer class that a module's name speaks of, `OTHER` where it does not."""
    return _place(_NUMBER.sub("0", name))


@lru_cache(maxsize=4096)
def _place(name: str) -> LayerClass:
    """The same of a name whose numbers, which tell nothing here, are made equal."""
    lowered = "." + name.lower()
    for layer_class, pattern in _PLACES:
        if re.search(pattern, lowered if pattern.startswith(r"\.") else lowered[1:]):
            return layer_class
    return LayerClass.OTHER
