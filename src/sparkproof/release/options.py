"""Options by the types that list their values, for releases whose parser can't be followed."""

from __future__ import annotations

import ast

from sparkproof.core.condition import Scalar
from sparkproof.core.observations.release_surface import Option
from sparkproof.core.unknown import Unknown
from sparkproof.facts.release_layout import OptionLayout
from sparkproof.formats.python_source import brief, literal_choices
from sparkproof.release.symbolic.interpreter import Session
from sparkproof.release.symbolic.modules import Module


def read_option(session: Session, layout: OptionLayout) -> Option | Unknown | None:
    """One option; None where the release's configuration has no such field."""
    module_name, name = layout.literal.split(":")
    module = session.table.get(module_name)
    where = f"{session.table.path_of(module_name)}:{name}"
    field = _field(session, layout.field)
    if module is None:
        return Unknown(where=where, why="no such module", topic=f"option/{layout.flag}")
    if name not in module.bindings:
        if field is None:
            return None
        return Unknown(where=where, why="no list of values", topic=f"option/{layout.flag}")
    statement = module.bindings[name][-1]
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    choices = literal_choices(value) if value is not None else None
    if choices is None:
        return Unknown(where=where, why="values are no literal", topic=f"option/{layout.flag}")
    return Option(
        flag=layout.flag,
        choices=choices,
        default=_default(field),
        source=module.source(statement, name),
        closed=not layout.open and not _takes_any_text(field),
        normalises=_normalises(session, layout.field),
    )


def _class(session: Session, place: str) -> tuple[Module, ast.ClassDef, str] | None:
    module_name, path = place.split(":")
    owner, _, field = path.partition(".")
    module = session.table.get(module_name)
    for statement in module.bindings.get(owner, []) if module is not None else []:
        if isinstance(statement, ast.ClassDef) and module is not None:
            return module, statement, field
    return None


def _field(session: Session, place: str) -> ast.AnnAssign | None:
    found = _class(session, place)
    for statement in found[1].body if found is not None else []:
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and found is not None
            and statement.target.id == found[2]
        ):
            return statement
    return None


def _default(field: ast.AnnAssign | None) -> Scalar:
    value = field.value if field is not None else None
    if isinstance(value, ast.Call):
        value = next((item.value for item in value.keywords if item.arg == "default"), None)
    if isinstance(value, ast.Constant) and isinstance(value.value, str | int | float | bool | None):
        return value.value
    return None


def _takes_any_text(field: ast.AnnAssign | None) -> bool:
    return field is not None and any(
        isinstance(node, ast.Name) and node.id == "str" for node in ast.walk(field.annotation)
    )


def _normalises(session: Session, place: str) -> bool:
    """Whether a validator of the field, or the parser's type, lower-cases and swaps hyphens."""
    found = _class(session, place)
    if found is None:
        return False
    for statement in found[1].body:
        if isinstance(statement, ast.FunctionDef):
            marks = " ".join(brief(item) for item in statement.decorator_list)
            body = ast.unparse(statement)
            if repr(found[2]) in marks and ".lower()" in body and "replace('-', '_')" in body:
                return True
    return _parser_normalises(session, found[2])


def _parser_normalises(session: Session, field: str) -> bool:
    text = session.table.text("vllm.engine.arg_utils")
    return f'{field}_kwargs["type"] = lambda s: s.lower().replace("-", "_")' in text
