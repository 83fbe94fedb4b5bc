"""Selection functions with everything behind them: members, classes, flags, order, branches."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from sparkproof.core.condition import Condition, Scalar, Setting
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import (
    Branch,
    Caller,
    CliName,
    Dispatch,
    Member,
    Oracle,
    Source,
)
from sparkproof.core.unknown import Unknown
from sparkproof.facts.release_layout import OracleLayout
from sparkproof.formats.python_source import dotted_name
from sparkproof.release.reading import (
    constant_defaults,
    find_function,
    guarded,
    read_branches,
    run_function,
)
from sparkproof.release.symbolic import classes
from sparkproof.release.symbolic.expressions import enum_members
from sparkproof.release.symbolic.interpreter import Run, Session
from sparkproof.release.symbolic.modules import Module
from sparkproof.release.symbolic.trace import Trace
from sparkproof.release.symbolic.values import (
    ClassValue,
    EnumValue,
    Foreign,
    FuncValue,
    Seq,
    Table,
    Value,
    text_of,
)

T = TypeVar("T")
_LOADERS = "model_executor/layers/"


class OracleReader:
    """Reads one oracle; what can't be read is kept as an `Unknown` of that oracle."""

    def __init__(self, session: Session, layout: OracleLayout) -> None:
        self._session = session
        self._layout = layout
        self._unknowns: list[Unknown] = []
        self._where = ""

    def read(self) -> Oracle | Unknown | None:
        """The oracle, why it can't be read, or None where the release is older than it."""
        layout = self._layout
        try:
            function = next(filter(None, map(self._function, layout.places)), None)
        except FormatError as error:
            return Unknown.from_error(error, f"select/{layout.id}")
        if function is None and self._is_older():
            return None
        if function is None:
            return self._unknown(self._missing_place(), "no selection function where it is known")
        module = self._session.table.get(function.module)
        assert module is not None
        self._where = f"{module.path}:{function.symbol}"
        if layout.needs_list and layout.listed not in module.bindings:
            return self._unknown(f"{module.path}:{layout.listed}", "no list of candidates")
        return Oracle(
            id=layout.id,
            source=module.source(function.node, function.symbol),
            flag=layout.flag,
            members=self._try(lambda: self._members(module), ()),
            dispatch=self._try(lambda: self._dispatch(module), ()),
            cli=self._try(lambda: self._cli(module), ()),
            listed=self._try(lambda: self._listed(module, function), ()),
            branches=self._try(lambda: self._branches(function), ()),
            arguments=constant_defaults(function),
            assumed=self._assumed(),
            callers=self._try(lambda: self._callers(function), ()),
            unknowns=tuple(self._unknowns),
        )

    def _function(self, place: str) -> FuncValue | None:
        module, name = place.split(":")
        return find_function(self._session, module, name)

    def _is_older(self) -> bool:
        """Whether nothing that could ask the oracle mentions it."""
        token, table = self._layout.token, self._session.table
        if not token:
            return False
        module = self._layout.places[0].split(":")[0]
        if token in table.text(module):
            return False
        if "." not in token:
            return True
        return not any(token in table.text_at(path) for path in table.sources(_LOADERS))

    def _missing_place(self) -> str:
        module, name = self._layout.places[0].split(":")
        return f"{self._session.table.path_of(module)}:{name}"

    def _unknown(self, where: str, why: str) -> Unknown:
        return Unknown(where=where, why=why, topic=f"select/{self._layout.id}")

    def _try(self, read: Callable[[], T], fallback: T) -> T:
        try:
            with guarded(self._where):
                return read()
        except FormatError as error:
            self._unknowns.append(Unknown.from_error(error, f"select/{self._layout.id}"))
            return fallback

    def _assumed(self) -> tuple[tuple[str, Scalar], ...]:
        none: list[tuple[str, Scalar]] = [(path, None) for path in self._layout.assume_none]
        return (*self._layout.assume.items(), *none)

    def _branches(self, function: FuncValue) -> tuple[Branch, ...]:
        assume: dict[Condition, bool] = {
            Setting(path): value for path, value in self._layout.assume.items()
        }
        for path in self._layout.assume_none:
            assume[Setting(path, "==", None)] = True
            assume[Setting(path)] = False
        branches = read_branches(self._session, function, assume)
        self._ask_selected(function, branches)
        return branches

    def _ask_selected(self, function: FuncValue, branches: tuple[Branch, ...]) -> None:
        """Also classes that are taken without a walk have a rule of their own."""
        module = self._session.table.get(function.module)
        run = Run(self._session, Trace([]))
        for name in {branch.implementation for branch in branches if branch.selected}:
            if module is not None and name in module.bindings:
                value = run.module_name(module.name, name)
                if isinstance(value, ClassValue):
                    self._session.asked.setdefault((name, self._layout.ask), value)

    def _members(self, module: Module) -> tuple[Member, ...]:
        if not self._layout.enum or self._layout.enum not in module.bindings:
            return self._kernels(module)
        run = Run(self._session, Trace([]))
        owner = run.module_name(module.name, self._layout.enum)
        if not isinstance(owner, ClassValue) or not classes.is_enum(run, owner):
            raise FormatError("no enumeration", where=f"{module.path}:{self._layout.enum}")
        members = read_members(run, owner)
        if not self._layout.shared_enum:
            return members
        mine = {*_names(run.module_name(module.name, self._layout.listed))}
        mine |= {name for item in self._cli(module) for name in item.targets}
        return tuple(item for item in members if item.name in mine)

    def _kernels(self, module: Module) -> tuple[Member, ...]:
        """Where there is no enumeration: listed classes, and their like that a flag names."""
        if self._layout.listed not in module.bindings:
            return ()
        run = Run(self._session, Trace([]))
        listed = _classes_in(run.module_name(module.name, self._layout.listed))
        own = {item.name for item in listed}
        bases = {
            base
            for item in listed
            for base in classes.lineage(run, item)[1:2]
            if base.name not in own
        }
        node = self._cli_table(module)
        named = _classes_in(run.evaluate(node, run.frame(module))) if node is not None else []
        found = dict.fromkeys(listed)
        found.update(
            dict.fromkeys(item for item in named if bases & set(classes.lineage(run, item)))
        )
        for item in found:
            self._session.asked.setdefault((item.name, self._layout.ask), item)
        return tuple(
            Member(item.name, item.name, self._source_of(run, module, item)) for item in found
        )

    def _source_of(self, run: Run, module: Module, item: ClassValue) -> Source:
        found = classes.class_node(run, item)
        return found[0].source(found[1], item.name) if found else module.source(None, item.name)

    def _dispatch(self, module: Module) -> tuple[Dispatch, ...]:
        if not self._layout.dispatch or self._layout.dispatch not in module.bindings:
            return self._stand_ins(module)
        function = find_function(self._session, module.name, self._layout.dispatch)
        run = Run(self._session, Trace([]))
        owner = run.module_name(module.name, self._layout.enum)
        if function is None or not isinstance(owner, ClassValue):
            raise FormatError("no class dispatch", where=f"{module.path}:{self._layout.dispatch}")
        mine = {item.name for item in self._members(module)}
        found = [
            self._dispatched(function, item)
            for item in enum_members(owner, run.frame(module))
            if isinstance(item, EnumValue) and item.name in mine
        ]
        return tuple(item for item in found if item is not None)

    def _stand_ins(self, module: Module) -> tuple[Dispatch, ...]:
        """Classes that other releases have for the same backends, where this one has none."""
        if self._layout.enum not in module.bindings:
            return ()
        source = module.source(module.bindings[self._layout.enum][-1], self._layout.enum)
        return tuple(
            Dispatch(backend, (name,), source) for backend, name in self._layout.stands_for.items()
        )

    def _dispatched(self, function: FuncValue, member: EnumValue) -> Dispatch | None:
        parameter = function.node.args.args[0].arg
        paths = run_function(self._session, function, {parameter: member})
        source = self._session.table.path_of(function.module)
        for path in paths:
            names = _class_names(path.outcome.value)
            if names:
                place = self._session.table.get(function.module)
                assert place is not None
                return Dispatch(member.name, names, place.source(function.node, function.symbol))
            if path.outcome.value is not None:
                raise FormatError(
                    f"{member.name} has no class", where=f"{source}:{function.symbol}"
                )
        return None

    def _cli(self, module: Module) -> tuple[CliName, ...]:
        name = self._layout.cli
        if not name or name not in module.bindings:
            return ()
        run = Run(self._session, Trace([]))
        node = self._cli_table(module)
        if node is None:
            raise FormatError("no mapping of flag values", where=f"{module.path}:{name}")
        table = run.evaluate(node, run.frame(module))
        assert isinstance(table, Table)
        source = module.source(node, name)
        return tuple(CliName(text_of(key), _names(value), source) for key, value in table.items)

    def _cli_table(self, module: Module) -> ast.Dict | None:
        found = module.bindings.get(self._layout.cli)
        return _mapping_in(found[-1]) if found else None

    def _callers(self, function: FuncValue) -> tuple[Caller, ...]:
        found: list[Caller] = []
        for method, places in self._layout.callers.items():
            modules = filter(None, map(self._session.table.get, places))
            calls = [(item, node) for item in modules for node in _calls(item, function.node.name)]
            if calls:
                module, node = calls[0]
                fixed = _constant_keywords(node)
                found.append(Caller(method, fixed, module.source(node, function.node.name)))
        return tuple(found)

    def _listed(self, module: Module, function: FuncValue) -> tuple[str, ...]:
        run = Run(self._session, Trace([]))
        if self._layout.listed in module.bindings:
            value = run.module_name(module.name, self._layout.listed)
            if isinstance(value, Table):
                value = next(
                    (v for k, v in value.items if isinstance(k, EnumValue) and k.name == "CUDA"),
                    Seq("list"),
                )
            return _names(value)
        return _longest_list(module, function.node)


def read_members(run: Run, owner: ClassValue) -> tuple[Member, ...]:
    """The members of an enumeration, with other names for one marked."""
    found = classes.class_node(run, owner)
    if found is None:
        return ()
    module, node = found
    members: list[Member] = []
    for statement in node.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                member = classes.enum_member(run, owner, target.id)
                alias = member.name if member.name != target.id else ""
                label = text_of(classes.enum_value(run, member))
                members.append(
                    Member(target.id, label, module.source(statement, owner.name), alias_of=alias)
                )
    return tuple(members)


def _calls(module: Module, name: str) -> list[ast.Call]:
    """Calls of a function by that name, as they stand in the file."""
    found = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and dotted_name(node.func).split(".")[-1] == name
    ]
    return sorted(found, key=lambda node: node.lineno)


def _constant_keywords(node: ast.Call) -> tuple[tuple[str, Scalar], ...]:
    return tuple(
        (item.arg, item.value.value)
        for item in node.keywords
        if item.arg
        and isinstance(item.value, ast.Constant)
        and isinstance(item.value.value, str | int | float | bool | None)
    )


def _class_names(value: Value | None) -> tuple[str, ...]:
    if isinstance(value, ClassValue):
        return (value.name,)
    if isinstance(value, Seq):
        return tuple(name for item in value.values for name in _class_names(item))
    if isinstance(value, Foreign) and not value.called:
        return (value.name.rsplit(".", 1)[-1],)
    return ()


def _classes_in(value: Value) -> list[ClassValue]:
    """Classes in a list, or in a dict's lists; of a dict by platform, CUDA's."""
    if isinstance(value, ClassValue):
        return [value]
    if isinstance(value, Seq):
        return [name for item in value.values for name in _classes_in(item)]
    if isinstance(value, Table):
        rows = value.items
        cuda = [v for k, v in rows if isinstance(k, EnumValue) and k.name == "CUDA"]
        return [name for v in cuda or [v for _, v in rows] for name in _classes_in(v)]
    return []


def _names(value: Value) -> tuple[str, ...]:
    if isinstance(value, Seq):
        return tuple(name for item in value.values for name in _names(item))
    if isinstance(value, EnumValue | ClassValue):
        return (value.name,)
    raise FormatError(f"`{text_of(value)}` names no backend")


def _mapping_in(statement: ast.stmt) -> ast.Dict | None:
    for node in ast.walk(statement):
        if isinstance(node, ast.Dict) and node.keys and all(map(_is_text, node.keys)):
            return node
    return None


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _longest_list(module: Module, function: ast.FunctionDef) -> tuple[str, ...]:
    """The longest list of enumeration members in the function or one it calls in its module."""
    called = {
        node.func.id
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    helpers = [
        statement
        for statement in module.tree.body
        if isinstance(statement, ast.FunctionDef) and statement.name in called
    ]
    found = [_attribute_names(node) for body in (function, *helpers) for node in ast.walk(body)]
    return max(found, key=len, default=())


def _attribute_names(node: ast.AST) -> tuple[str, ...]:
    if not isinstance(node, ast.List):
        return ()
    names = tuple(item.attr for item in node.elts if isinstance(item, ast.Attribute))
    return names if len(names) == len(node.elts) else ()
