"""A leaf of a condition that held or did not, in an operator's words."""

from __future__ import annotations

import re

from sparkproof.core.condition import (
    DeviceTest,
    EnvTest,
    Gate,
    Scalar,
    Setting,
    render_condition,
)

_HELD = {"==": "is", "startswith": "starts with", "endswith": "ends with", "contains": "contains"}
_FAILED = {
    "==": "is not",
    "startswith": "does not start with",
    "endswith": "does not end with",
    "contains": "does not contain",
}
_DIFFERENCE = re.compile(r"\((\S+) - (\S+)\)")
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def say(leaf: DeviceTest | Gate | EnvTest | Setting, *, held: bool) -> str:
    """``capability is not 10.x``, ``VLLM_X is not set``, ``weight_key is not None``."""
    if isinstance(leaf, DeviceTest):
        return _device(leaf, held=held)
    if isinstance(leaf, Gate):
        return leaf.name if held else f"not {leaf.name}"
    name = leaf.name if isinstance(leaf, EnvTest) else leaf.path
    sides = _DIFFERENCE.fullmatch(name)
    if sides and leaf.value == 0 and leaf.op in ("==", *_OPPOSITE):
        sign = leaf.op if leaf.op != "==" else "is"
        return f"{sides[1]} {sign if held else _OPPOSITE.get(leaf.op, 'is not')} {sides[2]}"
    if leaf.op in ("truthy", "set"):
        plain = "is set" if isinstance(leaf, EnvTest) else "is on"
        return f"{name} {plain if held else plain.replace('is', 'is not')}"
    if leaf.op in _OPPOSITE:
        return f"{name} {leaf.op if held else _OPPOSITE[leaf.op]} {leaf.value}"
    return f"{name} {(_HELD if held else _FAILED)[leaf.op]} {_value(leaf.value)}"


def _device(leaf: DeviceTest, *, held: bool) -> str:
    if leaf.op in _OPPOSITE and not held:
        return f"capability {_OPPOSITE[leaf.op]} {leaf.number // 10}.{leaf.number % 10}"
    text = render_condition(leaf).removeprefix("capability ").removeprefix("== ")
    if leaf.op in _OPPOSITE:
        return f"capability {text}"
    return f"capability {'is' if held else 'is not'} {text}"


def _value(value: Scalar) -> str:
    return f"`{value}`" if isinstance(value, str) else str(value)
