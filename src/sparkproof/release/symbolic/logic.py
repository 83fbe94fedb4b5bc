"""Truth and comparison of symbolic values."""

from __future__ import annotations

import ast
from typing import Literal, TypeAlias

from sparkproof.core.condition import (
    FALSE,
    TRUE,
    Condition,
    Const,
    DeviceTest,
    EnvTest,
    Gate,
    Opaque,
    Scalar,
    Setting,
    all_of,
    any_of,
    compare,
    negate,
)
from sparkproof.release.symbolic.values import (
    ClassValue,
    EnumValue,
    EnvValue,
    Foreign,
    Instance,
    Lit,
    Logic,
    Maybe,
    Named,
    Options,
    Seq,
    SettingValue,
    Special,
    Table,
    Unread,
    Value,
    Walked,
    scalar_of,
    text_of,
)

Order: TypeAlias = Literal["==", "<", "<=", ">", ">="]
_ORDER: dict[str, Order] = {"==": "==", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
_WORDS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "==",
    ast.IsNot: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_PLAIN = (ClassValue, EnumValue, Named, Instance, Lit)


def opaque(value: Unread | None, text: str) -> Opaque:
    """The condition for something that was not understood."""
    if value is not None:
        return Opaque(value.text, value.where, value.line)
    return Opaque(text)


def truth(value: Value) -> Condition:
    """``bool(value)`` as a condition."""
    if isinstance(value, Logic):
        return value.condition
    if isinstance(value, Lit):
        return Const(value=bool(value.value))
    if isinstance(value, Seq):
        return any_of(condition for condition, _ in value.items)
    if isinstance(value, Table):
        return Const(value=bool(value.items))
    if isinstance(value, Maybe):
        return all_of((value.present, truth(value.value)))
    if isinstance(value, Options):
        return any_of(all_of((guard, truth(item))) for guard, item in value.items)
    if isinstance(value, Foreign) and value.called:
        return Gate(f"call:{value.name}")
    if isinstance(value, SettingValue):
        return Setting(value.path)
    if isinstance(value, EnvValue):
        return EnvTest(value.name)
    return opaque(value, "") if isinstance(value, Unread) else TRUE


def is_logical(value: Value) -> bool:
    """Whether only the truth of the value matters to ``and`` and ``or``."""
    if isinstance(value, Lit):
        return isinstance(value.value, bool)
    return isinstance(value, Logic | SettingValue | EnvValue | Unread | Foreign)


def compare_values(left: Value, op: ast.cmpop, right: Value) -> Condition:
    """``left op right`` as a condition."""
    word = _WORDS[type(op)]
    if word in ("in", "not in"):
        found = _membership(left, right)
        return found if word == "in" else negate(found)
    if word == "!=":
        return negate(_compare(left, "==", right))
    return _compare(left, word, right)


def _membership(item: Value, container: Value) -> Condition:
    if isinstance(container, Seq):
        return any_of(
            all_of((guard, _compare(item, "==", value))) for guard, value in container.items
        )
    if isinstance(container, Table):
        return any_of(_compare(item, "==", key) for key, _ in container.items)
    known, scalar = scalar_of(item)
    if isinstance(container, EnvValue) and known:
        return EnvTest(container.name, "contains", scalar)
    if isinstance(container, SettingValue) and known:
        return Setting(container.path, "contains", scalar)
    if isinstance(container, Lit) and isinstance(container.value, str) and known:
        return Const(value=str(scalar) in container.value)
    return Opaque(f"{text_of(item)} in {text_of(container)}")


def _compare(left: Value, op: str, right: Value) -> Condition:
    left, right = _as_capability(left), _as_capability(right)
    for one, other, word in ((left, right, op), (right, left, _MIRROR[op])):
        found = _against(one, word, other)
        if found is not None:
            return found
    if isinstance(left, Seq) and isinstance(right, Seq) and op == "==":
        return _same_items(left, right)
    if isinstance(left, _PLAIN) and isinstance(right, _PLAIN):
        if isinstance(left, Lit) and isinstance(right, Lit):
            return Const(value=compare(left.value, op, right.value))
        return Const(value=scalar_of(left) == scalar_of(right)) if op == "==" else FALSE
    if op == "==" and (left is right or left == right):
        return TRUE
    if isinstance(left, SettingValue) and isinstance(right, SettingValue):
        return Setting(f"({left.path} - {right.path})", _ORDER[op], 0)
    return Opaque(f"{text_of(left)} {op} {text_of(right)}")


def _as_capability(value: Value) -> Value:
    """``(major, minor)`` is the capability itself."""
    if isinstance(value, Seq) and value.values == [Special("major"), Special("minor")]:
        return Special("capability")
    return value


def _same_items(left: Seq, right: Seq) -> Condition:
    if len(left.items) != len(right.items):
        return FALSE
    pairs = zip(left.values, right.values, strict=True)
    return all_of(_compare(one, "==", other) for one, other in pairs)


def _against(one: Value, word: str, other: Value) -> Condition | None:
    """The comparison seen from `one`, or None where `one` has no say."""
    if isinstance(one, Special):
        return _device(one, word, other)
    if isinstance(other, Lit) and other.value is None and word == "==":
        found = _is_none(one)
        if found is not None or not isinstance(one, Options):
            return found
    if isinstance(one, Options) and word == "==":
        return any_of(all_of((guard, _compare(item, "==", other))) for guard, item in one.items)
    if isinstance(one, Maybe) and word == "==":
        inner = _compare(one.value, "==", other)
        return all_of((one.present, inner))
    known, scalar = scalar_of(other)
    if not known:
        return None
    if isinstance(one, SettingValue):
        return Setting(one.path, _ORDER[word], scalar)
    if isinstance(one, EnvValue):
        return EnvTest(one.name, _ORDER[word], scalar)
    if isinstance(one, Logic) and isinstance(scalar, bool):
        return one.condition if scalar else negate(one.condition)
    return None


_PRESENT = ("vllm_config", "vllm_config.model_config", "vllm_config.parallel_config")
"""Objects that are there in every running server."""


def _is_none(value: Value) -> Condition | None:
    if isinstance(value, Options):
        return None
    if isinstance(value, Maybe):
        return negate(value.present)
    if isinstance(value, SettingValue) and value.path in _PRESENT:
        return FALSE
    if isinstance(value, SettingValue):
        return Setting(value.path, "==", None)
    if isinstance(value, EnvValue):
        return EnvTest(value.name, "==", None)
    if isinstance(value, Lit):
        return Const(value=value.value is None)
    if isinstance(value, Foreign) and value.called:
        return negate(Gate(f"call:{value.name}"))
    return None if isinstance(value, Unread | Walked) else FALSE


def capability_number(value: Value) -> int | None:
    """120 for ``120``, ``(12, 0)`` or ``DeviceCapability(12, 0)``."""
    if isinstance(value, Lit):
        return value.value if isinstance(value.value, int) else None
    parts: list[Scalar] = []
    if isinstance(value, Seq):
        parts = [item.value if isinstance(item, Lit) else None for item in value.values]
    elif isinstance(value, Instance):
        parts = list(value.arguments)
    if len(parts) == 2 and all(isinstance(part, int) for part in parts):
        return int(parts[0] or 0) * 10 + int(parts[1] or 0)
    return None


def _device(one: Special, word: str, other: Value) -> Condition | None:
    if isinstance(other, Lit) and other.value is None:
        return FALSE
    number = capability_number(other)
    if number is None or one.kind in ("platform", "logger", "major-tens"):
        return None
    if one.kind == "minor":
        return DeviceTest("minor", number) if word == "==" else None
    if one.kind != "major":
        return DeviceTest(_ORDER[word], number)
    if word == "==":
        return DeviceTest("family", number * 10)
    bound = number * 10 + (10 if word in (">", "<=") else 0)
    return DeviceTest(">=" if word in (">", ">=") else "<", bound)
