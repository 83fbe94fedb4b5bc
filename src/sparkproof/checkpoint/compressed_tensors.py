"""Reading compressed-tensors' ``config_groups``: targets, ignore list, and arguments.

The format string decides nothing: W4A4 or W4A16 follows from ``input_activations`` alone.
"""

from __future__ import annotations

from sparkproof.checkpoint.declared import NOT_LISTED, Declared, Listed, ignored, unreadable
from sparkproof.checkpoint.layout import TOPIC, Module
from sparkproof.checkpoint.matching import Hit, TargetList, Work, shown
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    DeclaredBy,
    LayerClass,
    Note,
    QuantScheme,
)
from sparkproof.core.unknown import Unknown
from sparkproof.formats.hf_config import ConfigGroup, QuantArgs, QuantDeclaration

_Reading = tuple[QuantScheme, Activations, str]
_UNREAD: _Reading = (QuantScheme.UNKNOWN, Activations.UNKNOWN, "")
_FP8_WEIGHTS = {
    "tensor": QuantScheme.FP8_TENSOR,
    "channel": QuantScheme.FP8_CHANNEL,
    "block": QuantScheme.FP8_BLOCK,
}
_FP8_DYNAMIC = {
    "token": Activations.FP8_DYNAMIC_TOKEN,
    "tensor": Activations.FP8_DYNAMIC_TENSOR,
    "group": Activations.FP8_DYNAMIC_BLOCK,
}
_FP4_STRATEGIES = {"tensor_group": "", "": "strategy-unstated", "group": "strategy-group"}


class CompressedTensors:
    """A `Declarer` for ``quant_method: compressed-tensors``."""

    def __init__(self, block: QuantDeclaration, work: Work) -> None:
        self._block = block
        self._ignore = TargetList(block.ignore, work)
        self._ignore_where = f"{block.where}.{block.ignore_field}"
        groups = [group for group in block.groups if not _only_attention(group)]
        # A target that stands in two groups belongs to the later one, as in a dict.
        self._groups = {target: group for group in groups for target in group.targets}
        self._targets = TargetList(self._groups, work)
        self._readings = {group.name: read_group(group) for group in groups}

    def declare(self, module: Module) -> Declared:
        """What the declaration says of one module."""
        skip = self._ignore.find(module)
        if skip and skip.unreadable:
            return unreadable(skip, self._ignore_where)
        hit = self._targets.find(module)
        if skip and not skip.of_class:
            return ignored(skip, self._ignore_where, matters=_reaches(hit, module))
        if hit is None:
            return NOT_LISTED
        group = self._groups[hit.entry]
        where = f"{self._block.where}.config_groups.{shown(group.name)}"
        if hit.unreadable:
            return unreadable(hit, where)
        scheme, activations, variant = self._readings[group.name]
        detail = describe_group(group)
        return Declared(
            scheme,
            hit.by,
            Evidence(where, f"target `{shown(hit.entry)}`: {detail}"),
            activations,
            detail,
            variant,
            hit.loose,
            hit.one_name,
        )

    def unplaced(self) -> tuple[Listed, ...]:
        """Targets are patterns; none is a list of what exists."""
        return ()

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        """Groups that name no known scheme."""
        unknowns = tuple(
            Unknown(
                f"{self._block.where}.config_groups.{shown(group.name)}",
                f"no scheme of this version: {describe_group(group)}",
                TOPIC,
            )
            for group in self._block.groups
            if self._readings.get(group.name, ("",))[0] is QuantScheme.UNKNOWN
        )
        if not self._block.groups:
            return (Unknown(self._block.where, "no config_groups", TOPIC),), ()
        return unknowns, ()


def _reaches(hit: Hit | None, module: Module) -> bool:
    """Whether a module would be quantized if its ignore entry failed to cover it."""
    if hit is None:
        return False
    return hit.by is not DeclaredBy.CLASS or module.layer_class is not LayerClass.LM_HEAD


def _only_attention(group: ConfigGroup) -> bool:
    """Groups for the attention module itself describe the KV cache, not a weight."""
    return len(group.targets) == 1 and group.targets[0].endswith("Attention")


def read_group(group: ConfigGroup) -> _Reading:
    """Scheme, activations and variant of one group's arguments."""
    weights, inputs = group.weights, group.input_activations
    if weights is None or weights.kind != "float" or not weights.symmetric:
        return _UNREAD
    if weights.num_bits == 4 and weights.group_size == 16:
        return _read_fp4(weights, inputs)
    if weights.num_bits == 8 and weights.dynamic == "false":
        return _read_fp8(weights, inputs)
    return _UNREAD


def _read_fp4(weights: QuantArgs, inputs: QuantArgs | None) -> _Reading:
    variant = _FP4_STRATEGIES.get(weights.strategy)
    if variant is None:
        return _UNREAD
    if inputs is None:
        return QuantScheme.NVFP4_W4A16, Activations.UNQUANTIZED, variant
    same = (inputs.num_bits, inputs.kind, inputs.group_size) == (4, "float", 16)
    if not same or not inputs.symmetric or inputs.strategy not in _FP4_STRATEGIES:
        return _UNREAD
    return QuantScheme.NVFP4_W4A4, Activations.FP4, variant


def _read_fp8(weights: QuantArgs, inputs: QuantArgs | None) -> _Reading:
    scheme = _FP8_WEIGHTS.get(_strategy(weights))
    if scheme is None:
        return _UNREAD
    if inputs is None:
        return QuantScheme.FP8_W8A16, Activations.UNQUANTIZED, _strategy(weights)
    if (inputs.num_bits, inputs.kind) != (8, "float"):
        return _UNREAD
    strategy = _strategy(inputs)
    if inputs.dynamic == "true":
        activations = _FP8_DYNAMIC.get(strategy)
    else:
        static = strategy == "tensor" and inputs.symmetric and inputs.dynamic == "false"
        activations = Activations.FP8_STATIC_TENSOR if static else None
    return (scheme, activations, "") if activations else _UNREAD


def _strategy(args: QuantArgs) -> str:
    """The strategy, inferred from the group size where it is not stated."""
    if args.strategy:
        return args.strategy
    return "tensor" if not args.group_size else "channel" if args.group_size < 0 else "group"


def describe_group(group: ConfigGroup) -> str:
    """A group's arguments in one line."""
    inputs = group.input_activations
    said = _describe(inputs) if inputs else "not quantized"
    return f"weights {_describe(group.weights)}; activations {said}"


def _describe(args: QuantArgs | None) -> str:
    if args is None:
        return "not stated"
    words = [f"{shown(args.kind)} {args.num_bits}-bit"]
    if args.strategy:
        words.append(shown(args.strategy))
    if args.group_size:
        words.append(f"{args.group_size}" if args.strategy else f"group size {args.group_size}")
    if args.block:
        words.append("block " + "x".join(map(str, args.block[:4])))
    if not args.symmetric:
        words.append("asymmetric")
    if args.dynamic != "false":
        words.append("dynamic" if args.dynamic == "true" else f"dynamic {shown(args.dynamic)}")
    return " ".join(words)
