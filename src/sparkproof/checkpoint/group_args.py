"""What the arguments of one ``config_groups`` entry amount to."""

from __future__ import annotations

from sparkproof.checkpoint.matching import shown
from sparkproof.core.observations.checkpoint_profile import Activations, QuantScheme
from sparkproof.formats.hf_config import ConfigGroup, QuantArgs

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
_INT8_INPUTS = {
    ("int", "token", "true"): Activations.INT8_DYNAMIC_TOKEN,
    ("int", "tensor", "false"): Activations.INT8_STATIC_TENSOR,
    ("float", "token", "true"): Activations.FP8_DYNAMIC_TOKEN,
}


def read_group(group: ConfigGroup) -> _Reading:
    """Scheme, activations and variant of one group's arguments."""
    weights, inputs = group.weights, group.input_activations
    if weights is None or weights.dynamic != "false":
        return _UNREAD
    if weights.kind == "int":
        return _read_integers(weights, inputs)
    if weights.kind != "float" or not weights.symmetric:
        return _UNREAD
    if weights.num_bits == 4 and weights.group_size == 16:
        return _read_fp4(weights, inputs)
    if weights.group_size == 32 and _strategy(weights) == "group":
        return _read_mx(weights, inputs)
    if weights.num_bits == 8:
        return _read_fp8(weights, inputs)
    return _UNREAD


def _read_integers(weights: QuantArgs, inputs: QuantArgs | None) -> _Reading:
    if _strategy(weights) not in ("tensor", "channel", "group"):
        return _UNREAD
    variant = "" if weights.symmetric else "asymmetric"
    if inputs is None:
        scheme = {4: QuantScheme.INT4_W4A16, 8: QuantScheme.INT8_W8A16}.get(weights.num_bits)
        return (scheme, Activations.UNQUANTIZED, variant) if scheme else _UNREAD
    scheme = {4: QuantScheme.INT4_W4A8, 8: QuantScheme.INT8_W8A8}.get(weights.num_bits)
    activations = _INT8_INPUTS.get((inputs.kind, _strategy(inputs), inputs.dynamic))
    if scheme is None or activations is None or inputs.num_bits != 8:
        return _UNREAD
    if scheme is QuantScheme.INT8_W8A8 and inputs.kind != "int":
        return _UNREAD
    return scheme, activations, variant


def _read_mx(weights: QuantArgs, inputs: QuantArgs | None) -> _Reading:
    """Power-of-two scales for 32 values each."""
    if weights.num_bits == 8:
        same = inputs is None or (inputs.num_bits, inputs.kind) == (8, "float")
        bytes_ = "uint8" in weights.scale_dtype
        return (QuantScheme.MXFP8, Activations.MXFP8, "") if same and bytes_ else _UNREAD
    if weights.num_bits != 4:
        return _UNREAD
    if inputs is None:
        return QuantScheme.MXFP4, Activations.UNQUANTIZED, ""
    activations = {4: Activations.MXFP4, 8: Activations.FP8_DYNAMIC_TOKEN}.get(inputs.num_bits)
    if inputs.kind != "float" or activations is None:
        return _UNREAD
    return QuantScheme.MXFP4, activations, ""


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
