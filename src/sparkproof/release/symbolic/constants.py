"""Parts of a module-level constant that is made by calling a class of the artifact."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from sparkproof.release.symbolic import classes
from sparkproof.release.symbolic.modules import Module
from sparkproof.release.symbolic.values import ClassValue, Named, Value

if TYPE_CHECKING:
    from sparkproof.release.symbolic.interpreter import Run


class Slot(NamedTuple):
    """One field of a class with its default."""

    name: str
    default: ast.expr | None
    home: Module


def part_of(run: Run, constant: Named, wanted: str) -> Value | None:
    """``constant.wanted``: what was passed for that field, or its default; None if not told."""
    call = call_of(run, constant)
    if call is None:
        return None
    module, node = call
    owner = run.evaluate(node.func, run.frame(module))
    slots = slots_of(run, owner) if isinstance(owner, ClassValue) else []
    for position, slot in enumerate(slots):
        if slot.name != wanted:
            continue
        given = next((item.value for item in node.keywords if item.arg == wanted), None)
        if given is None and position < len(node.args):
            given = node.args[position]
        if given is not None:
            return run.evaluate(given, run.frame(module))
        return run.evaluate(slot.default, run.frame(slot.home)) if slot.default else None
    return None


def call_of(run: Run, constant: Named) -> tuple[Module, ast.Call] | None:
    """The call that makes a constant, and the module it stands in."""
    module = run.table.get(constant.module) if constant.module else None
    for statement in reversed(module.bindings.get(constant.name, [])) if module else ():
        value = getattr(statement, "value", None)
        if module is not None and isinstance(value, ast.Call):
            return module, value
    return None


def slots_of(run: Run, owner: ClassValue) -> list[Slot]:
    """The annotated fields of a class and its bases, in the order of its constructor."""
    found: dict[str, Slot] = {}
    for item in reversed(classes.lineage(run, owner)):
        known = classes.class_node(run, item)
        for statement in known[1].body if known is not None else ():
            if known is None or not isinstance(statement, ast.AnnAssign):
                continue
            if isinstance(statement.target, ast.Name) and not _of_the_class(statement):
                name = statement.target.id
                found[name] = Slot(name, statement.value, known[0])
    return list(found.values())


def _of_the_class(statement: ast.AnnAssign) -> bool:
    return "ClassVar" in ast.unparse(statement.annotation)
