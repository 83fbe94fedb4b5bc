"""What argparse is told about one option, while it is still being put together."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from sparkproof.core.condition import Scalar
from sparkproof.core.observations.release_parts import ConfigField
from sparkproof.formats.python_source import dotted_name
from sparkproof.release.annotations import Hints
from sparkproof.release.symbolic.modules import Module

_CONVERTERS = {
    "int": "int",
    "str": "text",
    "float": "float",
    "human_readable_int": "size",
    "human_readable_int_or_auto": "length",
    "union_dict_and_str": "mixed",
}
"""Functions that convert a word, and what the word then is (arg_utils.py, 0.19.1 to 0.33.0)."""


_ENDING = re.compile(
    r"(?i)\b(?:is|are|now|been|marked) (?:as )?deprecated|^\W*deprecated\b"
    r"|will be removed|removed in"
)


@dataclass
class Draft:
    """The keywords of one ``add_argument``, as far as they are known."""

    value: str = "text"
    arity: str = "one"
    default: Scalar = None
    computed: str = ""
    choices: list[str] = field(default_factory=list)
    closed: bool = False
    nullable: bool = False
    switch: str = ""
    """``boolean`` for an option with its negative, ``true`` or ``false`` for a plain switch."""
    normalises: bool = False
    config: str = ""
    deprecated: str = ""
    key: str = ""
    group: str = ""
    unread: list[str] = field(default_factory=list)

    def copy(self) -> Draft:
        """Another one that can be edited on its own."""
        return Draft(**{**vars(self), "choices": list(self.choices), "unread": list(self.unread)})


@dataclass
class Sizes:
    """Fields whose words may be sizes such as ``128k``, or ``auto``."""

    size: set[str] = field(default_factory=set)
    length: set[str] = field(default_factory=set)


def read_sizes(module: Module) -> Sizes:
    """Read them from the function that makes options of fields."""
    found = Sizes()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef) and node.name in ("_compute_kwargs", "get_kwargs"):
            for inner in ast.walk(node):
                if isinstance(inner, ast.If):
                    _read_branch(node, inner, found)
    return found


def _read_branch(function: ast.FunctionDef, branch: ast.If, found: Sizes) -> None:
    used = {
        statement.value.id
        for statement in branch.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name)
    }
    names = _texts(branch.test)
    for node in ast.walk(branch.test):
        if isinstance(node, ast.Name):
            names |= _assigned_texts(function, node.id)
    if "human_readable_int" in used:
        found.size |= names
    if "human_readable_int_or_auto" in used:
        found.length |= names


def _assigned_texts(function: ast.FunctionDef, name: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(function):
        names = node.targets if isinstance(node, ast.Assign) else []
        listed = isinstance(getattr(node, "value", None), ast.Set | ast.Tuple | ast.List)
        if listed and any(dotted_name(target) == name for target in names):
            found |= _texts(node.value)  # type: ignore[attr-defined]
    return found


def _texts(node: ast.AST) -> set[str]:
    return {
        inner.value
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    }


def draft_of(item: ConfigField, hints: Hints, doc: str, sizes: Sizes) -> Draft:
    """What a release makes of a field: its type decides, in the order vLLM asks."""
    draft = Draft(default=item.default, computed=item.computed, key=item.name)
    draft.deprecated = deprecation(doc)
    kinds = hints.kinds
    if "config" in kinds:
        draft.value, draft.config = "object", hints.config
    elif kinds == {"bool", "str", "none"}:
        draft.arity = "optional"
    elif "bool" in kinds:
        draft.value, draft.arity, draft.switch = "none", "none", "boolean"
        return draft
    elif "literal" in kinds:
        _take_literal(draft, hints)
    elif kinds & {"tuple", "list", "set"}:
        draft.arity = "many"
        _take_element(draft, hints.element)
    elif "int" in kinds:
        draft.value = "int"
        if item.name in sizes.length:
            draft.value = "length"
        elif item.name in sizes.size:
            draft.value = "size"
    elif "float" in kinds:
        draft.value = "float"
    elif "dict" in kinds:
        draft.value = "mixed" if kinds & {"str", "other"} else "object"
    draft.nullable = "none" in kinds
    return draft


def _take_literal(draft: Draft, hints: Hints) -> None:
    draft.value = "int" if hints.numbers else "text"
    draft.choices = list(hints.values)
    draft.closed = "str" not in hints.kinds


def _take_element(draft: Draft, element: Hints | None) -> None:
    if element is None or len(element.kinds) > 1:
        return
    if "literal" in element.kinds:
        _take_literal(draft, element)
    elif element.kinds & {"int", "float"}:
        draft.value = next(iter(element.kinds))


def deprecation(text: str) -> str:
    """The sentence that speaks of an end, "" where none does."""
    for sentence in " ".join(text.split()).replace("vLLM v", "v").split(". "):
        if _ENDING.search(sentence):
            return sentence.strip().rstrip(".")
    return ""


def set_converter(draft: Draft, node: ast.expr) -> None:
    """Apply ``type=…``."""
    nullable = False
    while isinstance(node, ast.Call) and dotted_name(node.func) in ("optional_type", "parse_type"):
        nullable = nullable or dotted_name(node.func) == "optional_type"
        node = node.args[0]
    draft.nullable = draft.nullable or nullable
    name = dotted_name(node)
    if isinstance(node, ast.Lambda):
        text = ast.unparse(node.body)
        draft.normalises = ".lower()" in text and "replace('-', '_')" in text
        if not draft.normalises and not draft.choices:
            draft.value = "text"
    elif name in _CONVERTERS:
        draft.value = _CONVERTERS[name]
    elif name == "json.loads":
        draft.value = "object" if draft.value == "object" else "json"
    elif not name:
        draft.unread.append(f"type {ast.unparse(node)[:60]}")
