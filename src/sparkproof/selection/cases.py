"""The kinds of layer that an oracle tells apart, asked of a release without any checkpoint."""

from __future__ import annotations

from typing import NamedTuple

from sparkproof.core.condition import Scalar
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.selection.request import Choices
from sparkproof.selection.schemes import WORDS, SchemeWords
from sparkproof.selection.settings import layer_settings

PLAIN_MODEL = CheckpointProfile(
    name="",
    architectures=("Qwen3MoeForCausalLM",),
    model_type="qwen3_moe",
    quant_method="",
    formats=(),
    hidden_act="silu",
    head_dim=128,
    num_experts=128,
    routing={"norm_topk_prob": True},
)
"""A model without peculiarities, for questions about a release and no checkpoint."""
_ACTIVATIONS = {
    QuantScheme.FP8_TENSOR: Activations.FP8_STATIC_TENSOR,
    QuantScheme.FP8_CHANNEL: Activations.FP8_DYNAMIC_TOKEN,
    QuantScheme.FP8_BLOCK: Activations.FP8_DYNAMIC_BLOCK,
}
_ATTENTION = {"attention/backend": ("16-bit cache", "fp8 cache")}


class Case(NamedTuple):
    """A kind of layer that an oracle tells apart, with what it answers to settings."""

    name: str
    settings: dict[str, Scalar]


def cases_of(oracle_id: str) -> tuple[Case, ...]:
    """The schemes that an oracle decides for; for attention the formats of the cache."""
    schemes = [scheme for scheme, words in WORDS.items() if oracle_id in words_of(words)]
    found = [_case(scheme, oracle_id) for scheme in schemes]
    for name in _ATTENTION.get(oracle_id, ()):
        choices = Choices(kv_cache_dtype="fp8" if name.startswith("fp8") else "auto")
        layer = LayerFormat(LayerClass.ATTENTION, QuantScheme.UNQUANTIZED)
        found.append(Case(name, layer_settings(layer, PLAIN_MODEL, choices)))
    return tuple(found) or (Case("", {}),)


def words_of(words: SchemeWords) -> tuple[str, str]:
    """The oracles that a scheme goes to."""
    return words.experts, words.dense


def _case(scheme: QuantScheme, oracle_id: str) -> Case:
    layer_class = LayerClass.EXPERTS if oracle_id.startswith("moe/") else LayerClass.MLP
    activations = _ACTIVATIONS.get(scheme, Activations.UNQUANTIZED)
    layer = LayerFormat(layer_class, scheme, detail="group 128", activations=activations)
    return Case(str(scheme), layer_settings(layer, PLAIN_MODEL, Choices()))
