"""Reading one selection function or one predicate: runs over it, turned into surface items."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sparkproof.core.condition import Condition, Const, Scalar, all_of
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import (
    Attempt,
    Branch,
    Decision,
    Predicate,
    Source,
)
from sparkproof.release.symbolic.calls import bind, follow, setting_path
from sparkproof.release.symbolic.frames import CONTROL_FLOW, Frame, Raised, UnreadableError
from sparkproof.release.symbolic.interpreter import Run, Session
from sparkproof.release.symbolic.logic import truth
from sparkproof.release.symbolic.trace import Path, Trace, explore
from sparkproof.release.symbolic.values import (
    NONE,
    ClassValue,
    FuncValue,
    Seq,
    SettingValue,
    Special,
    Value,
    text_of,
)
from sparkproof.release.symbolic.walks import named_in


@dataclass(frozen=True)
class Ending:
    """How one run over a function ended."""

    value: Value | None
    error: str
    line: int
    attempts: tuple[Attempt, ...]


def canonical(parameter: ast.arg) -> Value:
    """What a parameter stands for when a function is read on its own."""
    if parameter.arg == "compute_capability":
        return Special("capability-number")
    if parameter.arg in ("device_capability", "capability"):
        return Special("capability")
    return SettingValue(setting_path(parameter.arg, parameter.annotation))


def top_frame(session: Session, module: str, trace: Trace, *, selecting: bool) -> Frame:
    """A frame at the top of a module.

    Raises:
        FormatError: there is no such module, or it can't be parsed.
    """
    found = session.table.get(module)
    if found is None:
        raise FormatError("no such module, or not readable", where=session.table.path_of(module))
    return Run(session, trace, selecting=selecting).frame(found)


def run_function(
    session: Session,
    function: FuncValue,
    arguments: Mapping[str, Value],
    *,
    selecting: bool = False,
    assume: Mapping[Condition, bool] | None = None,
) -> list[Path[Ending]]:
    """All ways through a function.

    Args:
        arguments: values of parameters; the rest get what they stand for by name.

    Raises:
        FormatError: the function uses something that is not followed.
    """
    spec = function.node.args
    names = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]

    optional = {name for name, default in constant_defaults(function) if default is None}
    optional.discard("compute_capability")

    def replay(trace: Trace) -> Ending:
        trace.assume(session.assumed)
        frame = top_frame(session, function.module, trace, selecting=selecting)
        keywords = {
            item.arg: arguments.get(item.arg, canonical(item))
            for item in names
            if item.arg in arguments or item.arg not in optional
        }
        bound = bind(_unbound(function), [], keywords, frame)
        try:
            value = follow(function, bound, frame)
        except Raised as leave:
            text = f"{leave.kind}: {leave.message}" if leave.message else leave.kind
            return Ending(None, text, leave.line, tuple(frame.run.attempts))
        return Ending(value, "", function.node.lineno, tuple(frame.run.attempts))

    where = session.table.path_of(function.module)
    if session.assumed != (assume or {}):
        session.assumed = dict(assume or {})
        session.summaries.clear()
        session.walked.clear()
    with guarded(f"{where}:{function.symbol}"):
        return explore(replay)


def _unbound(function: FuncValue) -> FuncValue:
    return FuncValue(function.module, function.node, owner=function.owner)


@contextmanager
def guarded(where: str) -> Iterator[None]:
    """Turn whatever stops the interpreter into the one error of a parser.

    Raises:
        FormatError: with a place, if it had none.
    """
    try:
        yield
    except UnreadableError as error:
        raise FormatError(error.why, where=where, line=error.line) from error
    except CONTROL_FLOW as error:
        line = getattr(error, "line", 0)
        raise FormatError("control flow leaves its function", where=where, line=line) from error
    except RecursionError as error:
        raise FormatError("source is nested too deeply to follow", where=where) from error
    except FormatError as error:
        raise (error if error.where else error.within(where)) from error


def find_function(session: Session, module: str, name: str) -> FuncValue | None:
    """A function at the top of a module, or in a class there as ``Class.function``."""
    found = session.table.get(module)
    if found is None:
        return None
    run = Run(session, Trace([]))
    with guarded(f"{found.path}:{name}"):
        value = run.module_name(module, name) if name in found.bindings else None
    return value if isinstance(value, FuncValue) else None


def read_branches(
    session: Session, function: FuncValue, assume: Mapping[Condition, bool]
) -> tuple[Branch, ...]:
    """The ways through a selection function, each with the candidates it walks.

    Raises:
        FormatError: the function uses something that is not followed.
    """
    paths = run_function(session, function, {}, selecting=True, assume=assume)
    source = session.table.path_of(function.module)
    branches = [_branch(path, Source(source, path.outcome.line, function.symbol)) for path in paths]
    if not branches or not any(item.attempts or item.selected for item in branches):
        raise FormatError("no candidate is tried or returned", where=f"{source}:{function.symbol}")
    return tuple(branches)


def _branch(path: Path[Ending], source: Source) -> Branch:
    ending = path.outcome
    backend, implementation = named_in(ending.value) if ending.value is not None else ("", "")
    error = ending.error
    if not error and not backend and not implementation:
        error = "returns nothing that names a backend"
    return Branch(
        when=path.when,
        attempts=ending.attempts,
        selected=backend or implementation,
        implementation=implementation,
        error=error,
        source=source,
    )


def read_predicate(session: Session, owner: ClassValue, method: str) -> Predicate:
    """What a class answers, as an ordered decision list.

    Raises:
        FormatError: there is no such method, or it uses something that is not followed.
    """
    run = Run(session, Trace([]))
    where = session.table.path_of(owner.module)
    with guarded(f"{where}:{owner.name}"):
        function = run.method(owner, method, owner)
    if function is None:
        raise FormatError(f"no `{method}` to ask", where=f"{where}:{owner.name}")
    paths = run_function(session, function, {"cls": owner})
    source = Source(session.table.path_of(function.module), function.node.lineno, function.symbol)
    decisions: list[Decision] = []
    for path in paths:
        decisions.extend(_decisions(path, source))
    return Predicate(owner.name, method, tuple(decisions), source)


def _decisions(path: Path[Ending], source: Source) -> list[Decision]:
    ending = path.outcome
    if ending.value is None:
        return [Decision(path.when, accepts=False, reason=ending.error, source=source)]
    value = ending.value
    if isinstance(value, Seq) and value.kind == "list":
        return _from_reasons(path, value, source)
    answer, reason = value, ""
    if isinstance(value, Seq) and len(value.items) == 2:
        answer, second = value.values
        reason = "" if second == NONE else text_of(second)
    condition = truth(answer)
    if isinstance(condition, Const):
        return [Decision(path.when, accepts=condition.value, reason=reason, source=source)]
    return [
        Decision(all_of((path.when, condition)), accepts=True, reason="", source=source),
        Decision(path.when, accepts=False, reason=reason, source=source),
    ]


def _from_reasons(path: Path[Ending], reasons: Seq, source: Source) -> list[Decision]:
    """A list of reasons, each under a condition: any of them refuses."""
    refusals = [
        Decision(all_of((path.when, guard)), accepts=False, reason=text_of(reason), source=source)
        for guard, reason in reasons.items
    ]
    return [*refusals, Decision(path.when, accepts=True, reason="", source=source)]


def constant_defaults(function: FuncValue) -> tuple[tuple[str, Scalar], ...]:
    """Parameters of a function whose default is a constant."""
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    return tuple(
        (parameter.arg, default.value)
        for parameter, default in pairs
        if isinstance(default, ast.Constant)
        and isinstance(default.value, str | int | float | bool | None)
    )
