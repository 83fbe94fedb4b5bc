"""What the configuration decides by itself: async scheduling, model runner, batch, graphs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import NamedTuple

from sparkproof.core.condition import FALSE, TRUE, Condition, all_of, negate
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_parts import BatchTier, ConfigRule, RuleCase
from sparkproof.formats.python_calls import wording
from sparkproof.formats.python_source import brief, dotted_name
from sparkproof.release.conditions import Scope, read_test, setting_path
from sparkproof.release.names import constant, find_class, method
from sparkproof.release.symbolic.modules import Module, ModuleTable

_CONFIG = ("vllm.config.vllm", "VllmConfig")
_ENGINE = ("vllm.engine.arg_utils", "EngineArgs")
_ASYNC = "scheduler_config.async_scheduling"
_SERVER, _OFFLINE = "OPENAI_API_SERVER", "LLM_CLASS"
_MAX_DEPTH = 30


class Case(NamedTuple):
    """One way out of a body: its condition, what follows, and the wording with it."""

    when: Condition
    outcome: str
    reason: str


class Body:
    """The ways out of one body of code, in order: the first whose condition holds decides."""

    def __init__(self, scope: Scope, ends: Callable[[Body, ast.stmt, Condition], bool]) -> None:
        self.scope = scope
        self.cases: list[Case] = []
        self._ends = ends
        self._said = ""

    def read(self, statements: Iterable[ast.stmt], guard: Condition = TRUE, depth: int = 0) -> None:
        """Follow statements under a guard."""
        if depth > _MAX_DEPTH:
            raise FormatError("code is nested too deeply", where=self.scope.module.path)
        for statement in statements:
            if self._ends(self, statement, guard):
                return
            self._statement(statement, guard, depth)

    def _statement(self, node: ast.stmt, guard: Condition, depth: int) -> None:
        if isinstance(node, ast.If):
            test = read_test(self.scope, node.test)
            before = {name: list(values) for name, values in self.scope.names.items()}
            self.read(node.body, all_of((guard, test)), depth + 1)
            self._said = ""
            self._visible_else(node, guard, test, before, depth)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            self._assign(node, guard)
        elif isinstance(node, ast.Try | ast.With):
            self.read(node.body, guard, depth + 1)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self.note(node.value)

    def _visible_else(
        self,
        node: ast.If,
        guard: Condition,
        test: Condition,
        before: dict[str, list[tuple[Condition, ast.expr]]],
        depth: int,
    ) -> None:
        """The other branch sees the names as they were; both branches' values stay afterwards."""
        after = self.scope.names
        self.scope.names = {name: list(values) for name, values in before.items()}
        self.read(node.orelse, all_of((guard, negate(test))), depth + 1)
        other = self.scope.names
        self.scope.names = {
            name: _joined(before.get(name, []), after.get(name, []), other.get(name, []))
            for name in {**after, **other}
        }
        self._said = ""

    def _assign(self, node: ast.Assign | ast.AnnAssign, guard: Condition) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and node.value is not None:
                self.scope.bind(target.id, guard, node.value)

    def note(self, call: ast.Call) -> None:
        """Keep what a log call says: it goes with the way out that follows."""
        if "logger" in dotted_name(call.func) and call.args:
            self._said = wording(ast.unparse(call.args[0]))

    def add(self, when: Condition, outcome: str, reason: str = "") -> None:
        """One way out; those that can't be are left out."""
        if when != FALSE:
            self.cases.append(Case(when, outcome, reason or self._said))
        self._said = ""


def _joined(
    before: list[tuple[Condition, ast.expr]],
    one: list[tuple[Condition, ast.expr]],
    two: list[tuple[Condition, ast.expr]],
) -> list[tuple[Condition, ast.expr]]:
    """Values of two branches, newest first, then those from before both."""
    known = {id(value) for _, value in before}
    new = [item for branch in (one, two) for item in branch if id(item[1]) not in known]
    replaced = len(one) == 1 and len(two) == 1 and one[0][0] == TRUE == two[0][0] and new
    return new if replaced else [*new, *before]


def _method(
    table: ModuleTable, place: tuple[str, str], name: str
) -> tuple[Module, ast.FunctionDef]:
    module = table.get(place[0])
    where = table.path_of(place[0])
    if module is None:
        raise FormatError("no such module, or not readable", where=where)
    found = find_class(table, module, place[1])
    function = method(table, *found, name) if found is not None else None
    if function is None:
        raise FormatError(f"no `{name}`", where=f"{where}:{place[1]}")
    return function


def _rule(rule: str, body: Body, node: ast.AST, symbol: str) -> ConfigRule:
    if not body.cases:
        where = f"{body.scope.module.path}:{symbol}"
        raise FormatError("decides nothing that is followed", where=where)
    return ConfigRule(
        id=rule,
        cases=tuple(RuleCase(*case) for case in body.cases),
        source=body.scope.module.source(node, symbol),
        lists=tuple(body.scope.lists.values()),
    )


# --- V2 model runner ------------------------------------------------------------------


def _returns(body: Body, node: ast.stmt, guard: Condition) -> bool:
    """``return X`` and ``raise X`` end the body."""
    if isinstance(node, ast.Raise):
        body.add(guard, "error", _raised(node))
        return True
    if not isinstance(node, ast.Return):
        return False
    value = node.value
    if isinstance(value, ast.Constant):
        body.add(guard, {True: "on", False: "off"}.get(value.value is True, str(value.value)))
    elif value is not None:
        path = setting_path(body.scope, value) if isinstance(value, ast.Name) else ""
        if path.startswith("envs."):
            body.add(guard, f"as {path.removeprefix('envs.')} says")
        else:
            body.add(all_of((guard, read_test(body.scope, value))), "on")
            body.add(guard, "off")
    return True


def _raised(node: ast.Raise) -> str:
    call = node.exc
    if isinstance(call, ast.Call) and call.args:
        return wording(ast.unparse(call.args[0]))
    return brief(call) if call is not None else ""


def _appends(body: Body, node: ast.stmt, guard: Condition) -> bool:
    """``unsupported.append("…")`` names one reason; the list goes on."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and dotted_name(call.func).endswith((".append", ".extend")):
        argument = call.args[0] if call.args else None
        said = wording(ast.unparse(argument)) if argument is not None else ""
        body.add(guard, "unsupported", said or brief(call))
    return isinstance(node, ast.Return)


def read_runner_rules(table: ModuleTable) -> list[ConfigRule]:
    """When the V2 model runner is used, and what it does not support.

    Raises:
        FormatError: the configuration keeps that elsewhere.
    """
    found: list[ConfigRule] = []
    for rule, name, ends in (
        ("model-runner-v2/default", "use_v2_model_runner", _returns),
        ("model-runner-v2/architectures", "_is_default_v2_model_runner_model", _returns),
        ("model-runner-v2/unsupported", "_get_v2_model_runner_unsupported_features", _appends),
        ("model-runner-v1/unsupported", "_get_v1_model_runner_unsupported_features", _appends),
    ):
        try:
            module, function = _method(table, _CONFIG, name)
        except FormatError:
            continue
        body = Body(Scope(table, module), ends)
        body.read(function.body)
        found.append(_rule(rule, body, function, f"VllmConfig.{name}"))
    if not any(item.id == "model-runner-v2/default" for item in found):
        found.extend(_switch_only(table))
    return found


def _switch_only(table: ModuleTable) -> list[ConfigRule]:
    """Before there was a rule, the variable alone decided (0.19.1 to 0.21.0)."""
    module, function = _method(table, _CONFIG, "__post_init__")
    for node in ast.walk(function):
        if dotted_name(node) == "envs.VLLM_USE_V2_MODEL_RUNNER":
            case = RuleCase(TRUE, "as VLLM_USE_V2_MODEL_RUNNER says")
            source = module.source(node, "VllmConfig.__post_init__")
            return [ConfigRule("model-runner-v2/default", (case,), source)]
    raise FormatError("no rule for the V2 model runner", where=module.path)


# --- asynchronous scheduling ----------------------------------------------------------


def read_async_rules(table: ModuleTable) -> list[ConfigRule]:
    """What happens where async scheduling is left open, and where it is asked for.

    Raises:
        FormatError: the configuration decides that elsewhere, or in another shape.
    """
    module, function = _method(table, _CONFIG, "__post_init__")
    position, statement = _deciding(function)
    scope = Scope(table, module)
    lead = Body(scope, lambda *_: False)
    lead.read(function.body[max(0, position - 12) : position])
    found: list[ConfigRule] = []
    symbol = "VllmConfig.__post_init__"
    for rule, statements in (
        ("async-scheduling/forced", statement.body),
        ("async-scheduling/default", _else_of(statement)),
    ):
        body = Body(scope, _sets_async)
        body.read(statements)
        if rule.endswith("forced"):
            body.add(TRUE, "on")
        found.append(_rule(rule, body, statement, symbol))
    return found


def _deciding(function: ast.FunctionDef) -> tuple[int, ast.If]:
    """``if async: … elif async is None: …`` at the top of the function."""
    for position, node in enumerate(function.body):
        if isinstance(node, ast.If) and dotted_name(node.test) == f"self.{_ASYNC}":
            inner = node.orelse[0] if node.orelse else None
            if isinstance(inner, ast.If) and _ASYNC in ast.unparse(inner.test):
                return position, node
    raise FormatError(
        "no decision on async scheduling", where="vllm/config/vllm.py:VllmConfig.__post_init__"
    )


def _else_of(node: ast.If) -> list[ast.stmt]:
    inner = node.orelse[0]
    return inner.body if isinstance(inner, ast.If) else []


def _sets_async(body: Body, node: ast.stmt, guard: Condition) -> bool:
    if isinstance(node, ast.Raise):
        body.add(guard, "error", _raised(node))
        return True
    if isinstance(node, ast.Assign) and dotted_name(node.targets[0]) == f"self.{_ASYNC}":
        value = node.value.value if isinstance(node.value, ast.Constant) else None
        body.add(guard, {True: "on", False: "off"}.get(bool(value), brief(node.value)))
        return True
    return False


# --- batch defaults -------------------------------------------------------------------


def read_batch_tiers(table: ModuleTable) -> tuple[BatchTier, ...]:
    """Default batch size and sequences by device, the first that holds.

    Raises:
        FormatError: they are decided elsewhere, or in another shape.
    """
    module, function = _method(table, _ENGINE, "get_batch_defaults")
    scope = Scope(table, module)
    Body(scope, lambda *_: False).read(function.body)
    where = f"{module.path}:EngineArgs.get_batch_defaults"
    tokens = _by_guard(scope, "default_max_num_batched_tokens", where)
    sequences = _by_guard(scope, "default_max_num_seqs", where)
    if [guard for guard, _, _ in tokens] != [guard for guard, _, _ in sequences]:
        raise FormatError("tokens and sequences go by different tests", where=where)
    symbol = "EngineArgs.get_batch_defaults"
    return tuple(
        BatchTier(guard, one[0], two[0], one[1], two[1], module.source(node, symbol))
        for (guard, one, node), (_, two, _) in zip(tokens, sequences, strict=True)
    )


def _by_guard(
    scope: Scope, name: str, where: str
) -> list[tuple[Condition, tuple[int, int], ast.expr]]:
    found: list[tuple[Condition, tuple[int, int], ast.expr]] = []
    for guard, value in scope.names.get(name, []):
        if guard == FALSE:
            continue
        if not isinstance(value, ast.Dict):
            raise FormatError(f"`{name}` is no table", where=where, line=value.lineno)
        numbers: dict[str, int] = {}
        for key, item in zip(value.keys, value.values, strict=True):
            known, number = constant(scope.table, scope.module, item)
            if key is not None and known and isinstance(number, int):
                numbers[dotted_name(key).split(".")[-1]] = number
        if _SERVER not in numbers or _OFFLINE not in numbers:
            raise FormatError(f"`{name}` names no server default", where=where, line=value.lineno)
        found.append((guard, (numbers[_SERVER], numbers[_OFFLINE]), value))
    if not found:
        raise FormatError(f"no `{name}`", where=where)
    return found
