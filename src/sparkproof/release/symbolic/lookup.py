"""What a name or an attribute stands for: modules, classes and their bases, objects."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from sparkproof.core.condition import TRUE, Gate
from sparkproof.facts.release_layout import foreign_constants
from sparkproof.release.symbolic import constants
from sparkproof.release.symbolic.classes import (
    class_member,
    decorators,
    enum_member,
    enum_value,
    is_enum,
    method,
)
from sparkproof.release.symbolic.frames import Frame, Raised, Returned
from sparkproof.release.symbolic.modules import Module
from sparkproof.release.symbolic.values import (
    Builtin,
    ClassValue,
    EnumValue,
    EnvValue,
    Foreign,
    FuncValue,
    Instance,
    Lit,
    Logic,
    Maybe,
    ModuleValue,
    Named,
    Seq,
    SettingValue,
    Special,
    Super,
    Text,
    Unread,
    Value,
    copied,
)

if TYPE_CHECKING:
    from sparkproof.release.symbolic.interpreter import Run

PLATFORM = Special("platform")
_KNOWN: dict[str, Value] = {
    "vllm.platforms.current_platform": PLATFORM,
    "vllm.logger.init_logger": Foreign("vllm.logger.init_logger"),
    "vllm.config.get_current_vllm_config": Foreign("vllm.config.current"),
    "vllm.config.get_current_vllm_config_or_none": Foreign("vllm.config.current"),
}
"""Names of the package that the interpreter answers by itself: (dotted name, value)."""
_CUDA_PLATFORM = (
    ("vllm.platforms.cuda", "CudaPlatformBase"),
    ("vllm.platforms.cuda", "CudaPlatform"),
)


def name(node_id: str, frame: Frame) -> Value:
    """A plain name, looked up outwards."""
    found = frame.find(node_id)
    if found is not None:
        return found
    if node_id in frame.module.bindings or frame.module.stars:
        return module_name(frame.run, frame.module.name, node_id)
    if node_id == "__file__":
        return Lit(frame.module.path)
    if node_id == "__name__":
        return Lit(frame.module.name)
    if hasattr(builtins, node_id):
        return Builtin(node_id)
    return frame.run.unread(node_id, frame)


def module_name(run: Run, module_id: str, wanted: str) -> Value:
    """A name at the top of a module: defined, imported, or a submodule."""
    dotted = f"{module_id}.{wanted}"
    if dotted in _KNOWN:
        return _KNOWN[dotted]
    module = run.table.get(module_id)
    if module is not None and wanted in module.bindings:
        return _remembered(run, module, wanted)
    if run.table.exists(dotted):
        return ModuleValue(dotted)
    if module is None:
        return Foreign(dotted)
    for star in module.stars:
        found = run.table.get(star)
        if found is not None and wanted in found.bindings:
            return module_name(run, star, wanted)
    if hasattr(builtins, wanted):
        return Builtin(wanted)
    return Unread(dotted, module.path)


def _remembered(run: Run, module: Module, wanted: str) -> Value:
    key = (module.name, wanted)
    if key in run.session.results:
        return copied(run.session.results[key])
    before = run.trace.asked, run.session.cycles
    value = _bound(run, module, wanted)
    if before == (run.trace.asked, run.session.cycles):
        run.session.results[key] = copied(value)
    return value


def _bound(run: Run, module: Module, wanted: str) -> Value:
    key = (module.name, wanted)
    if key in run.session.evaluating:
        run.session.cycles += 1
        return Unread(f"{module.name}.{wanted}", module.path)
    run.session.evaluating.add(key)
    try:
        value: Value = Unread(f"{module.name}.{wanted}", module.path)
        for statement in module.bindings[wanted]:
            value = _from_statement(run, module, wanted, statement, value)
        return value
    finally:
        run.session.evaluating.discard(key)


def _from_statement(
    run: Run, module: Module, wanted: str, statement: ast.stmt, before: Value
) -> Value:
    if isinstance(statement, ast.ClassDef):
        return ClassValue(module.name, wanted)
    if isinstance(statement, ast.FunctionDef):
        return FuncValue(module.name, statement)
    frame = run.frame(module)
    frame.names[wanted] = before
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return imported(run, module, statement, wanted)
    try:
        run.execute([statement], frame)
    except (Returned, Raised):
        return Unread(f"{module.name}.{wanted}", module.path, statement.lineno)
    value = frame.names.get(wanted, before)
    if isinstance(value, Instance | Unread) or (isinstance(value, Foreign) and value.called):
        return Named(wanted, module.name)
    return value


def imported(
    run: Run, module: Module, statement: ast.Import | ast.ImportFrom, wanted: str
) -> Value:
    """What an import statement binds to a name."""
    for item in statement.names:
        if isinstance(statement, ast.Import):
            if (item.asname or item.name.split(".")[0]) == wanted:
                return _module_or_foreign(run, item.name if item.asname else wanted)
        elif (item.asname or item.name) == wanted:
            origin = module.absolute(statement)
            if not run.table.owns(origin):
                return Foreign(f"{origin}.{item.name}")
            return module_name(run, origin, item.name)
    return Unread(wanted, module.path, statement.lineno)


def _module_or_foreign(run: Run, dotted: str) -> Value:
    return ModuleValue(dotted) if run.table.owns(dotted) else Foreign(dotted)


def attribute(value: Value, wanted: str, frame: Frame) -> Value:
    """``value.wanted``."""
    run = frame.run
    if isinstance(value, ModuleValue):
        if value.name == "vllm.envs" and wanted.isupper():
            return EnvValue(wanted)
        return run.module_name(value.name, wanted)
    if isinstance(value, Foreign | Named):
        return _of_constant(value, wanted, frame)
    if isinstance(value, SettingValue):
        return SettingValue(f"{value.path}.{wanted}")
    if isinstance(value, Special):
        return _special(value, wanted, frame)
    if isinstance(value, ClassValue):
        return class_attribute(value, value, wanted, frame)
    if isinstance(value, EnumValue):
        return _enum_attribute(value, wanted, frame)
    if isinstance(value, Super):
        return _super_attribute(value, wanted, frame)
    if isinstance(value, Maybe):
        return attribute(value.value, wanted, frame)
    if isinstance(value, Instance):
        return class_attribute(value.owner, value, wanted, frame)
    if isinstance(value, FuncValue) and wanted == "__name__":
        return Lit(value.node.name)
    return run.unread(f"{_label(value)}.{wanted}", frame)


def _of_constant(value: Foreign | Named, wanted: str, frame: Frame) -> Value:
    """A part of something outside, or of a constant that the artifact makes."""
    dotted = f"{value.name}.{wanted}"
    if isinstance(value, Named):
        return constants.part_of(frame.run, value, wanted) or frame.run.unread(dotted, frame)
    known = foreign_constants().get(dotted)
    return Foreign(dotted) if known is None else Lit(known)


def _label(value: Value) -> str:
    if isinstance(value, Named | Builtin):
        return value.name
    return value.text if isinstance(value, Unread | Text) else type(value).__name__


def class_attribute(
    owner: ClassValue, bound: Value, wanted: str, frame: Frame, *, after: ClassValue | None = None
) -> Value:
    """An attribute of a class, or of an object of it."""
    run = frame.run
    if wanted in ("__name__", "__qualname__"):
        return Lit(owner.name)
    if wanted == "__module__":
        return Lit(owner.module)
    found = class_member(run, owner, wanted, after=after)
    if found is None:
        return run.unread(f"{owner.name}.{wanted}", frame)
    home, module, node = found
    if isinstance(node, ast.FunctionDef):
        function = method(run, owner, wanted, bound, after=after)
        return _bound_function(function, bound, frame) or run.unread(wanted, frame, node)
    if is_enum(run, home):
        return enum_member(run, home, wanted)
    assert isinstance(node, ast.Assign | ast.AnnAssign)
    assert node.value is not None
    inner = run.frame(module)
    inner.owner, inner.dynamic = home, owner
    return run.evaluate(node.value, inner)


def _bound_function(function: FuncValue | None, bound: Value, frame: Frame) -> Value | None:
    """The function, or the value of a property."""
    if function is None or isinstance(bound, ClassValue):
        return function
    if {"property", "cached_property"} & decorators(function.node):
        return frame.run.call(function, [], {}, frame)
    return function


def _enum_attribute(value: EnumValue, wanted: str, frame: Frame) -> Value:
    if wanted == "name":
        return Lit(value.name)
    if wanted == "value":
        return enum_value(frame.run, value)
    return class_attribute(value.owner, value, wanted, frame)


def _super_attribute(value: Super, wanted: str, frame: Frame) -> Value:
    dynamic = value.dynamic
    owner = dynamic.owner if isinstance(dynamic, Instance | EnumValue) else dynamic
    if not isinstance(owner, ClassValue):
        owner = value.owner
    return class_attribute(owner, dynamic, wanted, frame, after=value.owner)


def _special(value: Special, wanted: str, frame: Frame) -> Value:
    if value.kind == "platform":
        return platform_attribute(wanted, frame)
    if value.kind == "capability" and wanted in ("major", "minor"):
        return Special("major" if wanted == "major" else "minor")
    if value.kind == "logger":
        return Foreign("logger." + wanted)
    return frame.run.unread(f"{value.kind}.{wanted}", frame)


def platform_attribute(wanted: str, frame: Frame) -> Value:
    """An attribute of ``current_platform``, as CUDA's class defines it."""
    if wanted in ("device_name", "simple_compile_backend"):
        return Text("{" + wanted + "}")
    for module, owner in _CUDA_PLATFORM:
        found = class_member(frame.run, ClassValue(module, owner), wanted)
        if found is not None:
            return class_attribute(ClassValue(module, owner), PLATFORM, wanted, frame)
    return frame.run.unread(f"current_platform.{wanted}", frame)


def has_attribute(value: Value, wanted: str, frame: Frame) -> Value:
    """``hasattr(value, wanted)``."""
    if isinstance(value, Foreign):
        return Logic(Gate(f"symbol:{value.name}:{wanted}"))
    if isinstance(value, SettingValue):
        return Lit(value=True)
    if isinstance(value, ClassValue):
        return Lit(class_member(frame.run, value, wanted) is not None)
    if isinstance(value, ModuleValue):
        module = frame.run.table.get(value.name)
        return Lit(module is not None and wanted in module.bindings)
    if isinstance(value, Seq | Lit):
        return Lit(hasattr(value.value if isinstance(value, Lit) else [], wanted))
    return Logic(TRUE) if isinstance(value, EnumValue) else frame.run.unread(wanted, frame)
