"""What a configuration class does to its values before it takes them, and what it refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sparkproof.core.observations.release_parts import Rewrite
from sparkproof.formats.python_source import dotted_name
from sparkproof.release.names import definition, find_class
from sparkproof.release.symbolic.modules import Module, ModuleTable

_VALIDATOR = "field_validator"
_FORBIDS = ("extra='forbid'", "'extra': 'forbid'")
_STANDARD = "dataclasses.dataclass"


class Validators(NamedTuple):
    """What stands beside the fields of one class.

    Attributes:
        rewrites: how a text is rewritten before it is looked up, by field.
        members: what a field's text is looked up among: names of an enumeration.
        checked: fields of which a validator refuses every value that it does not know.
    """

    rewrites: dict[str, Rewrite]
    members: dict[str, tuple[str, ...]]
    checked: frozenset[str]


NO_VALIDATORS = Validators({}, {}, frozenset())


def read_validators(
    table: ModuleTable, lineage: Iterable[tuple[Module, ast.ClassDef]]
) -> Validators:
    """The validators of a class and its bases."""
    rewrites: dict[str, Rewrite] = {}
    members: dict[str, tuple[str, ...]] = {}
    checked: set[str] = set()
    for module, node in lineage:
        for function in node.body:
            if not isinstance(function, ast.FunctionDef):
                continue
            for names, before in _marks(function):
                rewrite = _rewrite(function) if before else ""
                if rewrite:
                    rewrites.update(dict.fromkeys(names, rewrite))
                    members.update(dict.fromkeys(names, _looked_up(table, module, function)))
                if _refuses_unknown(function):
                    checked.update(names)
    return Validators(rewrites, members, frozenset(checked))


def _marks(function: ast.FunctionDef) -> Iterator[tuple[tuple[str, ...], bool]]:
    """The fields that a validator is for, and whether it runs before the type is looked at."""
    for item in function.decorator_list:
        if not isinstance(item, ast.Call):
            continue
        if dotted_name(item.func).split(".")[-1] != _VALIDATOR:
            continue
        names = [a.value for a in item.args if isinstance(a, ast.Constant)]
        modes = [k.value for k in item.keywords if k.arg == "mode"]
        before = any(isinstance(m, ast.Constant) and m.value == "before" for m in modes)
        yield tuple(name for name in names if isinstance(name, str)), before


def _rewrite(function: ast.FunctionDef) -> Rewrite:
    """How the text that a validator returns or looks up was made of the one it got."""
    made = [
        ast.unparse(item)
        for statement in ast.walk(function)
        if isinstance(statement, ast.Return) and statement.value is not None
        for item in ast.walk(statement.value)
        if isinstance(item, ast.Call)
    ]
    if any(".lower()" in text and "replace('-', '_')" in text for text in made):
        return "snake"
    if any(text.endswith(".upper()") for text in made):
        return "upper"
    return "lower" if any(text.endswith(".lower()") for text in made) else ""


def _looked_up(table: ModuleTable, module: Module, function: ast.FunctionDef) -> tuple[str, ...]:
    """The members for ``return Enumeration[value.upper()]``; none for anything else."""
    for item in ast.walk(function):
        if isinstance(item, ast.Return) and isinstance(item.value, ast.Subscript):
            found = find_class(table, module, dotted_name(item.value.value))
            if found is not None:
                return tuple(
                    target.id
                    for statement in found[1].body
                    if isinstance(statement, ast.Assign)
                    for target in statement.targets
                    if isinstance(target, ast.Name) and not target.id.startswith("_")
                )
    return ()


def _refuses_unknown(function: ast.FunctionDef) -> bool:
    """``if not is_known(value): raise``, or ``if value not in …: raise``."""
    parameters = {item.arg for item in function.args.args[1:]}
    for item in ast.walk(function):
        if isinstance(item, ast.If) and any(isinstance(s, ast.Raise) for s in item.body):
            asked = _asked_of(item.test)
            if isinstance(asked, ast.Name) and asked.id in parameters:
                return True
    return False


def _asked_of(test: ast.expr) -> ast.expr | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        call = test.operand
        return call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn):
        return test.left
    return None


def is_strict(table: ModuleTable, module: Module, node: ast.ClassDef) -> bool:
    """Whether a class refuses keys that it does not have: its decorator forbids them."""
    for item in node.decorator_list:
        if any(mark in ast.unparse(item) for mark in _FORBIDS):
            return True
        call = item.func if isinstance(item, ast.Call) else item
        name = dotted_name(call)
        found = definition(table, module, name) if name else None
        if found is not None and any(m in ast.unparse(found.statement) for m in _FORBIDS):
            return True
        if found is None and _origin(module, name) == _STANDARD:
            return True
    return False


def _origin(module: Module, name: str) -> str:
    """``dataclasses.dataclass`` for what a name was imported from, "" where it was not."""
    for statement in module.bindings.get(name.split(".", maxsplit=1)[0], []):
        if isinstance(statement, ast.ImportFrom):
            return f"{statement.module}.{name}"
        if isinstance(statement, ast.Import):
            return name
    return ""
