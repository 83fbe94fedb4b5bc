"""What a type annotation of a configuration field allows."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from sparkproof.core.observations.release_parts import LiteralType
from sparkproof.formats.python_source import dotted_name
from sparkproof.release.names import definition
from sparkproof.release.symbolic.modules import Module, ModuleTable

_PLAIN = {"bool", "int", "float", "str", "dict", "list", "tuple", "set"}
_CONTAINERS = {
    "List": "list", "Sequence": "list", "Dict": "dict", "Mapping": "dict", "Tuple": "tuple",
    "Set": "set", "frozenset": "set", "FrozenSet": "set", "Iterable": "list",
}  # fmt: skip
_WRAPPERS = {"Annotated", "SkipValidation", "InitVar", "ClassVar", "Final", "Required"}
_MAX_DEPTH = 12


@dataclass
class Hints:
    """The alternatives of an annotation.

    Attributes:
        kinds: ``bool``, ``int``, ``float``, ``str``, ``none``, ``literal``, ``list``, ``tuple``,
            ``set``, ``dict``, ``config`` (a configuration class), ``other``.
        values: of literals, in their order; `numbers` if they are no text.
        config: name of the configuration class.
        element: hints of a container's elements.
    """

    kinds: set[str] = field(default_factory=set)
    values: list[str] = field(default_factory=list)
    contains: list[str] = field(default_factory=list)
    numbers: bool = False
    config: str = ""
    element: Hints | None = None
    open_ended: bool = False


def read_hints(table: ModuleTable, module: Module, node: ast.expr | None) -> Hints:
    """Take an annotation apart; names are followed to what they stand for."""
    hints = Hints()
    if node is not None:
        _collect(table, module, node, hints, 0)
    return hints


def _collect(table: ModuleTable, module: Module, node: ast.expr, hints: Hints, depth: int) -> None:
    if depth > _MAX_DEPTH:
        hints.kinds.add("other")
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        _collect(table, module, node.left, hints, depth + 1)
        _collect(table, module, node.right, hints, depth + 1)
    elif isinstance(node, ast.Constant):
        _constant(table, module, node, hints, depth)
    elif isinstance(node, ast.Subscript):
        _subscript(table, module, node, hints, depth)
    else:
        _name(table, module, dotted_name(node), hints, depth)


def _constant(
    table: ModuleTable, module: Module, node: ast.Constant, hints: Hints, depth: int
) -> None:
    if node.value is None:
        hints.kinds.add("none")
    elif isinstance(node.value, str):
        try:
            inner = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            hints.kinds.add("other")
        else:
            _collect(table, module, inner, hints, depth + 1)
    else:
        hints.kinds.add("other")


def _subscript(
    table: ModuleTable, module: Module, node: ast.Subscript, hints: Hints, depth: int
) -> None:
    name = dotted_name(node.value).split(".")[-1]
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Literal":
        _literal(table, module, items, hints, depth)
    elif name in ("Union", "Optional"):
        for item in items:
            _collect(table, module, item, hints, depth + 1)
        if name == "Optional":
            hints.kinds.add("none")
    elif name in _WRAPPERS:
        _collect(table, module, items[0], hints, depth + 1)
    elif name in _PLAIN or name in _CONTAINERS:
        hints.kinds.add(_CONTAINERS.get(name, name))
        if items:
            hints.element = Hints()
            _collect(table, module, items[0], hints.element, depth + 1)
        hints.open_ended = any(isinstance(i, ast.Constant) and i.value is ... for i in items)
    else:
        hints.kinds.add("other")


def _literal(
    table: ModuleTable, module: Module, items: list[ast.expr], hints: Hints, depth: int
) -> None:
    hints.kinds.add("literal")
    for item in items:
        if isinstance(item, ast.Constant):
            if item.value is None:
                hints.kinds.add("none")
                continue
            hints.numbers = hints.numbers or not isinstance(item.value, str)
            if str(item.value) not in hints.values:
                hints.values.append(str(item.value))
            continue
        inner = Hints()
        _collect(table, module, item, inner, depth + 1)
        name = dotted_name(item)
        if name:
            hints.contains.append(name)
        if inner.kinds != {"literal"}:
            hints.kinds.add("other")
        hints.values.extend(value for value in inner.values if value not in hints.values)


def _name(table: ModuleTable, module: Module, name: str, hints: Hints, depth: int) -> None:
    last = name.rsplit(".", maxsplit=1)[-1]
    if last in _PLAIN or last in _CONTAINERS:
        hints.kinds.add(_CONTAINERS.get(last, last))
        return
    found = definition(table, module, name) if name else None
    if found is None:
        hints.kinds.add("other")
    elif isinstance(found.statement, ast.ClassDef):
        _class(found.statement, hints)
    else:
        value = getattr(found.statement, "value", None)
        if isinstance(value, ast.expr):
            _collect(table, found.module, value, hints, depth + 1)
        else:
            hints.kinds.add("other")


def _class(node: ast.ClassDef, hints: Hints) -> None:
    if is_config(node):
        hints.kinds.add("config")
        hints.config = hints.config or node.name
    elif any(_base_name(base) == "dict" for base in node.bases):
        hints.kinds.add("dict")
    else:
        hints.kinds.add("other")


def _base_name(node: ast.expr) -> str:
    return dotted_name(node.value if isinstance(node, ast.Subscript) else node)


def is_config(node: ast.ClassDef) -> bool:
    """Whether a class is a dataclass, by its decorators."""
    for item in node.decorator_list:
        call = item.func if isinstance(item, ast.Call) else item
        if dotted_name(call).split(".")[-1] in ("config", "dataclass"):
            return True
    return False


def read_literal_type(
    table: ModuleTable, module: Module, name: str, statement: ast.stmt
) -> LiteralType | None:
    """A named literal at the top of a module, or None where the statement is none."""
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.Subscript):
        return None
    if dotted_name(value.value).split(".")[-1] != "Literal":
        return None
    hints = read_hints(table, module, value)
    if not hints.values:
        return None
    return LiteralType(
        name, tuple(hints.values), tuple(hints.contains), module.source(statement, name)
    )
