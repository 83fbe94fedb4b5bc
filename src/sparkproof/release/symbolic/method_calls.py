"""Methods of lists, dicts, strings, the platform and the device's capability."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from sparkproof.core.condition import TRUE, DeviceTest, EnvTest, Setting
from sparkproof.release.symbolic.expressions import table_get
from sparkproof.release.symbolic.frames import Frame, Raised, UnreadableError
from sparkproof.release.symbolic.logic import capability_number, compare_values
from sparkproof.release.symbolic.values import (
    NONE,
    EnvValue,
    Foreign,
    Lit,
    Logic,
    Maybe,
    ModuleValue,
    Seq,
    SettingValue,
    Special,
    Table,
    Text,
    Value,
    scalar_of,
    text_of,
)

_CUDA_IS = {"is_cuda": True, "is_cuda_alike": True}
_CUDA_IS_NOT = (
    "is_rocm",
    "is_xpu",
    "is_cpu",
    "is_tpu",
    "is_hpu",
    "is_neuron",
    "is_out_of_tree",
    "is_zen_cpu",
    "is_unspecified",
)
_DEVICE_TESTS: dict[str, Any] = {
    "is_device_capability": "==",
    "has_device_capability": ">=",
    "is_device_capability_family": "family",
}


def call(target: Value, name: str, arguments: list[Value], frame: Frame) -> Value | None:
    """The value of a method call, or None where the method is not one of these."""
    if isinstance(target, Seq):
        return _on_sequence(target, name, arguments, frame)
    if isinstance(target, Table):
        return _on_table(target, name, arguments, frame)
    if isinstance(target, Special):
        return _on_special(target, name, arguments)
    if isinstance(target, SettingValue):
        return _on_setting(target, name, arguments)
    if isinstance(target, Lit | Text):
        return _on_text(target, name, arguments)
    if isinstance(target, ModuleValue) and target.name == "vllm.envs" and name == "is_set":
        return Maybe(_is_set(arguments), Lit(value=True))
    if isinstance(target, EnvValue):
        return target if name in ("lower", "upper", "strip") else None
    if isinstance(target, Foreign) and target.name.startswith("logger."):
        return NONE
    return None


def _is_set(arguments: list[Value]) -> Any:
    return EnvTest(text_of(arguments[0]), "set")


def _on_special(target: Special, name: str, arguments: list[Value]) -> Value | None:
    if target.kind == "logger":
        return NONE
    if target.kind == "capability":
        names = {"to_int": Special("capability-number"), "as_version_str": Text("{capability}")}
        return names.get(name)  # type: ignore[return-value]
    if target.kind != "platform":
        return None
    if name in _CUDA_IS or name in _CUDA_IS_NOT:
        return Lit(_CUDA_IS.get(name, False))
    if name in _DEVICE_TESTS and arguments:
        number = capability_number(arguments[0])
        if number is not None:
            return Logic(DeviceTest(_DEVICE_TESTS[name], number))
    return Special("capability") if name == "get_device_capability" else None


def _on_setting(target: SettingValue, name: str, arguments: list[Value]) -> Value | None:
    known = [scalar_of(item) for item in arguments]
    if name == "startswith" and len(known) == 1 and known[0][0]:
        return Logic(Setting(target.path, "startswith", known[0][1]))
    if name == "endswith" and len(known) == 1 and known[0][0]:
        return Logic(Setting(target.path, "endswith", known[0][1]))
    if name in ("lower", "strip"):
        return target
    inner = ", ".join(text_of(item) for item in arguments)
    return SettingValue(f"{target.path}.{name}({inner})")


def _on_text(target: Lit | Text, name: str, arguments: list[Value]) -> Value | None:
    if name == "join" and arguments and isinstance(arguments[0], Seq):
        return Text(text_of(target).join(text_of(item) for item in arguments[0].values) or "{…}")
    if name == "format":
        return Text(text_of(target))
    if not isinstance(target, Lit) or not isinstance(target.value, str):
        return None
    functions: dict[str, Callable[..., Any]] = {
        "lower": str.lower,
        "upper": str.upper,
        "startswith": str.startswith,
        "endswith": str.endswith,
        "replace": str.replace,
        "strip": str.strip,
    }
    known = [item.value for item in arguments if isinstance(item, Lit)]
    if name in functions and len(known) == len(arguments):
        return Lit(functions[name](target.value, *map(str, known)))
    return None


def _on_table(target: Table, name: str, arguments: list[Value], frame: Frame) -> Value | None:
    if name == "get":
        found = table_get(target, arguments[0], frame)
        return found if found is not None else (arguments[1] if len(arguments) > 1 else NONE)
    if name == "keys":
        return Seq.of("list", [key for key, _ in target.items])
    if name == "values":
        return Seq.of("list", [value for _, value in target.items])
    if name == "items":
        pairs: list[Value] = [Seq.of("tuple", [key, value]) for key, value in target.items]
        return Seq.of("list", pairs)
    if name == "copy":
        return Table(list(target.items))
    return None


def _on_sequence(target: Seq, name: str, arguments: list[Value], frame: Frame) -> Value | None:
    handler = _SEQUENCE.get(name)
    if handler is None:
        raise UnreadableError(f"`{name}` of a list is not followed")
    return handler(target, arguments, frame)


def _append(target: Seq, arguments: list[Value], _: Frame) -> Value:
    target.items.append((TRUE, arguments[0]))
    return NONE


def _extend(target: Seq, arguments: list[Value], _: Frame) -> Value:
    if not isinstance(arguments[0], Seq):
        raise UnreadableError("list is extended by something unknown")
    target.items.extend(arguments[0].items)
    return NONE


def _number(value: Value) -> int:
    if isinstance(value, Lit) and isinstance(value.value, int):
        return value.value
    raise UnreadableError("position in a list is not known")


def _insert(target: Seq, arguments: list[Value], _: Frame) -> Value:
    target.items.insert(_number(arguments[0]), (TRUE, arguments[1]))
    return NONE


def _pop(target: Seq, arguments: list[Value], _: Frame) -> Value:
    position = _number(arguments[0]) if arguments else -1
    if not -len(target.items) <= position < len(target.items):
        raise Raised("IndexError", "pop from a short list", 0)
    return target.items.pop(position)[1]


def _index(target: Seq, arguments: list[Value], frame: Frame) -> Value:
    for position, value in enumerate(target.values):
        if frame.run.trace.branch(compare_values(value, ast.Eq(), arguments[0])):
            return Lit(position)
    raise Raised("ValueError", f"{text_of(arguments[0])} is not in the list", 0)


def _remove(target: Seq, arguments: list[Value], frame: Frame) -> Value:
    position = _index(target, arguments, frame)
    target.items.pop(_number(position))
    return NONE


def _reverse(target: Seq, _: list[Value], __: Frame) -> Value:
    target.items.reverse()
    return NONE


def _clear(target: Seq, _: list[Value], __: Frame) -> Value:
    target.items.clear()
    return NONE


def _copy(target: Seq, _: list[Value], __: Frame) -> Value:
    return Seq(target.kind, list(target.items))


_SEQUENCE: dict[str, Callable[[Seq, list[Value], Frame], Value]] = {
    "append": _append,
    "add": _append,
    "extend": _extend,
    "update": _extend,
    "insert": _insert,
    "pop": _pop,
    "index": _index,
    "remove": _remove,
    "reverse": _reverse,
    "clear": _clear,
    "copy": _copy,
}
