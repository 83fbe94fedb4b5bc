"""Following a name of a module to the statement that defines it, without evaluating anything."""

from __future__ import annotations

import ast
from typing import NamedTuple

from sparkproof.core.condition import Scalar
from sparkproof.formats.python_source import dotted_name
from sparkproof.release.symbolic.modules import Module, ModuleTable

_MAX_HOPS = 12


class Found(NamedTuple):
    """A definition and the module it stands in."""

    module: Module
    statement: ast.stmt


def definition(table: ModuleTable, module: Module, name: str, hops: int = 0) -> Found | None:
    """Where a name comes from: imports within the package are followed, also ``a.b.Name``."""
    if hops > _MAX_HOPS:
        return None
    head, _, rest = name.partition(".")
    for statement in reversed(module.bindings.get(head, [])):
        if isinstance(statement, ast.If | ast.Try):
            statement = _inner(statement, head)  # noqa: PLW2901
        if isinstance(statement, ast.ImportFrom):
            return _imported(table, module, statement, head, rest, hops)
        if isinstance(statement, ast.Import):
            return _of_module(table, name, hops)
        if not rest:
            return Found(module, statement)
    for star in module.stars:
        found = table.get(star)
        if found is not None and head in found.bindings:
            return definition(table, found, name, hops + 1)
    return None


def _inner(statement: ast.stmt, name: str) -> ast.stmt:
    """The statement inside an ``if`` or ``try`` that binds the name."""
    for node in ast.walk(statement):
        if isinstance(node, ast.ImportFrom) and any(
            (item.asname or item.name) == name for item in node.names
        ):
            return node
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in node.targets
        ):
            return node
    return statement


def _imported(
    table: ModuleTable, module: Module, statement: ast.ImportFrom, name: str, rest: str, hops: int
) -> Found | None:
    origin = module.absolute(statement)
    if not table.owns(origin):
        return None
    real = next((i.name for i in statement.names if (i.asname or i.name) == name), name)
    if rest:
        inner = table.get(f"{origin}.{real}")
        if inner is not None:
            return definition(table, inner, rest, hops + 1)
        return None
    found = table.get(origin)
    return definition(table, found, real, hops + 1) if found is not None else None


def _of_module(table: ModuleTable, name: str, hops: int) -> Found | None:
    place, _, last = name.rpartition(".")
    found = table.get(place) if place else None
    return definition(table, found, last, hops + 1) if found is not None else None


def find_class(table: ModuleTable, module: Module, name: str) -> tuple[Module, ast.ClassDef] | None:
    """The class behind a name, or None where it is none, or not of the package."""
    found = definition(table, module, name)
    if found is not None and isinstance(found.statement, ast.ClassDef):
        return found.module, found.statement
    return None


def lineage(
    table: ModuleTable, module: Module, node: ast.ClassDef, depth: int = 0
) -> list[tuple[Module, ast.ClassDef]]:
    """The class and those bases that the package defines, nearest first."""
    found = [(module, node)]
    if depth > _MAX_HOPS:
        return found
    for base in node.bases:
        parent = find_class(table, module, dotted_name(base))
        if parent is not None and parent[1] is not node:
            found.extend(lineage(table, *parent, depth=depth + 1))
    return found


def method(
    table: ModuleTable, module: Module, node: ast.ClassDef, name: str
) -> tuple[Module, ast.FunctionDef] | None:
    """A method of a class or of its bases."""
    for home, owner in lineage(table, module, node):
        for statement in owner.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return home, statement
    return None


def constant(table: ModuleTable, module: Module, node: ast.expr | None) -> tuple[bool, Scalar]:
    """Whether an expression is a constant, also by name, and which."""
    for _ in range(_MAX_HOPS):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str | int | float | bool | None):
                return True, node.value
            return False, None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            known, value = constant(table, module, node.operand)
            if known and isinstance(value, int | float):
                return True, -value
            return False, None
        if isinstance(node, ast.BinOp):
            return _arithmetic(table, module, node)
        name = dotted_name(node) if node is not None else ""
        found = definition(table, module, name) if name else None
        if found is None and "." in name:
            found = _attribute(table, module, name)
        value_node = getattr(found.statement, "value", None) if found is not None else None
        if found is None or not isinstance(value_node, ast.expr):
            return False, None
        module, node = found.module, value_node
    return False, None


def _attribute(table: ModuleTable, module: Module, name: str) -> Found | None:
    """The statement of a class body that binds ``Class.attribute``; enumerations have none."""
    owner, _, wanted = name.rpartition(".")
    cls = find_class(table, module, owner)
    if cls is None or any("Enum" in dotted_name(base) for base in cls[1].bases):
        return None
    for home, node in lineage(table, *cls):
        for statement in node.body:
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and statement.target.id == wanted
            ):
                return Found(home, statement)
    return None


def _arithmetic(table: ModuleTable, module: Module, node: ast.BinOp) -> tuple[bool, Scalar]:
    left_known, left = constant(table, module, node.left)
    right_known, right = constant(table, module, node.right)
    if not (left_known and right_known and isinstance(left, int) and isinstance(right, int)):
        return False, None
    if isinstance(node.op, ast.Mult):
        return True, left * right
    if isinstance(node.op, ast.Add | ast.Sub):
        return True, left + right if isinstance(node.op, ast.Add) else left - right
    small = 0 <= right <= 64
    if isinstance(node.op, ast.Pow | ast.LShift) and small:
        return True, left**right if isinstance(node.op, ast.Pow) else left << right
    return False, None
