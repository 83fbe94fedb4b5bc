"""Classes of the artifact: their bases, members, methods and enumerations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparkproof.formats.python_source import brief, dotted_name
from sparkproof.release.symbolic.frames import UnreadableError
from sparkproof.release.symbolic.modules import Module
from sparkproof.release.symbolic.values import ClassValue, EnumValue, FuncValue, Text, Unread, Value

if TYPE_CHECKING:
    from sparkproof.release.symbolic.interpreter import Run

_ENUM_BASES = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}


def class_node(run: Run, owner: ClassValue) -> tuple[Module, ast.ClassDef] | None:
    """The definition of a class."""
    module = run.table.get(owner.module)
    if module is None:
        return None
    for statement in module.bindings.get(owner.name, []):
        for node in ast.walk(statement) if not isinstance(statement, ast.ClassDef) else [statement]:
            if isinstance(node, ast.ClassDef) and node.name == owner.name:
                return module, node
    return None


def bases(run: Run, owner: ClassValue) -> Iterator[ClassValue | str]:
    """Direct bases: classes of the artifact, or dotted names of foreign ones."""
    found = class_node(run, owner)
    if found is None:
        return
    module, node = found
    for base in node.bases:
        inner = base.value if isinstance(base, ast.Subscript) else base
        dotted = dotted_name(inner)
        value = run.evaluate(inner, run.frame(module)) if dotted else None
        yield value if isinstance(value, ClassValue) else dotted


def lineage(run: Run, owner: ClassValue) -> list[ClassValue]:
    """The class and its bases in the artifact, nearest first, each once."""
    if owner in run.session.lineages:
        return run.session.lineages[owner]
    order: list[ClassValue] = []

    def visit(item: ClassValue, depth: int) -> None:
        if depth > 30:
            raise UnreadableError(f"class {owner.name} inherits without end")
        if item in order:
            order.remove(item)
        order.append(item)
        for base in bases(run, item):
            if isinstance(base, ClassValue):
                visit(base, depth + 1)

    visit(owner, 0)
    run.session.lineages[owner] = order
    return order


def is_enum(run: Run, owner: ClassValue) -> bool:
    """Whether the class is an enumeration."""
    if owner not in run.session.enums:
        run.session.enums[owner] = _is_enum(run, owner)
    return run.session.enums[owner]


def _is_enum(run: Run, owner: ClassValue) -> bool:
    return any(
        isinstance(base, str) and base.split(".")[-1] in _ENUM_BASES
        for item in lineage(run, owner)
        for base in bases(run, item)
    )


def class_member(
    run: Run, owner: ClassValue, wanted: str, *, after: ClassValue | None = None
) -> tuple[ClassValue, Module, ast.stmt] | None:
    """The statement that defines a member, in the class or the nearest base.

    Args:
        after: start behind this class of the lineage, as ``super()`` does.
    """
    key = (owner, wanted, after)
    if key not in run.session.members:
        run.session.members[key] = _find_member(run, owner, wanted, after)
    return run.session.members[key]


def _find_member(
    run: Run, owner: ClassValue, wanted: str, after: ClassValue | None
) -> tuple[ClassValue, Module, ast.stmt] | None:
    order = lineage(run, owner)
    if after in order:
        order = order[order.index(after) + 1 :]
    for item in order:
        found = class_node(run, item)
        if found is None:
            continue
        for statement in reversed(found[1].body):
            if _defines(statement, wanted):
                return item, found[0], statement
        if any(_announces(statement, wanted) for statement in found[1].body):
            for statement in found[0].tree.body:
                if _fills_in(statement, item.name, wanted):
                    return item, found[0], statement
    return None


def _announces(statement: ast.stmt, wanted: str) -> bool:
    """``wanted: ClassVar[…]``, which is given its value behind the class."""
    return (
        isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and statement.target.id == wanted
        and statement.value is None
    )


def _fills_in(statement: ast.stmt, owner: str, wanted: str) -> bool:
    """``Owner.wanted = …``."""
    return isinstance(statement, ast.Assign) and any(
        dotted_name(target) == f"{owner}.{wanted}" for target in statement.targets
    )


def _defines(statement: ast.stmt, wanted: str) -> bool:
    if isinstance(statement, ast.FunctionDef):
        return statement.name == wanted
    if isinstance(statement, ast.Assign):
        return any(isinstance(t, ast.Name) and t.id == wanted for t in statement.targets)
    return (
        isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and statement.target.id == wanted
        and statement.value is not None
    )


def decorators(node: ast.FunctionDef) -> set[str]:
    """The last names of a function's decorators, e.g. ``classmethod``."""
    return {
        dotted_name(item.func if isinstance(item, ast.Call) else item).split(".")[-1]
        for item in node.decorator_list
    }


def method(
    run: Run, owner: ClassValue, wanted: str, bound: Value, *, after: ClassValue | None = None
) -> FuncValue | None:
    """A method, bound as its decorators say; None where the artifact has none."""
    found = class_member(run, owner, wanted, after=after)
    if found is None:
        return None
    home, module, node = found
    if not isinstance(node, ast.FunctionDef):
        return None
    target = None if "staticmethod" in decorators(node) else bound
    if isinstance(bound, ClassValue) and not {"classmethod", "staticmethod"} & decorators(node):
        target = None
    return FuncValue(module.name, node, owner=home, bound=target)


def enum_member(run: Run, owner: ClassValue, wanted: str) -> EnumValue:
    """A member of an enumeration; another name for one gives that one."""
    found = class_member(run, owner, wanted)
    node = found[2] if found else None
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
        other = class_member(run, owner, node.value.id)
        if other is not None and node.value.id != wanted:
            return enum_member(run, owner, node.value.id)
    return EnumValue(owner, wanted)


def enum_value(run: Run, value: EnumValue) -> Value:
    """The value that a member of an enumeration was given."""
    found = class_member(run, value.owner, value.name)
    if found is None or not isinstance(found[2], ast.Assign):
        return Unread(f"{value.owner.name}.{value.name}.value")
    node = found[2].value
    if isinstance(node, ast.Call):
        return Text(brief(node)) if dotted_name(node.func) != "auto" else Text(value.name.lower())
    return run.evaluate(node, run.frame(found[1]))
