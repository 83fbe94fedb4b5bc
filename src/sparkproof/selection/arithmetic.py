"""Working out the formulas that conditions keep, such as ``(moe.hidden_dim % 128)``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from sparkproof.core.condition import Scalar
from sparkproof.formats.python_source import dotted_name

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def difference(formula: str, settings: Mapping[str, Scalar]) -> bool | None:
    """Whether the sides of a difference of two settings differ; None where one is not known."""
    try:
        node = ast.parse(formula, mode="eval").body
    except (SyntaxError, RecursionError, ValueError):
        return None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return None
    names = [ast.unparse(side) for side in (node.left, node.right)]
    if any(name not in settings for name in names):
        return None
    return settings[names[0]] != settings[names[1]]


def work_out(formula: str, settings: Mapping[str, Scalar]) -> int | None:
    """The number that a formula over settings comes to, None where one of them is not known."""
    try:
        node = ast.parse(formula, mode="eval").body
        return _value(node, settings)
    except (SyntaxError, ZeroDivisionError, RecursionError, ValueError):
        return None


def _value(node: ast.expr, settings: Mapping[str, Scalar]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, settings), _value(node.right, settings)
        if left is None or right is None:
            return None
        return _OPERATORS[type(node.op)](left, right)
    value = settings.get(dotted_name(node) or ast.unparse(node))
    return value if type(value) is int else None
