"""The value of an expression."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from sparkproof.core.condition import (
    FALSE,
    TRUE,
    Condition,
    Const,
    Gate,
    Not,
    Opaque,
    all_of,
    any_of,
    negate,
)
from sparkproof.formats.python_source import brief
from sparkproof.release.symbolic import classes, lookup
from sparkproof.release.symbolic.arithmetic import bin_op
from sparkproof.release.symbolic.frames import Frame, Raised, UnreadableError
from sparkproof.release.symbolic.logic import compare_values, is_logical, truth
from sparkproof.release.symbolic.trace import if_else
from sparkproof.release.symbolic.values import (
    NONE,
    ClassValue,
    Foreign,
    Lit,
    Logic,
    Seq,
    SettingValue,
    Special,
    Super,
    Table,
    Text,
    Value,
    scalar_of,
    text_of,
)

Handler = Callable[[Any, Frame], Value]


def _constant(node: ast.Constant, frame: Frame) -> Value:
    if isinstance(node.value, str | int | float | bool | None):
        return Lit(node.value)
    return frame.run.unread(brief(node), frame, node)


def _name(node: ast.Name, frame: Frame) -> Value:
    return lookup.name(node.id, frame)


def _attribute(node: ast.Attribute, frame: Frame) -> Value:
    return frame.run.attribute(frame.run.evaluate(node.value, frame), node.attr, frame)


def _sequence(node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
    kinds = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}
    result = Seq(kinds[type(node)])  # type: ignore[arg-type]
    for item in node.elts:
        if isinstance(item, ast.Starred):
            inner = frame.run.evaluate(item.value, frame)
            if not isinstance(inner, Seq):
                raise UnreadableError(f"`*{brief(item.value)}` is no list", node.lineno)
            result.items.extend(inner.items)
        else:
            result.items.append((TRUE, frame.run.evaluate(item, frame)))
    return result


def _dict(node: ast.Dict, frame: Frame) -> Value:
    table = Table()
    for key, value in zip(node.keys, node.values, strict=True):
        inner = frame.run.evaluate(value, frame)
        if key is not None:
            table.items.append((frame.run.evaluate(key, frame), inner))
        elif isinstance(inner, Table):
            table.items.extend(inner.items)
        else:
            raise UnreadableError(f"`**{brief(value)}` is no dict", node.lineno)
    return table


def _bool_op(node: ast.BoolOp, frame: Frame) -> Value:
    is_and = isinstance(node.op, ast.And)
    pending: list[Condition] = []
    for operand in node.values[:-1]:
        value = frame.run.evaluate(operand, frame)
        condition = truth(value)
        if isinstance(condition, Const):
            if condition.value is not is_and:
                return Logic(_join([*pending, condition], is_and=is_and)) if pending else value
        elif is_logical(value):
            pending.append(condition)
        elif frame.run.trace.branch(condition) is not is_and:
            return value
    last = frame.run.evaluate(node.values[-1], frame)
    if not pending:
        return last
    if is_logical(last) or (isinstance(last, Lit) and last.value is None):
        return Logic(_join([*pending, truth(last)], is_and=is_and))
    taken = frame.run.trace.branch(_join(pending, is_and=is_and))
    return last if taken is is_and else Lit(not is_and)


def _join(items: list[Condition], *, is_and: bool) -> Condition:
    return all_of(items) if is_and else any_of(items)


def _unary(node: ast.UnaryOp, frame: Frame) -> Value:
    value = frame.run.evaluate(node.operand, frame)
    if isinstance(node.op, ast.Not):
        condition = negate(truth(value))
        return Lit(condition.value) if isinstance(condition, Const) else Logic(condition)
    if isinstance(node.op, ast.USub) and isinstance(value, Lit) and isinstance(value.value, int):
        return Lit(-value.value)
    return frame.run.unread(brief(node), frame, node)


def _compare(node: ast.Compare, frame: Frame) -> Value:
    left = frame.run.evaluate(node.left, frame)
    parts = []
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = frame.run.evaluate(comparator, frame)
        parts.append(_compared(left, op, right, frame, node))
        left = right
    condition = all_of(parts)
    return Lit(condition.value) if isinstance(condition, Const) else Logic(condition)


def _compared(
    left: Value, op: ast.cmpop, right: Value, frame: Frame, node: ast.Compare
) -> Condition:
    """A comparison; one that is not understood keeps its place, or asks the outside by name."""
    found = compare_values(left, op, right)
    denied = isinstance(found, Not)
    inner = found.item if isinstance(found, Not) else found
    if not isinstance(inner, Opaque) or inner.where:
        return found
    placed: Condition
    if any(isinstance(item, Foreign) and "(" in item.name for item in (left, right)):
        placed = Gate(f"call:{frame.symbol}:{inner.text}")
    else:
        placed = Opaque(inner.text, frame.module.path, node.lineno)
    return negate(placed) if denied else placed


def _if_exp(node: ast.IfExp, frame: Frame) -> Value:
    condition = truth(frame.run.evaluate(node.test, frame))
    if isinstance(condition, Const):
        return frame.run.evaluate(node.body if condition.value else node.orelse, frame)
    if _looks_logical(node.body) and _looks_logical(node.orelse):
        yes = truth(frame.run.evaluate(node.body, frame))
        no = truth(frame.run.evaluate(node.orelse, frame))
        return Logic(if_else(condition, yes, no))
    chosen = node.body if frame.run.trace.branch(condition) else node.orelse
    return frame.run.evaluate(chosen, frame)


def _looks_logical(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool)
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def _joined(node: ast.JoinedStr, frame: Frame) -> Value:
    parts: list[Value] = []
    for item in node.values:
        inner = item.value if isinstance(item, ast.FormattedValue) else item
        try:
            value = frame.run.evaluate(inner, frame)
        except (UnreadableError, Raised):
            value = Text("{" + brief(inner, 40) + "}")
        parts.append(Text("{" + brief(inner, 40) + "}") if text_of(value) == "{…}" else value)
    text = "".join(text_of(part) for part in parts)
    return Lit(text) if all(scalar_of(part)[0] for part in parts) else Text(text)


def _subscript(node: ast.Subscript, frame: Frame) -> Value:
    value = frame.run.evaluate(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        return _sliced(value, node, frame)
    key = frame.run.evaluate(node.slice, frame)
    if isinstance(value, Table):
        found = table_get(value, key, frame)
        if found is None:
            raise Raised("KeyError", brief(node), node.lineno)
        return found
    if isinstance(value, Special) and value.kind == "capability" and isinstance(key, Lit):
        return Special("major" if key.value == 0 else "minor")
    if isinstance(value, Seq) and isinstance(key, Lit) and isinstance(key.value, int):
        if -len(value.items) <= key.value < len(value.items):
            return value.values[key.value]
        raise Raised("IndexError", brief(node), node.lineno)
    if isinstance(value, SettingValue):
        return SettingValue(f"{value.path}[{text_of(key)}]")
    if isinstance(value, ClassValue) and isinstance(key, Lit):
        return frame.run.attribute(value, str(key.value), frame)
    return frame.run.unread(brief(node), frame, node)


def _sliced(value: Value, node: ast.Subscript, frame: Frame) -> Value:
    bounds = node.slice
    assert isinstance(bounds, ast.Slice)
    parts = [
        frame.run.evaluate(item, frame) if item is not None else NONE
        for item in (bounds.lower, bounds.upper, bounds.step)
    ]
    known = [part.value for part in parts if isinstance(part, Lit)]
    numbers = [item for item in known if item is None or isinstance(item, int)]
    if len(numbers) == 3:
        cut = slice(*numbers)
        if isinstance(value, Seq):
            return Seq(value.kind, value.items[cut])
        if isinstance(value, Lit) and isinstance(value.value, str):
            return Lit(value.value[cut])
    return frame.run.unread(brief(node), frame, node)


def table_get(table: Table, key: Value, frame: Frame) -> Value | None:
    """The value under a key; a key that is not known is decided entry by entry."""
    for candidate, value in table.items:
        if frame.run.trace.branch(compare_values(key, ast.Eq(), candidate)):
            return value
    return None


def _comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp, frame: Frame) -> Value:
    result = Seq("set" if isinstance(node, ast.SetComp) else "list")
    for inner, guard in _bindings(node.generators, frame, TRUE):
        result.items.append((guard, frame.run.evaluate(node.elt, inner)))
    return result


def _dict_comprehension(node: ast.DictComp, frame: Frame) -> Value:
    table = Table()
    for inner, guard in _bindings(node.generators, frame, TRUE):
        if frame.run.trace.branch(guard):
            key = frame.run.evaluate(node.key, inner)
            table.items.append((key, frame.run.evaluate(node.value, inner)))
    return table


def _bindings(
    generators: list[ast.comprehension], frame: Frame, guard: Condition
) -> Iterator[tuple[Frame, Condition]]:
    if not generators:
        yield frame, guard
        return
    first, *rest = generators
    source = frame.run.evaluate(first.iter, frame)
    for present, item in iterate(source, frame, first.iter):
        inner = Frame(frame.run, frame.module, {}, frame, frame.owner, frame.dynamic, frame.depth)
        assign(first.target, item, inner)
        tests = [truth(frame.run.evaluate(test, inner)) for test in first.ifs]
        condition = all_of((guard, present, *tests))
        if condition != FALSE:
            yield from _bindings(rest, inner, condition)


def iterate(source: Value, frame: Frame, node: ast.AST) -> list[tuple[Condition, Value]]:
    """The items of something that can be walked, each with its condition.

    Raises:
        UnreadableError: it can't be told what it holds.
    """
    if isinstance(source, Seq):
        return list(source.items)
    if isinstance(source, Table):
        return [(TRUE, key) for key, _ in source.items]
    if isinstance(source, ClassValue) and classes.is_enum(frame.run, source):
        return [(TRUE, item) for item in enum_members(source, frame)]
    if isinstance(source, Special) and source.kind == "capability":
        return [(TRUE, Special("major")), (TRUE, Special("minor"))]
    raise UnreadableError(f"can't tell what `{brief(node)}` holds", getattr(node, "lineno", 0))


def enum_members(owner: ClassValue, frame: Frame) -> list[Value]:
    """The members of an enumeration in order, other names for one left out."""
    found = classes.class_node(frame.run, owner)
    names = [
        target.id
        for statement in (found[1].body if found else [])
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]
    members = [classes.enum_member(frame.run, owner, item) for item in names]
    return list(dict.fromkeys(members))


def assign(target: ast.expr, value: Value, frame: Frame) -> None:
    """Bind a value to a target; attributes of objects are not followed."""
    if isinstance(target, ast.Name):
        frame.names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(target, value, frame)
    elif isinstance(target, ast.Subscript):
        _set_item(target, value, frame)


def _unpack(target: ast.Tuple | ast.List, value: Value, frame: Frame) -> None:
    items: list[Value]
    if isinstance(value, Seq) and len(value.items) == len(target.elts):
        items = value.values
    elif isinstance(value, Special) and value.kind == "capability" and len(target.elts) == 2:
        items = [Special("major"), Special("minor")]
    else:
        items = [
            SettingValue(f"{value.path}[{index}]")
            if isinstance(value, SettingValue)
            else frame.run.unread(brief(part), frame, target)
            for index, part in enumerate(target.elts)
        ]
    for part, item in zip(target.elts, items, strict=True):
        assign(part, item, frame)


def _set_item(target: ast.Subscript, value: Value, frame: Frame) -> None:
    table = frame.run.evaluate(target.value, frame)
    if isinstance(table, Table):
        key = frame.run.evaluate(target.slice, frame)
        table.items.insert(0, (key, value))


def _walrus(node: ast.NamedExpr, frame: Frame) -> Value:
    value = frame.run.evaluate(node.value, frame)
    assign(node.target, value, frame)
    return value


def _call(node: ast.Call, frame: Frame) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        return _super(frame, node)
    method = node.func if isinstance(node.func, ast.Attribute) else None
    target = frame.run.evaluate(method.value, frame) if method is not None else None
    arguments: list[Value] = []
    for item in node.args:
        value = frame.run.evaluate(item.value if isinstance(item, ast.Starred) else item, frame)
        if isinstance(item, ast.Starred) and isinstance(value, Seq):
            arguments.extend(value.values)
        else:
            arguments.append(value)
    keywords = {
        item.arg: frame.run.evaluate(item.value, frame) for item in node.keywords if item.arg
    }
    if method is None or target is None:
        function = frame.run.evaluate(node.func, frame)
        return frame.run.call(function, arguments, keywords, frame)
    return frame.run.call_method(target, method.attr, arguments, keywords, frame)


def _super(frame: Frame, node: ast.Call) -> Value:
    outer: Frame | None = frame
    while outer is not None and outer.owner is None:
        outer = outer.parent
    if outer is None or outer.owner is None or outer.dynamic is None:
        return frame.run.unread("super()", frame, node)
    return Super(outer.owner, outer.dynamic)


HANDLERS: dict[type[ast.expr], Handler] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.BoolOp: _bool_op,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.IfExp: _if_exp,
    ast.BinOp: bin_op,
    ast.JoinedStr: _joined,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.NamedExpr: _walrus,
    ast.Call: _call,
}
