"""Tests of configuration code as conditions, and the cases that a body of code comes to.

Simpler than the interpreter of selection functions: nothing is walked but tests, assignments
of names and ways out; a test that is not understood stays as its own text.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from sparkproof.core.condition import (
    FALSE,
    TRUE,
    Comparison,
    Condition,
    DeviceTest,
    EnvTest,
    Opaque,
    Scalar,
    Setting,
    all_of,
    any_of,
    negate,
)
from sparkproof.core.observations.release_parts import LiteralType
from sparkproof.formats.python_source import brief, dotted_name
from sparkproof.release.annotations import read_hints
from sparkproof.release.names import constant, definition
from sparkproof.release.symbolic.modules import Module, ModuleTable

_OPERATORS: dict[type[ast.cmpop], Comparison] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_PLATFORM = {"is_cuda": True, "is_cuda_alike": True, "is_unspecified": False}
_MEASURED = {
    "get_device_total_memory": "device_memory",
    "get_device_name": "device_name",
}
"""What the platform says of the device, and the setting it is called in a condition."""


@dataclass
class Scope:
    """Names of a body of code, each with the values it may have and when.

    Attributes:
        lists: named lists that were tested against, for the reader of the rule.
    """

    table: ModuleTable
    module: Module
    names: dict[str, list[tuple[Condition, ast.expr]]] = field(default_factory=dict)
    lists: dict[str, LiteralType] = field(default_factory=dict)

    def bind(self, name: str, guard: Condition, value: ast.expr) -> None:
        """A later value goes before the earlier ones; an unconditional one replaces them."""
        if guard == TRUE:
            self.names[name] = [(TRUE, value)]
        else:
            self.names[name] = [(guard, value), *self.names.get(name, [])]

    def single(self, name: str) -> ast.expr | None:
        """The value of a name that has just one."""
        found = self.names.get(name, [])
        return found[0][1] if len(found) == 1 else None


def read_test(scope: Scope, node: ast.expr, depth: int = 0) -> Condition:
    """The condition under which an expression is true."""
    if depth > 30:
        return _opaque(scope, node)
    if isinstance(node, ast.Constant):
        return TRUE if node.value else FALSE
    if isinstance(node, ast.BoolOp):
        join = all_of if isinstance(node.op, ast.And) else any_of
        return join(read_test(scope, item, depth + 1) for item in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negate(read_test(scope, node.operand, depth + 1))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compare(scope, node, depth)
    if isinstance(node, ast.Call):
        return _call(scope, node, depth)
    if isinstance(node, ast.Name) and node.id in scope.names:
        return _named(scope, node, depth)
    path = setting_path(scope, node)
    if path.startswith("envs."):
        return EnvTest(path.removeprefix("envs."))
    return Setting(path) if path else _opaque(scope, node)


def _opaque(scope: Scope, node: ast.expr) -> Condition:
    return Opaque(brief(node, 120), scope.module.path, getattr(node, "lineno", 0))


def _named(scope: Scope, node: ast.Name, depth: int) -> Condition:
    """A name that was assigned: true where the value that holds there is."""
    left: list[Condition] = []
    found: list[Condition] = []
    for guard, value in scope.names[node.id]:
        test = read_test(scope, value, depth + 1)
        found.append(all_of((*left, guard, test)))
        left.append(negate(guard))
    return any_of(found)


def setting_path(scope: Scope, node: ast.expr | None) -> str:
    """``speculative_config.method`` for what stands for it, "" where nothing plain does."""
    if isinstance(node, ast.Name):
        value = scope.single(node.id)
        if value is not None and not isinstance(value, ast.Constant):
            inner = setting_path(scope, value)
            if inner:
                return inner
        return node.id
    if isinstance(node, ast.Attribute):
        owner = setting_path(scope, node.value)
        return f"{owner}.{node.attr}".removeprefix("self.") if owner else ""
    if isinstance(node, ast.Call):
        return _called_path(scope, node)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return setting_path(scope, node.values[0])
    return ""


def _called_path(scope: Scope, node: ast.Call) -> str:
    name = dotted_name(node.func)
    if name == "getattr" and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
        owner = setting_path(scope, node.args[0])
        return f"{owner}.{node.args[1].value!s}".removeprefix("self.") if owner else ""
    measured = _MEASURED.get(name.split(".")[-1])
    if measured and "current_platform" in name:
        return measured
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "upper", "strip"):
        return setting_path(scope, node.func.value)
    if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        owner = setting_path(scope, node.func)
        return f"{owner}()" if owner else ""
    return ""


def _call(scope: Scope, node: ast.Call, depth: int) -> Condition:
    name = dotted_name(node.func)
    last = name.split(".")[-1]
    if name.startswith("current_platform.is_"):
        return _platform(scope, node, last)
    if last == "any" and node.args and isinstance(node.args[0], ast.GeneratorExp):
        return _any(scope, node.args[0], depth)
    if last == "bool" and node.args:
        return read_test(scope, node.args[0], depth + 1)
    path = setting_path(scope, node)
    return Setting(path) if path else _opaque(scope, node)


def _platform(scope: Scope, node: ast.Call, last: str) -> Condition:
    argument = node.args[0] if node.args else None
    if last == "is_device_capability_family":
        known, number = constant(scope.table, scope.module, argument)
        if known and isinstance(number, int):
            return DeviceTest("family", number)
    if last in ("is_device_capability", "has_device_capability"):
        number = _capability(scope, argument)
        if number:
            return DeviceTest("==" if last.startswith("is") else ">=", number)
    if last in _PLATFORM or not argument:
        return TRUE if _PLATFORM.get(last, False) else FALSE
    return _opaque(scope, node)


def _capability(scope: Scope, node: ast.expr | None) -> int:
    if isinstance(node, ast.Tuple) and len(node.elts) == 2:
        parts = [constant(scope.table, scope.module, item)[1] for item in node.elts]
        if all(isinstance(part, int) for part in parts):
            return int(str(parts[0])) * 10 + int(str(parts[1]))
    number = constant(scope.table, scope.module, node)[1] if node is not None else None
    return number if isinstance(number, int) else 0


def _any(scope: Scope, node: ast.GeneratorExp, depth: int) -> Condition:
    """``any(a in NAMES for a in config.architectures)``."""
    loop = node.generators[0]
    path = setting_path(scope, loop.iter)
    target = loop.target.id if isinstance(loop.target, ast.Name) else ""
    test = node.elt
    if path and isinstance(test, ast.Compare) and dotted_name(test.left) == target:
        values = _values(scope, test.comparators[0])
        if values is not None and isinstance(test.ops[0], ast.In):
            return any_of(Setting(path, "contains", value) for value in values)
    _ = depth
    return _opaque(scope, node)


def _compare(scope: Scope, node: ast.Compare, depth: int) -> Condition:
    operator, left, right = node.ops[0], node.left, node.comparators[0]
    if isinstance(operator, ast.Is | ast.IsNot):
        return _identity(scope, left, right, positive=isinstance(operator, ast.Is), depth=depth)
    if isinstance(operator, ast.In | ast.NotIn):
        found = _contained(scope, left, right)
        return negate(found) if isinstance(operator, ast.NotIn) else found
    path = setting_path(scope, left)
    known, value = _scalar(scope, right)
    if not path or not known:
        return _opaque(scope, node)
    if isinstance(operator, ast.Eq | ast.NotEq):
        test = _equals(path, value)
        return negate(test) if isinstance(operator, ast.NotEq) else test
    sign = _OPERATORS.get(type(operator))
    return Setting(path, sign, value) if sign else _opaque(scope, node)


def _equals(path: str, value: Scalar) -> Condition:
    if path.startswith("envs."):
        return EnvTest(path.removeprefix("envs."), "==", value)
    return Setting(path, "==", value)


def _identity(
    scope: Scope, left: ast.expr, right: ast.expr, *, positive: bool, depth: int
) -> Condition:
    value = right.value if isinstance(right, ast.Constant) else ...
    if value is not None and not isinstance(value, bool):
        return Opaque(f"{brief(left)} is {brief(right)}", scope.module.path, left.lineno)
    if isinstance(left, ast.Name) and len(scope.names.get(left.id, [])) > 1 and value is None:
        found = _is_none(scope, left.id)
    else:
        path = setting_path(scope, left)
        if not path:
            return _opaque(scope, left)
        found = _equals(path, value)
    _ = depth
    return found if positive else negate(found)


def _is_none(scope: Scope, name: str) -> Condition:
    left: list[Condition] = []
    found: list[Condition] = []
    for guard, value in scope.names[name]:
        if isinstance(value, ast.Constant) and value.value is None:
            found.append(all_of((*left, guard)))
        left.append(negate(guard))
    return any_of(found)


def _contained(scope: Scope, left: ast.expr, right: ast.expr) -> Condition:
    known, part = _scalar(scope, left)
    path = setting_path(scope, right)
    if known and path and isinstance(left, ast.Constant):
        return Setting(path, "contains", part)
    values, path = _values(scope, right), setting_path(scope, left)
    if values is None or not path:
        return Opaque(f"{brief(left)} in {brief(right)}", scope.module.path, left.lineno)
    return any_of(Setting(path, "==", value) for value in values)


def _scalar(scope: Scope, node: ast.expr) -> tuple[bool, Scalar]:
    known, value = constant(scope.table, scope.module, node)
    if known:
        return True, value
    name = dotted_name(node)
    if name and name.split(".")[0][:1].isupper():
        return True, name
    return False, None


def _values(scope: Scope, node: ast.expr) -> tuple[str, ...] | None:
    """The texts of a tuple, of ``get_args(Literal)``, or of a named set of names."""
    if isinstance(node, ast.Call) and dotted_name(node.func) == "get_args" and node.args:
        hints = read_hints(scope.table, scope.module, node.args[0])
        name = dotted_name(node.args[0])
        if hints.values and name:
            _remember(scope, name, tuple(hints.values), node)
        return tuple(hints.values) or None
    name = dotted_name(node.func) if isinstance(node, ast.Call) and not node.args else ""
    if isinstance(node, ast.Name):
        value = scope.single(node.id)
        if value is not None:
            return _values(scope, value)
        name = node.id
    elements = getattr(node, "elts", None)
    if name:
        elements = _listed(scope, name)
    texts = [constant(scope.table, scope.module, item)[1] for item in elements or ()]
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    found = tuple(str(text) for text in texts)
    if name:
        _remember(scope, name, found, node)
    return found


def _listed(scope: Scope, name: str, depth: int = 0) -> list[ast.expr] | None:
    """The elements of a named constant, or of what a function without arguments returns."""
    found = definition(scope.table, scope.module, name)
    statement = found.statement if found is not None else None
    node: ast.expr | None = getattr(statement, "value", None)
    if isinstance(statement, ast.FunctionDef):
        returns = [item.value for item in statement.body if isinstance(item, ast.Return)]
        node = returns[-1] if returns else None
    if isinstance(node, ast.Name) and found is not None and depth < 5:
        inner = Scope(scope.table, found.module)
        return _listed(inner, node.id, depth + 1)
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return getattr(node, "elts", None)


def _remember(scope: Scope, name: str, values: tuple[str, ...], node: ast.expr) -> None:
    source = scope.module.source(node, name)
    scope.lists[name] = LiteralType(name, values, (), source)
