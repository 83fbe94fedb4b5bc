"""The attention backends: their order per capability, and what each one refuses."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection

from sparkproof.core.condition import Condition, Gate, Opaque, Setting, Supports, all_of
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import Attempt, Branch, Dispatch, Oracle, Source
from sparkproof.core.unknown import Unknown
from sparkproof.facts.release_layout import AttentionLayout
from sparkproof.formats.python_source import brief
from sparkproof.release.oracles import read_members
from sparkproof.release.reading import find_function, guarded, run_function
from sparkproof.release.symbolic import classes
from sparkproof.release.symbolic.expressions import enum_members
from sparkproof.release.symbolic.interpreter import Run, Session
from sparkproof.release.symbolic.trace import Trace
from sparkproof.release.symbolic.values import ClassValue, EnumValue, FuncValue, Seq, text_of

ORACLE = "attention/backend"
LATENT = "attention/mla"
_ALWAYS_THERE = {"torch", "numpy", "triton", "typing_extensions"}
"""Third-party packages without which vLLM does not start at all (its own imports, 0.33.0)."""


def read_attention(
    session: Session,
    layout: AttentionLayout,
    *,
    latent: bool = False,
    named: Collection[str] | None = None,
) -> Oracle | Unknown:
    """The attention oracle for latent attention (MLA) or for the rest, or why it can't be read.

    Args:
        named: backends outside the automatic order to read as well; None for all of them, which
            takes longer than all the rest.
    """
    oracle = LATENT if latent else ORACLE
    module, name = layout.priorities.split(":")
    where = f"{session.table.path_of(module)}:{name}"
    try:
        with guarded(where):
            function = find_function(session, module, name)
            if function is not None:
                return _read(session, layout, function, oracle, named)
    except FormatError as error:
        return Unknown.from_error(error, f"select/{oracle}")
    return Unknown(where=where, why="no order of attention backends", topic=f"select/{oracle}")


def _read(
    session: Session,
    layout: AttentionLayout,
    function: FuncValue,
    oracle: str,
    named: Collection[str] | None,
) -> Oracle:
    module = session.table.get(function.module)
    assert module is not None
    paths = run_function(session, function, {}, assume={Setting("use_mla"): oracle == LATENT})
    chosen, exhausted = _messages(session, layout)
    branches: list[Branch] = []
    known: dict[str, Attempt] = {}
    for path in paths:
        value = path.outcome.value
        if not isinstance(value, Seq):
            raise FormatError("returns no list", where=f"{module.path}:{function.symbol}")
        attempts = [_attempt(session, item, guard) for guard, item in value.items]
        known.update(
            {
                item.backend: _attempt(session, v, None)
                for item, (_, v) in zip(attempts, value.items, strict=True)
            }
        )
        branches.append(
            Branch(
                path.when,
                tuple(attempts),
                "",
                "",
                exhausted,
                module.source(function.node, function.symbol),
            )
        )
    owner = _owner(session, layout)
    run = Run(session, Trace([]))
    nameable = {**known, **_others(session, owner, set(known), named)}
    forced = [
        Branch(Setting("attention_backend", "==", name), (attempt,), "", "", chosen, attempt.source)
        for name, attempt in nameable.items()
    ]
    return Oracle(
        id=oracle,
        source=module.source(function.node, function.symbol),
        flag="--attention-backend",
        members=read_members(run, owner) if owner is not None else (),
        dispatch=tuple(
            Dispatch(item.backend, (item.implementation,), item.source)
            for item in nameable.values()
        ),
        listed=tuple(known),
        branches=(*forced, *branches),
        assumed=(("use_mla", oracle == LATENT),),
    )


def _others(
    session: Session, owner: ClassValue | None, known: set[str], named: Collection[str] | None
) -> dict[str, Attempt]:
    """Backends that are in no order and can only be named, as far as their class can be read."""
    if owner is None:
        return {}
    run = Run(session, Trace([]))
    module = session.table.get(owner.module)
    if module is None:
        return {}
    found = {}
    for item in enum_members(owner, run.frame(module)):
        if not isinstance(item, EnumValue) or item.name in known:
            continue
        if named is None or item.name in named:
            attempt = _nameable(session, item)
            if attempt is not None:
                found[item.name] = attempt
    return found


def _nameable(session: Session, item: EnumValue) -> Attempt | None:
    try:
        attempt = _attempt(session, item, None)
    except FormatError:
        return None
    return attempt if attempt.source.line else None


def _owner(session: Session, layout: AttentionLayout) -> ClassValue | None:
    for place in layout.enums:
        module, name = place.split(":")
        if session.table.get(module) is not None:
            value = Run(session, Trace([])).module_name(module, name)
            if isinstance(value, ClassValue):
                return value
    return None


def _attempt(session: Session, item: object, guard: Condition | None) -> Attempt:
    if not isinstance(item, EnumValue):
        raise FormatError("order holds something that is no backend")
    run = Run(session, Trace([]))
    dotted = text_of(classes.enum_value(run, item))
    module_name, _, name = dotted.rpartition(".")
    owner = ClassValue(module_name, name)
    found = classes.class_node(run, owner)
    if found is None:
        where = session.table.path_of(module_name)
        accept = all_of((*([guard] if guard is not None else []), Opaque(f"class {name}", where)))
        return Attempt(item.name, name, accept, Source(where, 0, name))
    session.asked[name, "validate_configuration"] = owner
    module, node = found
    conditions = [Gate(f"package:{package}") for package in _imports(module.tree)]
    accept = all_of(
        (
            *([guard] if guard is not None else []),
            *conditions,
            Supports(name, "validate_configuration"),
        )
    )
    return Attempt(item.name, name, accept, module.source(node, name))


def _imports(tree: ast.Module) -> list[str]:
    """Third-party packages that the module can't be imported without."""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            found.extend(item.name.split(".")[0] for item in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.append(node.module.split(".")[0])
    foreign = [
        name
        for name in found
        if name not in sys.stdlib_module_names and name not in _ALWAYS_THERE and name != "vllm"
    ]
    return list(dict.fromkeys(foreign))


def _messages(session: Session, layout: AttentionLayout) -> tuple[str, str]:
    """What is raised for a named backend that does not fit, and where none is left."""
    module_name, name = layout.raises.split(":")
    module = session.table.get(module_name)
    found: list[tuple[int, str]] = []
    for node in ast.walk(module.tree) if module is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            found.extend(
                (inner.lineno, f"{brief(inner.exc.func)}: {_text(inner.exc.args[0])}")
                for inner in ast.walk(node)
                if isinstance(inner, ast.Raise)
                and isinstance(inner.exc, ast.Call)
                and inner.exc.args
            )
    messages = [text for _, text in sorted(found)]
    return (messages[0], messages[-1]) if messages else ("", "")


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(item) for item in node.values)
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.FormattedValue):
        return "{" + brief(node.value) + "}"
    return "{" + brief(node) + "}"
