"""Loops over candidates: each is asked on its own, so that every refusal keeps its reason."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from sparkproof.core.condition import FALSE, TRUE, Condition, Opaque
from sparkproof.core.observations.release_surface import Attempt
from sparkproof.release.symbolic.expressions import assign
from sparkproof.release.symbolic.frames import (
    Broken,
    Continued,
    Frame,
    Raised,
    Returned,
    UnreadableError,
)
from sparkproof.release.symbolic.trace import Path, Trace, combine, explore
from sparkproof.release.symbolic.values import (
    ClassValue,
    EnumValue,
    Foreign,
    FuncValue,
    Instance,
    Seq,
    Table,
    Text,
    Value,
    text_of,
)


@dataclass(frozen=True)
class _Step:
    """One way through the body for one candidate."""

    accepts: bool
    attempts: tuple[Attempt, ...]
    backend: str
    implementation: str


def is_walk(node: ast.For, items: list[tuple[Condition, Value]]) -> bool:
    """Whether a loop tries candidates and returns the first that fits.

    Raises:
        UnreadableError: it does, and something among them can't be a candidate.
    """
    if not items or not _returns(node):
        return False
    kinds = [_is_candidate(item) for _, item in items]
    if any(kinds) and not all(kinds):
        strange = next(item for _, item in items if not _is_candidate(item))
        raise UnreadableError(f"`{text_of(strange)}` among the candidates", node.lineno)
    return all(kinds)


def _returns(node: ast.For) -> bool:
    return any(isinstance(inner, ast.Return) for part in node.body for inner in ast.walk(part))


def _is_candidate(value: Value) -> bool:
    return isinstance(value, ClassValue | EnumValue) or _is_missing(value)


def _is_missing(value: Value) -> bool:
    """Whether the value is a class that the artifact imports and does not have."""
    return isinstance(value, Foreign) and not value.called and value.name.startswith("vllm.")


def walk(node: ast.For, items: list[tuple[Condition, Value]], frame: Frame) -> None:
    """Record the candidates as attempts; what follows the loop is the case that none fits."""
    for guard, item in items:
        if guard == FALSE or (guard != TRUE and not frame.run.trace.branch(guard)):
            continue
        frame.run.attempts.extend(_remembered(node, item, frame))
    for name in _names(node, frame)[1]:
        if not isinstance(frame.names.get(name), Seq):
            frame.names[name] = Text("{" + name + "}")


def _names(node: ast.For, frame: Frame) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a loop reads and those that it binds."""
    cache = frame.run.session.names
    if id(node) not in cache:
        found = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
        cache[id(node)] = (
            frozenset(inner.id for inner in found if isinstance(inner.ctx, ast.Load)),
            frozenset(inner.id for inner in found if isinstance(inner.ctx, ast.Store)),
        )
    return cache[id(node)]


def _remembered(node: ast.For, item: Value, frame: Frame) -> tuple[Attempt, ...]:
    """The attempts of one candidate; the same body with the same names gives the same."""
    read = _names(node, frame)[0]
    names = tuple((name, _frozen(frame.find(name))) for name in sorted(read))
    key = (frame.module.name, node.lineno, item, names)
    walked = frame.run.session.walked
    if key not in walked:
        walked[key] = tuple(_attempts(node, item, frame))
    return walked[key]


def _frozen(value: Value | None) -> object:
    if isinstance(value, Seq):
        return tuple((guard, _frozen(item)) for guard, item in value.items)
    if isinstance(value, Table):
        return tuple((_frozen(key), _frozen(item)) for key, item in value.items)
    if isinstance(value, FuncValue):
        return (value.module, value.symbol)
    return value


def _attempts(node: ast.For, item: Value, frame: Frame) -> list[Attempt]:
    if isinstance(item, Foreign):
        name = item.name.rsplit(".", 1)[-1]
        source = frame.module.source(node, name)
        missing = Opaque(f"{item.name} is not in the artifact", source.path, source.line)
        return [Attempt(backend=name, implementation=name, accept=missing, source=source)]
    paths = explore(lambda trace: _try_one(node, item, frame, trace))
    inner = next((path.outcome.attempts for path in paths if path.outcome.attempts), ())
    label = item.name if isinstance(item, EnumValue | ClassValue) else ""
    if inner:
        return [
            Attempt(
                backend=label if isinstance(item, EnumValue) else attempt.backend,
                implementation=attempt.implementation,
                accept=attempt.accept,
                source=attempt.source,
            )
            for attempt in inner
        ]
    taken = next((path.outcome for path in paths if path.outcome.accepts), None)
    if taken is None:
        source = frame.module.source(node, label)
        return [Attempt(backend=label, implementation="", accept=FALSE, source=source)]
    fallback = item.name if isinstance(item, ClassValue) else ""
    return [
        Attempt(
            backend=taken.backend or label,
            implementation=taken.implementation or fallback,
            accept=combine([_accepting(path) for path in paths]),
            source=frame.module.source(node, label),
        )
    ]


def _accepting(path: Path[_Step]) -> Path[Condition]:
    return Path(path.when, path.terms, TRUE if path.outcome.accepts else FALSE)


def _try_one(node: ast.For, item: Value, frame: Frame, trace: Trace) -> _Step:
    run = frame.run.sub_run(trace, selecting=True)
    trace.assume(frame.run.session.assumed)
    inner = Frame(
        run=run,
        module=frame.module,
        names={name: _copied(value) for name, value in frame.names.items()},
        parent=frame.parent,
        owner=frame.owner,
        dynamic=frame.dynamic,
        depth=frame.depth,
    )
    assign(node.target, item, inner)
    try:
        run.execute(node.body, inner)
    except Returned as leave:
        backend, implementation = named_in(leave.value)
        return _Step(True, tuple(run.attempts), backend, implementation)
    except (Continued, Broken, Raised):
        pass
    return _Step(False, tuple(run.attempts), "", "")


def _copied(value: Value) -> Value:
    return Seq(value.kind, list(value.items)) if isinstance(value, Seq) else value


def named_in(value: Value) -> tuple[str, str]:
    """Backend and class that a returned value names, "" where it names none."""
    if isinstance(value, EnumValue):
        return value.name, ""
    if isinstance(value, ClassValue):
        return "", value.name
    if isinstance(value, Instance):
        return "", value.owner.name
    backend = implementation = ""
    if isinstance(value, Seq):
        for item in value.values:
            one, two = named_in(item)
            backend, implementation = backend or one, implementation or two
    return backend, implementation
