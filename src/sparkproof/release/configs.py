"""Configuration classes: their fields with types, defaults and choices."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from sparkproof.core.condition import Scalar
from sparkproof.core.observations.release_parts import ConfigClass, ConfigField, LiteralType
from sparkproof.formats.python_source import brief, dotted_name
from sparkproof.release.annotations import Hints, is_config, read_hints, read_literal_type
from sparkproof.release.names import constant, lineage
from sparkproof.release.symbolic.modules import Module, ModuleTable
from sparkproof.release.validators import NO_VALIDATORS, Validators, is_strict, read_validators

CONFIG_PACKAGE = "vllm.config"


class FieldSource(NamedTuple):
    """One annotated field with the text that documents it."""

    module: Module
    node: ast.AnnAssign
    name: str
    doc: str


def own_fields(module: Module, node: ast.ClassDef) -> Iterator[FieldSource]:
    """The annotated fields of one class body, in order."""
    for position, statement in enumerate(node.body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if dotted_name(getattr(statement.annotation, "value", statement.annotation)).endswith(
            "ClassVar"
        ):
            continue
        following = node.body[position + 1] if position + 1 < len(node.body) else None
        doc = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            doc = str(following.value.value)
        yield FieldSource(module, statement, statement.target.id, doc)


def all_fields(table: ModuleTable, module: Module, node: ast.ClassDef) -> list[FieldSource]:
    """The fields of a class with those of its bases, bases first, as a dataclass has them."""
    found: dict[str, FieldSource] = {}
    for home, owner in reversed(lineage(table, module, node)):
        for item in own_fields(home, owner):
            found[item.name] = item
    return list(found.values())


def read_default(table: ModuleTable, item: FieldSource) -> tuple[Scalar, str]:
    """The default of a field: a constant, or None and its source text."""
    value = item.node.value
    if value is None:
        return None, "required"
    if isinstance(value, ast.Call) and dotted_name(value.func).split(".")[-1] in ("Field", "field"):
        named = {keyword.arg: keyword.value for keyword in value.keywords}
        factory = named.get("default_factory")
        if factory is not None:
            return None, brief(factory.body if isinstance(factory, ast.Lambda) else factory)
        value = named.get("default", value.args[0] if value.args else None)
        if value is None:
            return None, "required"
    known, scalar = constant(table, item.module, value)
    return (scalar, "") if known else (None, brief(value))


def read_field(
    table: ModuleTable, item: FieldSource, validators: Validators = NO_VALIDATORS
) -> tuple[ConfigField, Hints]:
    """One field, and the alternatives of its type."""
    hints = read_hints(table, item.module, item.node.annotation)
    default, computed = read_default(table, item)
    literal = tuple(hints.values) if "literal" in hints.kinds else ()
    members = () if literal else validators.members.get(item.name, ())
    choices = literal or members
    read = ConfigField(
        name=item.name,
        type=brief(item.node.annotation, 160),
        line=item.node.lineno,
        default=default,
        computed=computed,
        choices=choices,
        closed=(bool(literal) and hints.kinds <= {"literal", "none"}) or bool(members),
        config=hints.config,
        rewrites=validators.rewrites.get(item.name, ""),
        checked=bool(choices) and item.name in validators.checked,
    )
    return read, hints


def read_configs(table: ModuleTable) -> tuple[tuple[ConfigClass, ...], tuple[LiteralType, ...]]:
    """Every configuration class and named literal of the configuration package."""
    classes: list[ConfigClass] = []
    literals: list[LiteralType] = []
    for name in table.submodules(CONFIG_PACKAGE):
        module = table.get(name)
        for statement in module.tree.body if module is not None else ():
            if module is None:
                continue
            if isinstance(statement, ast.ClassDef) and is_config(statement):
                classes.append(_read_class(table, module, statement))
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                literals.extend(_literals(table, module, statement))
    return tuple(classes), tuple(literals)


def _read_class(table: ModuleTable, module: Module, node: ast.ClassDef) -> ConfigClass:
    validators = read_validators(table, lineage(table, module, node))
    fields = (read_field(table, i, validators)[0] for i in all_fields(table, module, node))
    source = module.source(node, node.name)
    return ConfigClass(node.name, tuple(fields), source, is_strict(table, module, node))


def _literals(table: ModuleTable, module: Module, statement: ast.stmt) -> Iterator[LiteralType]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    for target in targets:
        if isinstance(target, ast.Name):
            found = read_literal_type(table, module, target.id, statement)
            if found is not None:
                yield found
