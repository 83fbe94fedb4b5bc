"""Calls of Python's own functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal

from sparkproof.core.condition import TRUE, Condition, Const, Setting, all_of, any_of, negate
from sparkproof.release.symbolic import classes, lookup
from sparkproof.release.symbolic.expressions import iterate
from sparkproof.release.symbolic.frames import Frame, Raised, UnreadableError
from sparkproof.release.symbolic.logic import truth
from sparkproof.release.symbolic.values import (
    NONE,
    Builtin,
    ClassValue,
    EnumValue,
    Foreign,
    FuncValue,
    Instance,
    Lit,
    Logic,
    Maybe,
    Seq,
    SettingValue,
    Table,
    Text,
    Value,
    text_of,
)

Handler = Callable[[list[Value], dict[str, Value], Frame], Value]


def call(name: str, arguments: list[Value], keywords: dict[str, Value], frame: Frame) -> Value:
    """The value of calling a builtin."""
    handler = _HANDLERS.get(name)
    if handler is None:
        return frame.run.unread(f"{name}()", frame)
    return handler(arguments, keywords, frame)


def _logic(condition: Condition) -> Value:
    return Lit(condition.value) if isinstance(condition, Const) else Logic(condition)


def _items(value: Value, frame: Frame) -> list[tuple[Condition, Value]]:
    return iterate(value, frame, ast.Name(id=type(value).__name__))


def _all(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    items = _items(arguments[0], frame)
    return _logic(all_of(any_of((negate(guard), truth(item))) for guard, item in items))


def _any(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    items = _items(arguments[0], frame)
    return _logic(any_of(all_of((guard, truth(item))) for guard, item in items))


def _bool(arguments: list[Value], _: dict[str, Value], __: Frame) -> Value:
    return _logic(truth(arguments[0]) if arguments else Const(value=False))


def _callable(arguments: list[Value], _: dict[str, Value], __: Frame) -> Value:
    return _logic(truth(arguments[0]))


def _copied(kind: Literal["list", "tuple", "set"]) -> Handler:
    def handler(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
        return Seq(kind, _items(arguments[0], frame) if arguments else [])

    return handler


def _dict(arguments: list[Value], keywords: dict[str, Value], frame: Frame) -> Value:
    if arguments and isinstance(arguments[0], Table):
        return Table(list(arguments[0].items))
    if arguments:
        return frame.run.unread("dict()", frame)
    return Table([(Lit(key), value) for key, value in keywords.items()])


def _len(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    items = _items(arguments[0], frame)
    if all(guard == TRUE for guard, _item in items):
        return Lit(len(items))
    return frame.run.unread("len()", frame)


def _enumerate(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    items = _items(arguments[0], frame)
    return Seq(
        "list",
        [(guard, Seq.of("tuple", [Lit(index), item])) for index, (guard, item) in enumerate(items)],
    )


def _zip(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    columns = [[item for _guard, item in _items(value, frame)] for value in arguments]
    rows: list[Value] = [Seq.of("tuple", list(row)) for row in zip(*columns, strict=False)]
    return Seq.of("list", rows)


def _next(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    for guard, item in _items(arguments[0], frame):
        if frame.run.trace.branch(guard):
            return item
    if len(arguments) > 1:
        return arguments[1]
    raise Raised("StopIteration", "", 0)


def _getattr(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    owner, name = arguments[0], text_of(arguments[1])
    present = truth(lookup.has_attribute(owner, name, frame))
    if len(arguments) < 3 or present == TRUE:
        return frame.run.attribute(owner, name, frame)
    if present == Const(value=False):
        return arguments[2]
    value = frame.run.attribute(owner, name, frame)
    if arguments[2] == NONE:
        return Maybe(present, value)
    return value if frame.run.trace.branch(present) else arguments[2]


def _hasattr(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    return lookup.has_attribute(arguments[0], text_of(arguments[1]), frame)


def _isinstance(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    value, kinds = arguments
    if isinstance(value, SettingValue) and kinds == Builtin("str"):
        return Logic(negate(Setting(value.path, "==", None)))
    if isinstance(value, SettingValue):
        return SettingValue(f"isinstance({value.path}, {text_of(kinds)})")
    wanted = kinds.values if isinstance(kinds, Seq) else [kinds]
    answers = [_is_a(value, kind, frame) for kind in wanted]
    if True in answers:
        return Lit(value=True)
    return Lit(value=False) if None not in answers else frame.run.unread("isinstance()", frame)


def _is_a(value: Value, kind: Value, frame: Frame) -> bool | None:
    owner = value.owner if isinstance(value, EnumValue | Instance) else None
    if owner is not None and isinstance(kind, ClassValue):
        return kind in classes.lineage(frame.run, owner)
    if isinstance(kind, Foreign) and kind.name.startswith("enum."):
        return isinstance(value, EnumValue)
    names = {"str": str, "int": int, "bool": bool, "float": float}
    label = text_of(kind) if not hasattr(kind, "name") else str(kind.name)
    if isinstance(value, Lit) and label in names:
        return isinstance(value.value, names[label])
    if isinstance(value, Seq) and label in ("list", "tuple", "set"):
        return value.kind == label
    return False if isinstance(value, ClassValue | FuncValue) and label in names else None


def _issubclass(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    one, other = arguments
    if isinstance(one, ClassValue) and isinstance(other, ClassValue):
        return Lit(other in classes.lineage(frame.run, one))
    return frame.run.unread("issubclass()", frame)


def _str(arguments: list[Value], _: dict[str, Value], __: Frame) -> Value:
    value = arguments[0]
    return Lit(text_of(value)) if isinstance(value, Lit) else Text(text_of(value))


def _int(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    value = arguments[0]
    return value if isinstance(value, Lit) else frame.run.unread("int()", frame)


def _type(arguments: list[Value], _: dict[str, Value], frame: Frame) -> Value:
    value = arguments[0]
    if isinstance(value, Instance | EnumValue):
        return value.owner
    return frame.run.unread("type()", frame)


def _sorted(arguments: list[Value], _: dict[str, Value], __: Frame) -> Value:
    raise UnreadableError(f"order of `sorted({text_of(arguments[0])})` is not followed")


def _nothing(_: list[Value], __: dict[str, Value], ___: Frame) -> Value:
    return NONE


_HANDLERS: dict[str, Handler] = {
    "all": _all,
    "any": _any,
    "bool": _bool,
    "callable": _callable,
    "dict": _dict,
    "enumerate": _enumerate,
    "frozenset": _copied("set"),
    "getattr": _getattr,
    "hasattr": _hasattr,
    "int": _int,
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "len": _len,
    "list": _copied("list"),
    "next": _next,
    "print": _nothing,
    "set": _copied("set"),
    "sorted": _sorted,
    "str": _str,
    "tuple": _copied("tuple"),
    "type": _type,
    "zip": _zip,
}
