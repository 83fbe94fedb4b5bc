"""The environment variables that a release declares, with what it says about their end."""

from __future__ import annotations

import ast
import re

from sparkproof.core.condition import Scalar
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import EnvVariable
from sparkproof.release.drafts import deprecation
from sparkproof.release.symbolic.modules import Module, ModuleTable

_ENV_MODULE = "vllm.envs"
_TABLE = "environment_variables"
_WRAPPER = "deprecated_env"
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)?)\b")


def read_env(table: ModuleTable) -> tuple[EnvVariable, ...]:
    """Every variable that the release declares, with its default where it is a constant.

    Raises:
        FormatError: the release keeps them elsewhere or in another shape.
    """
    module = table.get(_ENV_MODULE)
    if module is None:
        raise FormatError("no such module", where=table.path_of(_ENV_MODULE))
    declared = _declared(module)
    if not declared:
        raise FormatError("no table of variables", where=f"{module.path}:{_TABLE}")
    defaults = _annotated_defaults(module)
    return tuple(_variable(module, name, getter, defaults) for name, getter in declared)


def _variable(
    module: Module, name: ast.Constant, getter: ast.expr, defaults: dict[str, Scalar]
) -> EnvVariable:
    text = str(name.value)
    said, removal = _ending(module, getter)
    source = module.source(name, _TABLE)
    return EnvVariable(text, defaults.get(text), source, said, removal)


def _declared(module: Module) -> list[tuple[ast.Constant, ast.expr]]:
    for statement in module.bindings.get(_TABLE, []):
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Dict):
            return [
                (key, getter)
                for key, getter in zip(value.keys, value.values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            ]
    return []


def _ending(module: Module, getter: ast.expr) -> tuple[str, str]:
    """What the getter says about the variable's end, and the version in it."""
    called = getter.body if isinstance(getter, ast.Lambda) else getter
    if not isinstance(called, ast.Call) or not isinstance(called.func, ast.Name):
        return "", ""
    if called.func.id == _WRAPPER:
        texts = [item.value for item in called.args if isinstance(item, ast.Constant)]
        if len(texts) == 3:
            removal = str(texts[1]).lstrip("v")
            return f"to be removed in {removal}: {texts[2]!s}", removal
        return "marked as deprecated", ""
    for statement in module.bindings.get(called.func.id, []):
        if isinstance(statement, ast.FunctionDef) and "deprecat" in statement.name:
            said = deprecation(" ".join(_warned(statement)))
            version = _VERSION.search(said)
            return said, version[1] if version else ""
    return "", ""


def _warned(function: ast.FunctionDef) -> list[str]:
    return [
        inner.value
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    ]


def _annotated_defaults(module: Module) -> dict[str, Scalar]:
    """Defaults as the annotations for type checkers state them."""
    found: dict[str, Scalar] = {}
    for statement in module.tree.body:
        for node in statement.body if isinstance(statement, ast.If) else []:
            if (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str | int | float | bool | None)
            ):
                found[node.target.id] = node.value.value
    return found
