"""From ``config.json`` to what every layer keeps per token or per request."""

from __future__ import annotations

from collections.abc import Iterable

from sparkproof.checkpoint.layer_pattern import Part, layer_parts
from sparkproof.checkpoint.unread_layers import NO_SUM, find_no_decoder, find_unread
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.state_layout import (
    RELEASE_DEFAULT,
    AttentionShape,
    LayerState,
    RecurrentShape,
    StateKind,
    StateLayout,
)
from sparkproof.core.unknown import Unknown
from sparkproof.facts.memory_book import LayoutBook, StateFields, layout_book
from sparkproof.formats.json_object import Fields, parse_json_object

_MAX = 1 << 24
_TEXT_TABLES = ("text_config", "language_config", "llm_config")
_KV_HEADS = (
    "n_head_kv",
    "num_kv_heads",
    "num_key_value_heads",
    "multi_query_group_num",
    "num_attention_groups",
)
_LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_sequence_length",
)
_EXPERTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
_ACTIVE = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_topk", "top_k")
_INDEXED = "index_topk"
"""Key of a config whose attention picks tokens with an indexer."""
_FIRST_SKIPPED = 2
"""``index_skip_topk_offset`` where a config leaves it out (vLLM 0.23.0 to 0.33.0)."""
_DRAFTS = ("mtp_num_hidden_layers", "num_nextn_predict_layers", "num_mtp_layers", "n_predict")
_VISION = ("vision_config", "visual_config", "vision_tower_config")


def read_state_layout(
    config: bytes, *, quantization: bytes | None = None, name: str = "config.json"
) -> StateLayout:
    """What a checkpoint keeps, from its config alone.

    Args:
        config: bytes of ``config.json``.
        quantization: bytes of ``hf_quant_config.json``, if there is one.
        name: what the user calls the checkpoint.

    Raises:
        FormatError: no JSON object, or a field of the wrong type or range; names the field.
    """
    top = Fields(parse_json_object(config, name), name)
    text = _text_of(top)
    return _Reader(top, text, name, layout_book()).read(_kv_dtype(top, text, quantization, name))


def text_table(config: bytes, name: str) -> Fields:
    """The part of a config that speaks of the text model.

    Raises:
        FormatError: no JSON object.
    """
    return _text_of(Fields(parse_json_object(config, name), name))


def _text_of(top: Fields) -> Fields:
    return next((found for key in _TEXT_TABLES if (found := top.table(key))), None) or top


class _Reader:
    def __init__(self, top: Fields, text: Fields, name: str, book: LayoutBook) -> None:
        self.top, self.text, self.name, self.book = top, text, name, book
        self.model_type = text.text("model_type") or top.text("model_type")
        self.unknowns: list[Unknown] = []
        self.states = book.fields_of(self.model_type)
        self.layers = _count(text, ("num_hidden_layers", "num_layers", "n_layer"))

    def read(self, kv_dtype: str) -> StateLayout:
        self._refuse()
        parts = [] if self.unknowns else layer_parts(self.text, self.model_type, self.layers)
        if not self.unknowns:
            self.unknowns += find_unread(self.text, self.model_type, self.name)
        if "num_hidden_layers" not in self.text:
            parts *= self.book.attentions.get(self.model_type, 1)
        architectures = self.top.texts("architectures")
        return StateLayout(
            name=self.name,
            architecture=architectures[0] if architectures else "",
            model_type=self.model_type,
            layers=self._layers(parts, self._without_indexer()),
            drafts=self._drafts() if parts else (),
            dtype=_dtype(self.text, self.top),
            kv_dtype=kv_dtype,
            ssm_dtype=self._ssm_dtype(),
            prefix_all=self.model_type in self.book.prefix_all,
            chunk_size=_count(self.text, ("mamba_chunk_size", "chunk_size")),
            attention_heads=_count(self.text, ("num_attention_heads", "n_head")),
            hidden_size=_count(self.text, ("hidden_size", "n_embd")),
            vocab_size=_count(self.text, ("vocab_size",)),
            num_layers=self.layers,
            num_experts=_count(self.text, _EXPERTS),
            experts_per_token=_count(self.text, _ACTIVE),
            intermediate_size=_count(self.text, ("intermediate_size", "ffn_hidden_size")),
            moe_intermediate_size=_count(self.text, ("moe_intermediate_size",)),
            max_position=self._max_position(),
            vision=any(key in self.top for key in _VISION),
            unknowns=tuple(self.unknowns),
        )

    def _refuse(self) -> None:
        """A config whose layers keep something that is not modelled here."""
        self.unknowns += find_no_decoder(self.text, self.top, self.name)
        if self.model_type in self.book.refused_types:
            self._unknown(
                "model_type", f"the cache layout of `{self.model_type}` is not known here"
            )
        for key in sorted(self.book.refused):
            if key in self.text:
                self._unknown(key, "a cache layout that is not known here")
        latent = "kv_lora_rank" in self.text
        if latent and self.model_type not in self.book.latent:
            self._unknown("kv_lora_rank", f"latent attention of model type `{self.model_type}`")
        if latent and _INDEXED in self.text and self.model_type not in self.book.sparse_latent:
            self._unknown(_INDEXED, f"an indexer of model type `{self.model_type}`")

    def _unknown(self, field: str, why: str) -> None:
        where = f"{self.name}: {self.text.name(field)}"
        self.unknowns.append(Unknown(where, why, topic="fit", hint=NO_SUM))

    def _layers(
        self, parts: Iterable[Part], without_indexer: frozenset[int] = frozenset()
    ) -> tuple[LayerState, ...]:
        counted: dict[LayerState, int] = {}
        for index, part in enumerate(parts):
            for layer in self._states_of(part):
                if layer.kind is StateKind.INDEXER and index in without_indexer:
                    continue
                counted[layer] = counted.get(layer, 0) + 1
        return tuple(
            LayerState(layer.kind, count, layer.attention, layer.recurrent)
            for layer, count in counted.items()
        )

    def _states_of(self, part: Part) -> list[LayerState]:
        if part is Part.NONE:
            return []
        if part is Part.RECURRENT:
            return [self._recurrent()]
        if part is Part.BOTH:
            return [self._recurrent(), *self._attention(Part.FULL)]
        return self._attention(part)

    def _attention(self, part: Part) -> list[LayerState]:
        if self.model_type in self.book.latent and "kv_lora_rank" in self.text:
            return self._latent()
        heads, dim = self._heads(part)
        value = _positive(self.text, "v_head_dim") if "v_head_dim" in self.text else dim
        window = _positive(self.text, "sliding_window") if part is Part.SLIDING else 0
        chunk = _positive(self.text, "attention_chunk_size") if part is Part.CHUNKED else 0
        kind = {Part.SLIDING: StateKind.SLIDING, Part.CHUNKED: StateKind.CHUNKED}.get(
            part, StateKind.FULL
        )
        return [LayerState(kind, 1, AttentionShape(heads, dim, value, window, chunk))]

    def _heads(self, part: Part) -> tuple[int, int]:
        """KV heads and head size; full attention beside windows may have its own."""
        query = _count(self.text, ("num_attention_heads", "n_head"))
        heads = _first(self.text, _KV_HEADS) or query
        dim = _first(self.text, ("head_dim", "hidden_size_per_head"))
        if self.states and self.states.attention_head_dim:
            dim = _positive(self.text, self.states.attention_head_dim)
        if part is Part.FULL and "global_head_dim" in self.text:
            dim = _positive(self.text, "global_head_dim")
        twofold = self.text.flag("attention_k_eq_v", default=False)
        if part is Part.FULL and twofold and "num_global_key_value_heads" in self.text:
            heads = _positive(self.text, "num_global_key_value_heads")
        if self._is_multi_query():
            heads = 1
        if not heads:
            raise self.text.wrong("num_key_value_heads", "missing, as is num_attention_heads")
        if not dim:
            hidden = _first(self.text, ("n_embd",)) or _positive(self.text, "hidden_size")
            if not query:
                raise self.text.wrong("head_dim", "missing, as is num_attention_heads")
            dim = hidden // query
        if not dim:
            raise self.text.wrong("head_dim", "0")
        return heads, dim

    def _is_multi_query(self) -> bool:
        """One head for all queries, unless a newer form of the architecture counts them."""
        newer = self.text.flag("new_decoder_architecture", default=False)
        return self.text.flag("multi_query", default=False) and not newer

    def _latent(self) -> list[LayerState]:
        rank = _positive(self.text, "kv_lora_rank")
        rotary = self.text.integer("qk_rope_head_dim", high=_MAX)
        found = [LayerState(StateKind.MLA, 1, AttentionShape(1, rank + rotary, 0))]
        if self.model_type in self.book.sparse_latent and _INDEXED in self.text:
            index = _positive(self.text, "index_head_dim")
            found.append(LayerState(StateKind.INDEXER, 1, AttentionShape(1, index, 0)))
        return found

    def _without_indexer(self) -> frozenset[int]:
        """Layers that take over the choice of an earlier one, by their number."""
        pattern = self.text.text("index_topk_pattern")
        if pattern:
            return frozenset(i for i, letter in enumerate(pattern) if letter == "S")
        every = _count(self.text, ("index_topk_freq",)) or 1
        first = _count(self.text, ("index_skip_topk_offset",)) or _FIRST_SKIPPED
        return frozenset(i for i in range(self.layers) if max(i - first + 1, 0) % every)

    def _recurrent(self) -> LayerState:
        names = self.states
        if names is None:
            raise self.text.wrong(
                "model_type", f"`{self.model_type}`, whose recurrent layers are not known here"
            )
        owner = self.text.table(names.table) if names.table else self.text
        if owner is None:
            raise self.text.wrong(names.table, "missing")
        heads = _named(owner, names.heads)
        dim = self._state_head_dim(owner, names)
        return LayerState(
            StateKind(names.kind),
            1,
            recurrent=RecurrentShape(
                heads=heads,
                head_dim=dim,
                state=_named(owner, names.state),
                groups=_named(owner, names.groups),
                conv_kernel=_named(owner, names.conv),
                inner=self._inner(owner, names, heads * dim),
            ),
        )

    def _state_head_dim(self, owner: Fields, names: StateFields) -> int:
        if not names.head_dim or names.head_dim in owner:
            return _named(owner, names.head_dim)
        heads = _positive(owner, names.heads)
        if "hidden_size" not in owner:
            raise owner.wrong(names.head_dim, "missing")
        factor = _scale(owner, names.expand) if names.expand else 1.0
        return int(_positive(owner, "hidden_size") * factor) // heads

    def _inner(self, owner: Fields, names: StateFields, product: int) -> int:
        if names.inner and names.inner in owner:
            return _positive(owner, names.inner)
        if names.inner_default:
            return _positive(self.text, names.inner_default)
        if names.expand:
            return int(_positive(self.text, "hidden_size") * _scale(owner, names.expand))
        return product

    def _ssm_dtype(self) -> str:
        names = self.states
        if names is None:
            return ""
        stated = self.text.text(names.ssm_dtype) if names.ssm_dtype else ""
        if not stated and self.model_type in self.book.nemotron:
            return RELEASE_DEFAULT
        return stated.removeprefix("torch.") or names.default_ssm_dtype

    def _drafts(self) -> tuple[LayerState, ...]:
        count = next((self.text.integer(k, high=4096) for k in _DRAFTS if k in self.text), 0)
        pattern = self.text.text("mtp_hybrid_override_pattern")
        if pattern:
            count *= pattern.count("*")
        elif count and self.states and self.states.alone:
            count = 0
        parts = layer_parts_of_drafts(self.text, count)
        return self._layers(parts)

    def _max_position(self) -> int:
        found = [self.text.integer(key, high=1 << 40) for key in _LENGTHS if key in self.text]
        return min(found, default=0)


def layer_parts_of_drafts(text: Fields, count: int) -> list[Part]:
    """What the layers of a multi-token-prediction head keep."""
    named = text.texts("mtp_layer_types")
    book = layout_book()
    if named:
        return [Part.SLIDING if item in book.sliding else Part.FULL for item in named[:count]]
    return [Part.FULL] * count


def _kv_dtype(top: Fields, text: Fields, quantization: bytes | None, name: str) -> str:
    block = top.table("quantization_config") or text.table("quantization_config")
    block = block or top.table("compression_config")
    if block is None and quantization is not None:
        where = f"{name}: hf_quant_config.json"
        block = Fields(parse_json_object(quantization, where), where)
    if block is None:
        return ""
    inner = block.table("quantization") or block
    for owner in (inner, block):
        scheme = owner.raw.get("kv_cache_scheme")
        if isinstance(scheme, dict):
            return _scheme_dtype(Fields(scheme, owner.where, owner.name("kv_cache_scheme")))
    method = block.text("quant_method")
    algo = inner.text("kv_cache_quant_algo") or block.text("kv_cache_quant_algo")
    modelopt = method.startswith("modelopt") or block.table("producer") is not None
    return {"FP8": "fp8", "NVFP4": "nvfp4"}.get(algo.upper(), "") if modelopt else ""


def _scheme_dtype(scheme: Fields) -> str:
    if scheme.text("type", "float").lower() != "float":
        return ""
    return {8: "fp8", 4: "nvfp4"}.get(scheme.integer("num_bits", high=64), "")


def _dtype(text: Fields, top: Fields) -> str:
    for owner in (text, top):
        for key in ("dtype", "torch_dtype"):
            if key in owner:
                return owner.text(key).removeprefix("torch.")
    return "bfloat16"


def _count(owner: Fields, keys: Iterable[str]) -> int:
    return next((owner.integer(key, high=_MAX) for key in keys if _is_number(owner, key)), 0)


def _first(owner: Fields, keys: Iterable[str]) -> int:
    return next((_positive(owner, key) for key in keys if key in owner), 0)


def _is_number(owner: Fields, key: str) -> bool:
    return isinstance(owner.raw.get(key), int | float)


def _named(owner: Fields, key: str) -> int:
    return _positive(owner, key) if key else 0


def _positive(owner: Fields, key: str) -> int:
    if key not in owner:
        raise owner.wrong(key, "missing")
    return owner.integer(key, low=1, high=_MAX)


def _scale(owner: Fields, key: str) -> float:
    value = owner.raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1024:
        raise owner.wrong(key, "no factor")
    return float(value)


__all__ = ["FormatError", "read_state_layout", "text_table"]
