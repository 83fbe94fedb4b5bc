"""Calls of things outside the artifact: a few are known, the rest become named questions."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from sparkproof.core.condition import Gate
from sparkproof.release.symbolic.frames import Frame, Raised
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
    Text,
    Value,
    text_of,
)

_OPERATORS = ("torch.ops.", "vllm._C.")


def is_known(target: Foreign) -> bool:
    """Whether the interpreter knows what a call of it does."""
    return target.name in _KNOWN or target.name.startswith(_OPERATORS)


def call(target: Foreign, arguments: list[Value], frame: Frame) -> Value:
    """The value of calling something that the artifact does not define."""
    handler = _KNOWN.get(target.name)
    if handler is not None:
        return handler(arguments, frame)
    if target.name.startswith(_OPERATORS):
        return Logic(Gate(f"op:{target.name.rsplit('.', 1)[-1]}"))
    shown = ", ".join(text_of(item) for item in arguments if isinstance(item, Lit))
    return Foreign(f"{target.name}({shown})", called=True)


def _find_spec(arguments: list[Value], frame: Frame) -> Value:
    name = text_of(arguments[0])
    if frame.run.table.owns(name) and not frame.run.table.exists(name):
        return NONE
    return Maybe(Gate(f"package:{name}"), Foreign(name))


def _import_module(arguments: list[Value], frame: Frame) -> Value:
    name = text_of(arguments[0])
    owned = frame.run.table.owns(name)
    if owned and not frame.run.table.exists(name):
        raise Raised("ImportError", f"no module named {name}", 0)
    if not frame.run.trace.branch(Gate(f"package:{name}")):
        raise Raised("ImportError", f"no module named {name}", 0)
    return ModuleValue(name) if owned else Foreign(name)


def _which(arguments: list[Value], _: Frame) -> Value:
    tool = posixpath.basename(text_of(arguments[0]))
    return Maybe(Gate(f"tool:{tool}"), Text(f"{{path of {tool}}}"))


def _environ_get(arguments: list[Value], _: Frame) -> Value:
    return EnvValue(text_of(arguments[0]))


def _join(arguments: list[Value], _: Frame) -> Value:
    text = posixpath.join(*(text_of(item) for item in arguments))
    return Lit(text) if all(isinstance(item, Lit) for item in arguments) else Text(text)


def _dirname(arguments: list[Value], _: Frame) -> Value:
    text = posixpath.dirname(text_of(arguments[0]))
    return Lit(text) if isinstance(arguments[0], Lit) else Text(text or "{folder}")


def _exists(arguments: list[Value], frame: Frame) -> Value:
    if isinstance(arguments[0], Lit):
        return Lit(frame.run.table.has_path(text_of(arguments[0])))
    return frame.run.unread("file exists", frame)


def _cast(arguments: list[Value], _: Frame) -> Value:
    return arguments[-1]


def _capability(_: list[Value], __: Frame) -> Value:
    return Special("capability")


def _config(_: list[Value], __: Frame) -> Value:
    return SettingValue("vllm_config")


def _same(arguments: list[Value], frame: Frame) -> Value:
    return arguments[0] if arguments else frame.run.unread("decorator", frame)


def _logger(_: list[Value], __: Frame) -> Value:
    return Special("logger")


def _empty(_: list[Value], __: Frame) -> Value:
    return Seq("list")


_KNOWN: dict[str, Callable[[list[Value], Frame], Value]] = {
    "importlib.util.find_spec": _find_spec,
    "importlib.import_module": _import_module,
    "shutil.which": _which,
    "os.environ.get": _environ_get,
    "os.getenv": _environ_get,
    "os.path.join": _join,
    "os.path.dirname": _dirname,
    "os.path.exists": _exists,
    "typing.cast": _cast,
    "copy.copy": _same,
    "torch.cuda.get_device_capability": _capability,
    "vllm.config.current": _config,
    "vllm.logger.init_logger": _logger,
    "collections.defaultdict": _empty,
}
