"""Which CUDA graphs a release captures by default."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sparkproof.core.condition import TRUE, Condition, negate
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_parts import GraphRule
from sparkproof.formats.python_source import brief, dotted_name
from sparkproof.release.conditions import Scope, read_test
from sparkproof.release.configs import own_fields, read_default
from sparkproof.release.names import constant, definition, find_class, method
from sparkproof.release.symbolic.modules import Module, ModuleTable

_MODULE, _CLASS = "vllm.config.vllm", "VllmConfig"
_FUNCTION = "_set_cudagraph_sizes"
_SIZES, _CAP = "cudagraph_capture_sizes", "max_cudagraph_capture_size"
_LEVELS = "OPTIMIZATION_LEVEL_TO_CONFIG"


def read_graph_rule(table: ModuleTable) -> GraphRule:
    """Formula of the largest size, the list of sizes, and the mode by optimization level.

    Raises:
        FormatError: the release decides that elsewhere, or in another shape.
    """
    module = table.get(_MODULE)
    where = f"{table.path_of(_MODULE)}:{_CLASS}.{_FUNCTION}"
    owner = find_class(table, module, _CLASS) if module is not None else None
    found = method(table, *owner, _FUNCTION) if owner is not None else None
    if found is None or owner is None or module is None:
        raise FormatError("no function that sets the sizes", where=where)
    home, function = found
    cap, ceiling = _cap(function, where)
    return GraphRule(
        cap=cap,
        ceilings=tuple(_ceilings(Scope(table, home), function, ceiling, where)),
        sizes=_sizes(function),
        levels=_levels(table, module),
        default_level=_default_level(table, *owner),
        source=home.source(function, f"{_CLASS}.{_FUNCTION}"),
    )


def _cap(function: ast.FunctionDef, where: str) -> tuple[str, ast.expr]:
    """``max_cudagraph_capture_size = min(max_num_seqs * …, CEILING)``."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or dotted_name(node.targets[0]) != _CAP:
            continue
        call = node.value
        if isinstance(call, ast.Call) and dotted_name(call.func) == "min" and len(call.args) == 2:
            formula, ceiling = call.args
            if isinstance(formula, ast.BinOp) and "max_num_seqs" in ast.unparse(formula):
                return brief(formula).replace("self.scheduler_config.", ""), ceiling
    raise FormatError("no formula for the largest size", where=where)


def _ceilings(
    scope: Scope, function: ast.FunctionDef, node: ast.expr, where: str
) -> Iterator[tuple[Condition, int]]:
    if isinstance(node, ast.Name):
        name = node.id
        for inner in ast.walk(function):
            if isinstance(inner, ast.Assign) and dotted_name(inner.targets[0]) == name:
                node = inner.value
                break
    guard: Condition = TRUE
    while isinstance(node, ast.IfExp):
        known, number = constant(scope.table, scope.module, node.body)
        if not known or not isinstance(number, int):
            break
        guard = read_test(scope, node.test)
        yield guard, number
        node = node.orelse
    known, number = constant(scope.table, scope.module, node)
    if not known or not isinstance(number, int):
        raise FormatError(f"largest size `{brief(node)}` is no number", where=where)
    yield (TRUE if guard == TRUE else negate(guard)), number


def _sizes(function: ast.FunctionDef) -> tuple[str, ...]:
    """The pieces that the list of sizes is made of, as written, in order."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(function):
        value: ast.expr | None = None
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = node.value if dotted_name(target) == _SIZES else None
        elif isinstance(node, ast.Call) and dotted_name(node.func) == f"{_SIZES}.append":
            value = node.args[0]
        if value is not None:
            found.append((value.lineno, brief(value, 120)))
    return tuple(text for _, text in sorted(found))


def _levels(table: ModuleTable, module: Module) -> tuple[tuple[str, str], ...]:
    found = definition(table, module, _LEVELS)
    node = getattr(found.statement, "value", None) if found is not None else None
    if not isinstance(node, ast.Dict):
        return ()
    levels: list[tuple[str, str]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        inner = definition(table, module, dotted_name(value))
        config = getattr(inner.statement, "value", None) if inner is not None else None
        mode = _mode(config)
        if key is not None and mode:
            levels.append((dotted_name(key).split(".")[-1].lstrip("O"), mode))
    return tuple(levels)


def _mode(node: ast.expr | None) -> str:
    for inner in ast.walk(node) if node is not None else ():
        if isinstance(inner, ast.Dict):
            for key, value in zip(inner.keys, inner.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "cudagraph_mode":
                    return dotted_name(value).split(".")[-1]
    return ""


def _default_level(table: ModuleTable, module: Module, node: ast.ClassDef) -> str:
    for item in own_fields(module, node):
        if item.name == "optimization_level":
            default, computed = read_default(table, item)
            return str(default) if default is not None else computed.split(".")[-1].lstrip("O")
    return ""
