"""Arithmetic: of constants, of the capability's parts, and kept as a formula for the rest."""

from __future__ import annotations

import ast

from sparkproof.formats.python_source import brief
from sparkproof.release.symbolic.frames import Frame
from sparkproof.release.symbolic.values import Lit, Seq, SettingValue, Special, Text, Value, text_of


def bin_op(node: ast.BinOp, frame: Frame) -> Value:
    """The value of ``left op right``."""
    left = frame.run.evaluate(node.left, frame)
    right = frame.run.evaluate(node.right, frame)
    if isinstance(left, Seq) and isinstance(right, Seq) and isinstance(node.op, ast.Add):
        return Seq(left.kind, [*left.items, *right.items])
    if isinstance(left, Lit) and isinstance(right, Lit):
        return _arithmetic(node, left, right, frame)
    if isinstance(left, Special):
        return _capability_arithmetic(left, node.op, right, frame, node)
    if isinstance(left, Text | Lit) and isinstance(node.op, ast.Add | ast.Mod):
        return Text(text_of(left) + (text_of(right) if isinstance(node.op, ast.Add) else ""))
    return _setting_arithmetic(node, left, right) or frame.run.unread(brief(node), frame, node)


_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


def _setting_arithmetic(node: ast.BinOp, left: Value, right: Value) -> Value | None:
    """Arithmetic on a property keeps its formula, to be worked out where it is known."""
    sign = _SIGNS.get(type(node.op))
    parts = [_operand(left), _operand(right)]
    if sign is None or None in parts or not any(isinstance(v, SettingValue) for v in (left, right)):
        return None
    return SettingValue(f"({parts[0]} {sign} {parts[1]})")


def _operand(value: Value) -> str | None:
    if isinstance(value, SettingValue):
        return value.path
    is_number = isinstance(value, Lit) and type(value.value) is int
    return str(value.value) if isinstance(value, Lit) and is_number else None


def _arithmetic(node: ast.BinOp, left: Lit, right: Lit, frame: Frame) -> Value:
    one, two = left.value, right.value
    if isinstance(one, str) and isinstance(two, str) and isinstance(node.op, ast.Add):
        return Lit(one + two)
    if isinstance(one, int) and isinstance(two, int):
        if isinstance(node.op, ast.Add):
            return Lit(one + two)
        if isinstance(node.op, ast.Sub):
            return Lit(one - two)
        if isinstance(node.op, ast.Mult):
            return Lit(one * two)
        if isinstance(node.op, ast.FloorDiv | ast.Mod) and two:
            return Lit(one // two if isinstance(node.op, ast.FloorDiv) else one % two)
    return frame.run.unread(brief(node), frame, node)


def _capability_arithmetic(
    left: Special, op: ast.operator, right: Value, frame: Frame, node: ast.BinOp
) -> Value:
    if left.kind == "major" and isinstance(op, ast.Mult) and right == Lit(10):
        return Special("major-tens")
    if left.kind == "major-tens" and isinstance(op, ast.Add) and right == Special("minor"):
        return Special("capability-number")
    if left.kind == "capability-number" and isinstance(op, ast.FloorDiv) and right == Lit(10):
        return Special("major")
    return frame.run.unread(brief(node), frame, node)
