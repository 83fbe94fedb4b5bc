"""``config.json`` and ``hf_quant_config.json`` as typed declarations.

Only the fields that tell which layers exist and how they are quantized are read; every other
key is left alone. Nothing is interpreted here: see `sparkproof.checkpoint`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sparkproof.formats.hf_experts import (
    ExpertLayers,
    count_experts,
    has_shared_expert,
    parse_expert_layers,
)
from sparkproof.formats.hf_weight_only import WeightOnly, parse_weight_only
from sparkproof.formats.json_object import Fields, parse_json_object

_MAX_LAYERS = 4096
_TEXT_CONFIGS = ("text_config", "language_config", "llm_config")
_VISION_CONFIGS = ("vision_config", "visual_config", "vision_tower_config")
_LAYER_COUNTS = ("num_hidden_layers", "num_layers", "n_layer")
_ROUTING = (
    "norm_topk_prob",
    "scoring_func",
    "topk_method",
    "n_group",
    "topk_group",
    "num_experts_per_tok",
    "routed_scaling_factor",
    "use_routing_bias",
    "moe_router_dtype",
)
_DRAFT_COUNTS = ("mtp_num_hidden_layers", "num_nextn_predict_layers", "num_mtp_layers")
_ORIGIN = "_sparkproof"


class QuantArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one operand is quantized, as compressed-tensors writes it.

    Attributes:
        kind: ``float`` or ``int``.
        strategy: "" where not stated.
        group_size: 0 where not stated; -1 means per channel.
        dynamic: ``false``, ``true`` or ``local``.
        block: rows and columns of a block scale.
    """

    num_bits: int
    kind: str = "int"
    strategy: str = ""
    group_size: int = 0
    symmetric: bool = True
    dynamic: str = "false"
    block: tuple[int, ...] = ()
    scale_dtype: str = ""


class ConfigGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of ``config_groups``."""

    name: str
    targets: tuple[str, ...]
    weights: QuantArgs | None
    input_activations: QuantArgs | None
    output_activations: QuantArgs | None = None
    format: str = ""


class LayerQuant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of ModelOpt's ``quantized_layers``."""

    algo: str
    group_size: int = 0


class QuantDeclaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One quantization block.

    Attributes:
        where: file and field it stands in.
        algo: ModelOpt's ``quant_algo``, upper case.
        ignore_field: name of the key that `ignore` was read from ("" for none).
        kv_bits, kv_kind, kv_strategy, kv_dynamic: the declared KV-cache format (0 for none).
        store_dtype: type that FP8 checkpoints store their experts in, where it is another.
        kv_algo: ModelOpt's older ``kv_cache_quant_algo``, upper case.
        weight_only: what AWQ, GPTQ and AutoRound say beside all this.
    """

    where: str
    method: str = ""
    algo: str = ""
    format: str = ""
    groups: tuple[ConfigGroup, ...] = ()
    ignore: tuple[str, ...] = ()
    ignore_field: str = ""
    layers: dict[str, LayerQuant] = {}
    group_size: int = 0
    weight_block_size: tuple[int, ...] = ()
    activation_scheme: str = ""
    store_dtype: str = ""
    kv_bits: int = 0
    kv_kind: str = ""
    kv_strategy: str = ""
    kv_dynamic: str = ""
    kv_algo: str = ""
    producer: str = ""
    weight_only: WeightOnly | None = None


class Dispute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that the sources of a reconstructed config tell differently."""

    layer_class: str
    readings: tuple[str, ...]


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``_sparkproof`` object that a reconstructed config carries."""

    sources: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    disputed: tuple[Dispute, ...] = ()


class ModelConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``config.json`` says about the shape of the model; 0 and "" where it does not.

    Attributes:
        layer_types: one name per layer, e.g. ``linear_attention``.
        hybrid_pattern: Nemotron-H's letter per layer.
        nested: the text model has its own object inside a multimodal config.
        vision: a vision tower is configured.
        feedless: layers have neither an MLP nor experts, as in a pure Mamba model.
        expert_layers: which layers have the experts.
        bare_quantization: the document is a quantization block and nothing else.
        routing: how tokens are sent to experts, key by key as declared.
        own_classes: model classes in code that comes with the checkpoint (``auto_map``).
        index_topk: how many tokens an indexer picks for attention.
    """

    where: str
    architectures: tuple[str, ...] = ()
    model_type: str = ""
    dtype: str = ""
    hidden_act: str = ""
    head_dim: int = 0
    num_layers: int = 0
    num_experts: int = 0
    layer_types: tuple[str, ...] = ()
    full_attention_interval: int = 0
    hybrid_pattern: str = ""
    feedless: bool = False
    expert_layers: ExpertLayers = ExpertLayers()
    shared_expert: bool = False
    draft_layers: int = 0
    expert_dtype: str = ""
    nested: bool = False
    vision: bool = False
    tied_embeddings: bool = False
    quantization: QuantDeclaration | None = None
    origin: Origin | None = None
    bare_quantization: bool = False
    routing: dict[str, str | int | float | bool] = {}
    own_classes: tuple[str, ...] = ()
    index_topk: int = 0


def parse_config(data: bytes, where: str = "config.json") -> ModelConfig:
    """Read ``config.json``, or a bare quantization block.

    Raises:
        FormatError: no bounded JSON object, or a field of another type or range than it has
            in any released config; the message names the field.
    """
    top = Fields(parse_json_object(data, where), where)
    if "quant_method" in top and "architectures" not in top and "model_type" not in top:
        return ModelConfig(
            where=where, quantization=_parse_block(top, where), bare_quantization=True
        )
    text = next((found for key in _TEXT_CONFIGS if (found := top.table(key))), None)
    inner = text or top
    return ModelConfig(
        where=where,
        architectures=top.texts("architectures"),
        model_type=top.text("model_type"),
        dtype=_first_text(("dtype", "torch_dtype"), inner, top),
        hidden_act=_first_text(("hidden_act", "hidden_activation", "mlp_hidden_act"), inner, top),
        head_dim=_head_dim(inner),
        num_layers=_first_count(_LAYER_COUNTS, inner, _MAX_LAYERS),
        num_experts=count_experts(inner),
        layer_types=_layer_types(inner),
        full_attention_interval=inner.integer("full_attention_interval", high=_MAX_LAYERS),
        hybrid_pattern=inner.text("hybrid_override_pattern"),
        expert_layers=parse_expert_layers(inner),
        shared_expert=has_shared_expert(inner),
        draft_layers=_first_count(_DRAFT_COUNTS, inner, _MAX_LAYERS),
        expert_dtype=_first_text(("expert_dtype",), inner, top).lower(),
        nested=text is not None,
        vision=any(key in top for key in _VISION_CONFIGS),
        tied_embeddings=(text if text and "tie_word_embeddings" in text else top).flag(
            "tie_word_embeddings", default=False
        ),
        quantization=_quantization(top, text),
        origin=_parse_origin(top.table(_ORIGIN)),
        routing=_plain_values(inner, _ROUTING),
        own_classes=_own_classes(top.raw.get("auto_map")),
        index_topk=inner.integer("index_topk"),
    )


def _own_classes(auto_map: object) -> tuple[str, ...]:
    """What stands behind ``AutoModel…``, the only entries that vLLM takes a class from."""
    entries = auto_map.items() if isinstance(auto_map, dict) else ()
    found = (value for name, value in entries if str(name).startswith("AutoModel"))
    return tuple(dict.fromkeys(value for value in found if isinstance(value, str)))


def _plain_values(inner: Fields, keys: Iterable[str]) -> dict[str, str | int | float | bool]:
    """The declared ones of some keys; what is no plain value is left out."""
    found = {key: inner.raw.get(key) for key in keys}
    return {key: value for key, value in found.items() if isinstance(value, str | int | float)}


def parse_hf_quant_config(data: bytes, where: str = "hf_quant_config.json") -> QuantDeclaration:
    """Read ModelOpt's own file.

    Raises:
        FormatError: as `parse_config`; also when it has no ``quantization`` object.
    """
    top = Fields(parse_json_object(data, where), where)
    block = top.table("quantization")
    if block is None:
        raise top.wrong("quantization", "missing")
    producer = top.table("producer")
    name = producer.text("name") if producer else ""
    return msgspec.structs.replace(
        _parse_block(block, f"{where}: quantization"), method="modelopt", producer=name
    )


def _quantization(top: Fields, text: Fields | None) -> QuantDeclaration | None:
    for owner, key in (
        (top, "quantization_config"),
        (text, "quantization_config"),
        (top, "compression_config"),
    ):
        block = owner.table(key) if owner else None
        if block is not None:
            return _parse_block(block, f"{block.where}: {block.path}")
    return None


def _parse_block(block: Fields, where: str) -> QuantDeclaration:
    inner = block.table("quantization") or block  # ModelOpt's file pasted into config.json
    ignore_field = next(
        (
            k
            for k in ("ignore", "exclude_modules", "ignored_layers", "modules_to_not_convert")
            if k in inner
        ),
        "",
    )
    producer = block.table("producer")
    kv = inner.table("kv_cache_scheme")
    return QuantDeclaration(
        where=where,
        method=block.text("quant_method").lower(),
        algo=inner.text("quant_algo").upper(),
        format=inner.text("format"),
        groups=tuple(_parse_group(name, group) for name, group in inner.tables("config_groups")),
        ignore=inner.texts(ignore_field) if ignore_field else (),
        ignore_field=ignore_field,
        layers={name: _parse_layer(entry) for name, entry in inner.tables("quantized_layers")},
        group_size=_group_size(inner),
        weight_block_size=inner.integers("weight_block_size"),
        activation_scheme=inner.text("activation_scheme").lower(),
        store_dtype=inner.text("store_dtype").lower(),
        kv_bits=kv.integer("num_bits", high=64) if kv else 0,
        kv_kind=kv.text("type") if kv else "",
        kv_strategy=kv.text("strategy") if kv else "",
        kv_dynamic=_dynamic(kv) if kv else "",
        kv_algo=inner.text("kv_cache_quant_algo").upper(),
        producer=producer.text("name") if producer else "",
        weight_only=parse_weight_only(inner) if _is_weight_only(inner) else None,
    )


def _is_weight_only(inner: Fields) -> bool:
    return any(key in inner for key in ("bits", "w_bit", "wbits"))


def _group_size(inner: Fields) -> int:
    """AutoRound may write the two sides of a block; those are `WeightOnly.block`."""
    if isinstance(inner.raw.get("group_size"), list):
        return 0
    return inner.integer("group_size", low=-1)


def _parse_layer(entry: Fields) -> LayerQuant:
    return LayerQuant(entry.text("quant_algo").upper(), entry.integer("group_size", low=-1))


def _parse_group(name: str, group: Fields) -> ConfigGroup:
    return ConfigGroup(
        name=name,
        targets=group.texts("targets"),
        weights=_parse_args(group.table("weights")),
        input_activations=_parse_args(group.table("input_activations")),
        output_activations=_parse_args(group.table("output_activations")),
        format=group.text("format"),
    )


def _parse_args(args: Fields | None) -> QuantArgs | None:
    if args is None:
        return None
    return QuantArgs(
        num_bits=args.integer("num_bits", 8, low=1, high=64),
        kind=args.text("type", "int").lower(),
        strategy=args.text("strategy").lower(),
        group_size=args.integer("group_size", low=-1),
        symmetric=args.flag("symmetric", default=True),
        dynamic=_dynamic(args),
        block=_block(args),
        scale_dtype=args.text("scale_dtype"),
    )


def _dynamic(args: Fields) -> str:
    value = args.raw.get("dynamic")
    if isinstance(value, str):
        return value.lower()
    return "true" if args.flag("dynamic", default=False) else "false"


def _block(args: Fields) -> tuple[int, ...]:
    value = args.raw.get("block_structure")
    if not isinstance(value, str):
        return args.integers("block_structure")
    sides = value.lower().split("x")
    if not all(side.isascii() and side.isdigit() and len(side) < 8 for side in sides):
        raise args.wrong("block_structure", "no pair of integers")
    return tuple(map(int, sides))


def _parse_origin(table: Fields | None) -> Origin | None:
    if table is None:
        return None
    return Origin(
        sources=table.texts("sources"),
        assumed=table.texts("assumed"),
        disputed=tuple(
            Dispute(name, entry.texts("readings")) for name, entry in table.tables("disputed")
        ),
    )


def _first_text(keys: tuple[str, ...], *owners: Fields) -> str:
    return next((o.text(key) for o in owners for key in keys if key in o), "")


def _first_count(keys: tuple[str, ...], owner: Fields, high: int) -> int:
    return next((owner.integer(key, high=high) for key in keys if key in owner), 0)


def _head_dim(inner: Fields) -> int:
    stated = inner.integer("head_dim", high=1 << 16)
    hidden = inner.integer("hidden_size", high=1 << 24)
    heads = inner.integer("num_attention_heads", high=1 << 16)
    return stated or (hidden // heads if heads else 0)


def _layer_types(inner: Fields) -> tuple[str, ...]:
    key = "layer_types" if "layer_types" in inner else "layers_block_type"
    found = inner.texts(key)
    if len(found) > _MAX_LAYERS:
        raise inner.wrong(key, f"longer than {_MAX_LAYERS}")
    return found
