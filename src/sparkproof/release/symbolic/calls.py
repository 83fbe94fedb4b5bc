"""What a call returns: functions of the artifact are followed, the rest is known or named."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from sparkproof.core.condition import Condition, Const, Opaque, Scalar, Supports
from sparkproof.formats.python_source import dotted_name
from sparkproof.release.symbolic import builtin_calls, classes, foreign_calls, method_calls
from sparkproof.release.symbolic.expressions import enum_members, table_get
from sparkproof.release.symbolic.frames import Frame, Raised, Returned, UnreadableError
from sparkproof.release.symbolic.logic import truth
from sparkproof.release.symbolic.trace import Path, Trace, combine, explore
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
    Options,
    Seq,
    SettingValue,
    Table,
    Text,
    Value,
    copied,
    scalar_of,
)

MAX_DEPTH = 40
SETTING_ROOTS = {
    "FusedMoEConfig": "moe",
    "FusedMoEParallelConfig": "moe.moe_parallel_config",
    "moe_config": "moe",
    "moe_parallel_config": "moe.moe_parallel_config",
    "config": "linear",
    "c": "linear",
}
"""Under which path a parameter's object is asked about: by its annotation, else by its name."""
QUESTIONS = ("is_supported_config", "is_supported", "can_implement", "_supports_quant_scheme")
"""What selection functions ask of candidate classes (vLLM 0.19.1 to 0.33.0)."""


def call(target: Value, arguments: list[Value], keywords: dict[str, Value], frame: Frame) -> Value:
    """The value of ``target(*arguments, **keywords)``."""
    if isinstance(target, FuncValue):
        return call_function(target, arguments, keywords, frame)
    if isinstance(target, ClassValue):
        return _construct(target, arguments, keywords, frame)
    if isinstance(target, Builtin):
        with _argued(target.name):
            return builtin_calls.call(target.name, arguments, keywords, frame)
    if isinstance(target, Foreign) and foreign_calls.is_known(target):
        with _argued(target.name):
            return foreign_calls.call(target, arguments, frame)
    name = target.name if isinstance(target, Foreign) else "an unknown function"
    _spoil([*arguments, *keywords.values()], name)
    if isinstance(target, Foreign):
        return foreign_calls.call(target, arguments, frame)
    if isinstance(target, SettingValue):
        return SettingValue(f"{target.path}()")
    return frame.run.unread("call", frame)


@contextmanager
def _argued(name: str) -> Iterator[None]:
    """A known function called with fewer or other arguments than it takes is not followed."""
    try:
        yield
    except (IndexError, ValueError) as error:
        raise UnreadableError(f"`{name}` is called in a way that is not followed") from error


def _spoil(arguments: list[Value], by: str) -> None:
    for value in arguments:
        if isinstance(value, Seq):
            value.spoil(by)


def call_method(
    target: Value, name: str, arguments: list[Value], keywords: dict[str, Value], frame: Frame
) -> Value:
    """The value of ``target.name(*arguments, **keywords)``."""
    if isinstance(target, ClassValue) and frame.run.selecting and name in QUESTIONS:
        return _question(target, name, arguments, keywords, frame)
    with _argued(name):
        found = method_calls.call(target, name, arguments, frame)
    if found is not None:
        return found
    return call(frame.run.attribute(target, name, frame), arguments, keywords, frame)


def _question(
    owner: ClassValue, name: str, arguments: list[Value], keywords: dict[str, Value], frame: Frame
) -> Value:
    function = classes.method(frame.run, owner, name, owner)
    if function is None:
        return frame.run.unread(f"{owner.name}.{name}", frame)
    bound = bind(function, arguments, keywords, frame)
    given = tuple(item for item in (_given(parameter, value) for parameter, value in bound) if item)
    frame.run.session.asked[owner.name, name] = owner
    answer = Logic(Supports(owner.name, name, given))
    if name == "_supports_quant_scheme":
        return answer
    return Seq.of("tuple", [answer, Text("{reason}")])


def setting_path(parameter: str, annotation: ast.expr | None) -> str:
    """The path under which a parameter's object is asked about."""
    text = dotted_name(annotation) if annotation is not None else ""
    if isinstance(annotation, ast.Constant):
        text = str(annotation.value)
    name = text.split(".")[-1]
    return SETTING_ROOTS.get(name) or SETTING_ROOTS.get(parameter, parameter)


def _given(parameter: str, value: Value) -> tuple[str, Scalar] | None:
    path = SETTING_ROOTS.get(parameter, parameter)
    if parameter in ("cls", "compute_capability", "config", "c"):
        return None
    if isinstance(value, SettingValue):
        return None if value.path == path else (path, f"{{{value.path}}}")
    known, scalar = scalar_of(value)
    return (path, scalar) if known else None


def bind(
    function: FuncValue, arguments: list[Value], keywords: dict[str, Value], frame: Frame
) -> list[tuple[str, Value]]:
    """Parameters with their values, defaults included."""
    spec = function.node.args
    names = [item.arg for item in (*spec.posonlyargs, *spec.args)]
    given = [function.bound, *arguments] if function.bound is not None else list(arguments)
    values: dict[str, Value] = dict(zip(names, given, strict=False))
    if spec.vararg is not None:
        values[spec.vararg.arg] = Seq.of("tuple", given[len(names) :])
    allowed = {*names, *(item.arg for item in spec.kwonlyargs)}
    values.update({key: value for key, value in keywords.items() if key in allowed})
    if spec.kwarg is not None:
        extra = [(Lit(key), value) for key, value in keywords.items() if key not in allowed]
        values[spec.kwarg.arg] = Table(list(extra))
    _fill_defaults(function, values, frame)
    return list(values.items())


def _fill_defaults(function: FuncValue, values: dict[str, Value], frame: Frame) -> None:
    spec = function.node.args
    module = frame.run.table.get(function.module)
    outer = frame.run.frame(module) if module is not None else frame
    positional = [*spec.posonlyargs, *spec.args]
    with_default = positional[len(positional) - len(spec.defaults) :]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(with_default, spec.defaults, strict=True),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    for parameter, default in pairs:
        if parameter.arg not in values and default is not None:
            values[parameter.arg] = frame.run.evaluate(default, outer)
    for parameter in (*positional, *spec.kwonlyargs):
        if parameter.arg not in values:
            values[parameter.arg] = frame.run.unread(parameter.arg, frame, function.node)


def call_function(
    function: FuncValue, arguments: list[Value], keywords: dict[str, Value], frame: Frame
) -> Value:
    """Follow a function of the artifact."""
    if frame.depth >= MAX_DEPTH:
        raise UnreadableError("calls nest too deeply", function.node.lineno)
    bound = bind(function, arguments, keywords, frame)
    if _is_question_of_fact(function) and all(_is_plain(value) for _, value in bound):
        condition = _summary(function, bound, frame)
        return Lit(condition.value) if isinstance(condition, Const) else Logic(condition)
    if _is_reason(function) and all(_is_plain(value) for _, value in bound):
        options = _options(function, bound, frame)
        if options is not None:
            return options
    try:
        return _remembered(function, bound, frame)
    except UnreadableError as error:
        if function.closure is not None:
            raise
        _spoil([value for _, value in bound], function.symbol)
        return frame.run.unread(f"{function.symbol}: {error.why}", frame, function.node)


def _remembered(function: FuncValue, bound: list[tuple[str, Value]], frame: Frame) -> Value:
    """Follow a function once where its value hangs on its arguments alone."""
    if function.closure is not None or not all(_is_plain(value) for _, value in bound):
        return follow(function, bound, frame)
    session, trace = frame.run.session, frame.run.trace
    key = (function.module, function.symbol, tuple(bound), frame.run.selecting)
    if key in session.results:
        return copied(session.results[key])
    before = trace.asked, len(frame.run.attempts)
    value = follow(function, bound, frame)
    if before == (trace.asked, len(frame.run.attempts)):
        session.results[key] = copied(value)
    return value


def follow(function: FuncValue, bound: list[tuple[str, Value]], frame: Frame) -> Value:
    """Run the body in this replay."""
    module = frame.run.table.get(function.module)
    if module is None:
        raise UnreadableError(f"module {function.module} can't be read")
    inner = Frame(
        run=frame.run,
        module=module,
        names=dict(bound),
        parent=function.closure,
        owner=function.owner,
        dynamic=function.bound,
        depth=frame.depth + 1,
        function=function.symbol,
    )
    if inner.dynamic is None and function.owner is not None and bound:
        inner.dynamic = bound[0][1]
    try:
        frame.run.execute(function.node.body, inner)
    except Returned as leave:
        return leave.value
    return NONE


def _is_question_of_fact(function: FuncValue) -> bool:
    returns = function.node.returns
    return function.closure is None and isinstance(returns, ast.Name) and returns.id == "bool"


def _is_reason(function: FuncValue) -> bool:
    """Whether a function returns a text or nothing: why something is not supported."""
    returns = function.node.returns
    return (
        function.closure is None
        and isinstance(returns, ast.BinOp)
        and isinstance(returns.left, ast.Name)
        and returns.left.id == "str"
        and isinstance(returns.right, ast.Constant)
        and returns.right.value is None
    )


def _options(function: FuncValue, bound: list[tuple[str, Value]], frame: Frame) -> Options | None:
    """Every text that a function may return with its condition, None where it has others."""

    def replay(trace: Trace) -> Value:
        trace.assume(frame.run.session.assumed)
        run = frame.run.sub_run(trace, selecting=frame.run.selecting)
        try:
            return follow(function, bound, Frame(run, frame.module, depth=frame.depth))
        except (Raised, UnreadableError):
            return frame.run.unread(function.symbol, frame, function.node)

    paths = explore(replay)
    if not all(path.outcome == NONE or isinstance(path.outcome, Lit | Text) for path in paths):
        return None
    outcomes = dict.fromkeys(path.outcome for path in paths)
    return Options(tuple((_leading_to(paths, outcome), outcome) for outcome in outcomes))


def _leading_to(paths: list[Path[Value]], outcome: Value) -> Condition:
    """The condition under which the ways through end in one outcome."""
    return combine([Path(p.when, p.terms, Const(value=p.outcome == outcome)) for p in paths])


def _is_plain(value: Value) -> bool:
    return not isinstance(value, Seq | Table | FuncValue)


def _summary(function: FuncValue, bound: list[tuple[str, Value]], frame: Frame) -> Condition:
    key = (function.module, function.symbol, tuple(bound), frame.run.selecting)
    memo = frame.run.session.summaries
    if key not in memo:
        memo[key] = Opaque(function.symbol, function.module, function.node.lineno)
        memo[key] = _summarise(function, bound, frame)
    return memo[key]


def _summarise(function: FuncValue, bound: list[tuple[str, Value]], frame: Frame) -> Condition:
    def replay(trace: Trace) -> Condition:
        trace.assume(frame.run.session.assumed)
        run = frame.run.sub_run(trace, selecting=frame.run.selecting)
        inner = Frame(run, frame.module, depth=frame.depth)
        where = frame.run.table.path_of(function.module)
        try:
            return truth(follow(function, bound, inner))
        except Raised as leave:
            return Opaque(f"{function.symbol} raises {leave.kind}", where, leave.line)
        except UnreadableError as error:
            return Opaque(f"{function.symbol}: {error.why}", where, error.line)

    return combine(explore(replay))


def _construct(
    owner: ClassValue, arguments: list[Value], keywords: dict[str, Value], frame: Frame
) -> Value:
    if classes.is_enum(frame.run, owner):
        return _enum_by_value(owner, arguments, frame)
    scalars = [scalar_of(value) for value in arguments]
    if keywords or not all(known for known, _ in scalars):
        return Instance(owner, ("…",))
    return Instance(owner, tuple(scalar for _, scalar in scalars))


def _enum_by_value(owner: ClassValue, arguments: list[Value], frame: Frame) -> Value:
    pairs: list[tuple[Value, Value]] = [
        (classes.enum_value(frame.run, item), item)
        for item in enum_members(owner, frame)
        if isinstance(item, EnumValue)
    ]
    found = table_get(Table(pairs), arguments[0], frame) if arguments else None
    if found is None:
        raise Raised("ValueError", f"no valid {owner.name}", 0)
    return found
