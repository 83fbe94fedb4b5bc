"""What a statement does."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from sparkproof.core.condition import (
    FALSE,
    TRUE,
    Condition,
    Const,
    DeviceTest,
    Gate,
    Supports,
    all_of,
    leaves,
    negate,
)
from sparkproof.formats.python_source import brief, dotted_name
from sparkproof.release.symbolic import lookup, walks
from sparkproof.release.symbolic.expressions import assign, iterate
from sparkproof.release.symbolic.frames import (
    Broken,
    Continued,
    Frame,
    Raised,
    Returned,
    UnreadableError,
)
from sparkproof.release.symbolic.logic import truth
from sparkproof.release.symbolic.values import (
    NONE,
    ClassValue,
    FuncValue,
    Options,
    Seq,
    Text,
    Value,
    text_of,
)

Handler = Callable[[Any, Frame], None]


def _assign(node: ast.Assign, frame: Frame) -> None:
    value = frame.run.evaluate(node.value, frame)
    for target in node.targets:
        assign(target, value, frame)


def _ann_assign(node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(node.target, frame.run.evaluate(node.value, frame), frame)


def _aug_assign(node: ast.AugAssign, frame: Frame) -> None:
    if not isinstance(node.target, ast.Name):
        return
    before = frame.run.evaluate(ast.Name(id=node.target.id, lineno=node.lineno), frame)
    value = frame.run.evaluate(node.value, frame)
    if isinstance(before, Seq) and isinstance(value, Seq) and isinstance(node.op, ast.Add):
        before.items.extend(value.items)
    elif isinstance(before, Seq):
        raise UnreadableError(f"`{brief(node)}` is not followed", node.lineno)
    else:
        frame.names[node.target.id] = frame.run.unread(brief(node), frame, node)


def _if(node: ast.If, frame: Frame) -> None:
    condition = truth(frame.run.evaluate(node.test, frame))
    if not isinstance(condition, Const) and _only_appends(node):
        _append_under(node, condition, TRUE, frame)
    elif frame.run.trace.branch(condition):
        frame.run.execute(node.body, frame)
    else:
        frame.run.execute(node.orelse, frame)


def _only_appends(node: ast.If) -> bool:
    """Whether all that hangs on the test is what some list holds."""
    return all(
        _only_appends(item) if isinstance(item, ast.If) else _is_append(item)
        for item in (*node.body, *node.orelse)
    )


def _is_append(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "append"
        and len(node.value.args) == 1
    )


def _append_under(node: ast.If, test: Condition, outer: Condition, frame: Frame) -> None:
    for block, answer in ((node.body, test), (node.orelse, negate(test))):
        guard = all_of((outer, answer))
        for item in block:
            if isinstance(item, ast.If):
                inner = truth(frame.run.evaluate(item.test, frame))
                _append_under(item, inner, guard, frame)
            else:
                assert isinstance(item, ast.Expr)
                _append_one(item.value, guard, frame)


def _append_one(node: ast.expr, guard: Condition, frame: Frame) -> None:
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    target = frame.run.evaluate(node.func.value, frame)
    if not isinstance(target, Seq):
        raise UnreadableError(f"`{brief(node)}` is not followed", node.lineno)
    value = frame.run.evaluate(node.args[0], frame)
    if isinstance(value, Options):
        parts = [(all_of((guard, inner)), item) for inner, item in value.items if item != NONE]
        target.items.extend((condition, item) for condition, item in parts if condition != FALSE)
    else:
        target.items.append((guard, value))


def _for(node: ast.For, frame: Frame) -> None:
    source = frame.run.evaluate(node.iter, frame)
    items = iterate(source, frame, node.iter)
    if frame.run.selecting and walks.is_walk(node, items):
        walks.walk(node, items, frame)
        return
    for guard, item in items:
        if not frame.run.trace.branch(guard):
            continue
        assign(node.target, item, frame)
        try:
            frame.run.execute(node.body, frame)
        except Continued:
            continue
        except Broken:
            return
    frame.run.execute(node.orelse, frame)


def _return(node: ast.Return, frame: Frame) -> None:
    value: Value = frame.run.evaluate(node.value, frame) if node.value is not None else NONE
    raise Returned(value, node.lineno)


def _raise(node: ast.Raise, frame: Frame) -> None:
    error = node.exc
    if isinstance(error, ast.Call):
        message = frame.run.evaluate(error.args[0], frame) if error.args else Text("")
        raise Raised(dotted_name(error.func).split(".")[-1], text_of(message), node.lineno)
    raise Raised(dotted_name(error).split(".")[-1] if error is not None else "", "", node.lineno)


def _try(node: ast.Try, frame: Frame) -> None:
    frame.names.setdefault("__try__", NONE)
    try:
        frame.run.execute(node.body, frame)
    except Raised as leave:
        handler = next((item for item in node.handlers if _catches(item, leave.kind)), None)
        if handler is None:
            raise
        if handler.name:
            frame.names[handler.name] = Text(f"{leave.kind}: {leave.message}")
        frame.run.execute(handler.body, frame)
    else:
        frame.run.execute(node.orelse, frame)
    frame.run.execute(node.finalbody, frame)


def _catches(handler: ast.ExceptHandler, kind: str) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {dotted_name(item).split(".")[-1] for item in types}
    related = {"ImportError": {"ModuleNotFoundError"}}
    return bool(names & {kind, "Exception", "BaseException", *related.get(kind, set())})


def _with(node: ast.With, frame: Frame) -> None:
    frame.run.execute(node.body, frame)


def _expression(node: ast.Expr, frame: Frame) -> None:
    if isinstance(node.value, ast.Call) and dotted_name(node.value.func).startswith("logger."):
        return
    if not isinstance(node.value, ast.Constant):
        frame.run.evaluate(node.value, frame)


def _import(node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    for item in node.names:
        bound = item.asname or (
            item.name if isinstance(node, ast.ImportFrom) else item.name.split(".")[0]
        )
        _check_import(node, item.name, frame)
        frame.names[bound] = lookup.imported(frame.run, frame.module, node, bound)


def _check_import(node: ast.Import | ast.ImportFrom, name: str, frame: Frame) -> None:
    """Decide whether an import succeeds, where the source is ready for failure."""
    if frame.find("__try__") is None or name.split(".", maxsplit=1)[0] in sys.stdlib_module_names:
        return
    table = frame.run.table
    if isinstance(node, ast.Import):
        gate, dotted = Gate(f"package:{name}"), name
    else:
        origin = frame.module.absolute(node)
        gate, dotted = Gate(f"symbol:{origin}:{name}"), f"{origin}.{name}"
        if table.owns(origin) and (table.get(origin) is None or not _defines(frame, origin, name)):
            if not table.exists(dotted):
                raise Raised("ImportError", f"cannot import name {name}", node.lineno)
            return
    if table.owns(dotted):
        if isinstance(node, ast.Import) and not table.exists(dotted):
            raise Raised("ImportError", f"no module named {dotted}", node.lineno)
        return
    if not frame.run.trace.branch(gate):
        raise Raised("ImportError", f"cannot import {dotted}", node.lineno)


def _defines(frame: Frame, module: str, name: str) -> bool:
    found = frame.run.table.get(module)
    return found is not None and (name in found.bindings or bool(found.stars))


def _function(node: ast.FunctionDef, frame: Frame) -> None:
    frame.names[node.name] = FuncValue(frame.module.name, node, closure=frame)


def _class(node: ast.ClassDef, frame: Frame) -> None:
    frame.names[node.name] = ClassValue(frame.module.name, node.name)


def _assert(node: ast.Assert, frame: Frame) -> None:
    condition = truth(frame.run.evaluate(node.test, frame))
    found = list(leaves(condition))
    settled = isinstance(condition, Const | DeviceTest)
    if not settled and not all(isinstance(item, Gate | Supports) for item in found):
        return
    if not frame.run.trace.branch(condition):
        message = frame.run.evaluate(node.msg, frame) if node.msg is not None else Text("")
        raise Raised("AssertionError", text_of(message), node.lineno)


def _continue(_: ast.Continue, __: Frame) -> None:
    raise Continued


def _break(_: ast.Break, __: Frame) -> None:
    raise Broken


def _nothing(_: ast.stmt, __: Frame) -> None:
    return


HANDLERS: dict[type[ast.stmt], Handler] = {
    ast.Assign: _assign,
    ast.AnnAssign: _ann_assign,
    ast.AugAssign: _aug_assign,
    ast.If: _if,
    ast.For: _for,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Try: _try,
    ast.With: _with,
    ast.Expr: _expression,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.FunctionDef: _function,
    ast.ClassDef: _class,
    ast.Assert: _assert,
    ast.Continue: _continue,
    ast.Break: _break,
    ast.Pass: _nothing,
    ast.Delete: _nothing,
    ast.Global: _nothing,
    ast.Nonlocal: _nothing,
}
