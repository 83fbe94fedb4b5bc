"""Registries that stand as tables in the source: models, parsers, quantization names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_parts import ModelEntry, ParserEntry
from sparkproof.formats.python_source import dotted_name
from sparkproof.release.names import constant
from sparkproof.release.symbolic.modules import Module, ModuleTable

_MODELS = "vllm.model_executor.models"
_REGISTRY = f"{_MODELS}.registry"
_ALL = "_VLLM_MODELS"
_REMEMBERED = {"_PREVIOUSLY_SUPPORTED_MODELS": "removed", "_OOT_SUPPORTED_MODELS": "plugin"}
_BACKENDS = f"{_MODELS}.transformers"
_PARSERS = (
    ("tool", "vllm.tool_parsers", "_TOOL_PARSERS_TO_REGISTER"),
    ("reasoning", "vllm.reasoning", "_REASONING_PARSERS_TO_REGISTER"),
)


def read_models(table: ModuleTable) -> tuple[ModelEntry, ...]:
    """Every architecture of the registry, and those that the release only remembers.

    Raises:
        FormatError: the registry is elsewhere, or in another shape.
    """
    module = _module(table, _REGISTRY)
    node = _table_at(module, _ALL)
    needs = _transformers_needs(table)
    found: list[ModelEntry] = []
    for key, value in zip(node.keys, node.values, strict=True):
        name = dotted_name(value) if key is None else ""
        if not name:
            raise FormatError("registry holds something else than tables", where=_at(module, value))
        kind = name.strip("_").lower().removesuffix("_models").replace("_", "-")
        for architecture, row, source in _rows(table, module, _table_at(module, name), name):
            place, implementation = _pair(row)
            if not implementation:
                raise FormatError("entry names no class", where=_at(module, row))
            found.append(
                ModelEntry(
                    architecture=architecture,
                    kind=kind,
                    source=module.source(source, name),
                    module=place if "." in place else f"{_MODELS}.{place}",
                    implementation=implementation,
                    needs=needs.get(implementation, ""),
                )
            )
    return (*found, *_remembered(table, module))


def _remembered(table: ModuleTable, module: Module) -> Iterator[ModelEntry]:
    for name, kind in _REMEMBERED.items():
        if name not in module.bindings:
            continue
        for architecture, row, source in _rows(table, module, _table_at(module, name), name):
            known, note = constant(table, module, row)
            place = module.source(source, name)
            yield ModelEntry(architecture, kind, place, note=str(note) if known else "")


def _module(table: ModuleTable, name: str) -> Module:
    module = table.get(name)
    if module is None:
        raise FormatError("no such module, or not readable", where=table.path_of(name))
    return module


def _at(module: Module, node: ast.AST) -> str:
    return f"{module.path}:{getattr(node, 'lineno', 0)}"


def _table_at(module: Module, name: str) -> ast.Dict:
    """The dict bound to a name at the top of a module."""
    for statement in reversed(module.bindings.get(name, [])):
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Dict):
            return value
    raise FormatError("no table of that name", where=f"{module.path}:{name}")


def _rows(
    table: ModuleTable, module: Module, node: ast.Dict, name: str
) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            if isinstance(value, ast.DictComp):
                yield from _picked(table, module, value, name)
            else:
                yield from _rows(table, module, _table_at(module, dotted_name(value)), name)
            continue
        known, text = constant(table, module, key)
        if not known or not isinstance(text, str):
            raise FormatError("name is no constant", where=_at(module, key))
        yield text, value, key


def _picked(
    table: ModuleTable, module: Module, node: ast.DictComp, name: str
) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """``{k: (m, c) for k, (m, c) in TABLE.items() if c == "Name"}``: some rows of another table."""
    loop = node.generators[0]
    call = loop.iter
    source = call.func.value if isinstance(call, ast.Call) else None  # type: ignore[attr-defined]
    names = [item.id for item in ast.walk(loop.target) if isinstance(item, ast.Name)]
    if len(node.generators) != 1 or source is None or len(names) != 3:
        raise FormatError("rows are picked in a way that is not followed", where=_at(module, node))
    for text, row, key in _rows(table, module, _table_at(module, dotted_name(source)), name):
        bound = dict(zip(names, (text, *_pair(row)), strict=True))
        if all(_holds(test, bound, module) for test in loop.ifs):
            yield text, row, key


def _holds(test: ast.expr, bound: dict[str, str], module: Module) -> bool:
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name):
        operator, right = test.ops[0], test.comparators[0]
        left = bound.get(test.left.id)
        if isinstance(operator, ast.Eq) and isinstance(right, ast.Constant):
            return left == right.value
        if isinstance(operator, ast.In) and isinstance(right, ast.Tuple | ast.List | ast.Set):
            return left in {getattr(item, "value", None) for item in right.elts}
    raise FormatError("rows are picked by a test that is not followed", where=_at(module, test))


def _pair(node: ast.expr) -> tuple[str, str]:
    items = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    texts = [item.value for item in items if isinstance(item, ast.Constant)]
    if len(items) == 2 and len(texts) == 2 and all(isinstance(text, str) for text in texts):
        return str(texts[0]), str(texts[1])
    return "", ""


def _transformers_needs(table: ModuleTable) -> dict[str, str]:
    """Version of Transformers that each class of the Transformers backend asks for."""
    needs: dict[str, str] = {}
    bases: dict[str, list[str]] = {}
    for name in table.submodules(_BACKENDS):
        module = table.get(name)
        for node in module.tree.body if module is not None else ():
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [dotted_name(base).split(".")[-1] for base in node.bases]
                version = _asked_version(node)
                if version:
                    needs[node.name] = f">={version}"
    for name in bases:
        _inherit(name, bases, needs, 0)
    return needs


def _inherit(name: str, bases: dict[str, list[str]], needs: dict[str, str], depth: int) -> str:
    if depth > 12:
        return ""
    own = [needs.get(name, "")]
    own += [_inherit(base, bases, needs, depth + 1) for base in bases.get(name, [])]
    best = max(own, key=_numbers)
    if best:
        needs[name] = best
    return best


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.lstrip(">=").split(".") if part.isdigit())


def _asked_version(node: ast.ClassDef) -> str:
    """The constant of ``self.check_version("5.0.0", …)`` that its ``__init__`` always reaches."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            for inner in statement.body:
                call = inner.value if isinstance(inner, ast.Expr) else None
                if (
                    isinstance(call, ast.Call)
                    and dotted_name(call.func) == "self.check_version"
                    and call.args
                    and isinstance(call.args[0], ast.Constant)
                ):
                    return str(call.args[0].value)
    return ""


def read_parsers(table: ModuleTable) -> tuple[ParserEntry, ...]:
    """Tool-call and reasoning parsers by name.

    Raises:
        FormatError: a registry is elsewhere, or in another shape.
    """
    found: list[ParserEntry] = []
    for kind, package, name in _PARSERS:
        module = _module(table, package)
        for parser, row, source in _rows(table, module, _table_at(module, name), name):
            place, implementation = _pair(row)
            if not implementation:
                raise FormatError("entry names no class", where=_at(module, row))
            found.append(
                ParserEntry(
                    kind, parser, f"{package}.{place}", implementation, module.source(source, name)
                )
            )
    return tuple(found)
