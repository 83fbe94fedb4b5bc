"""Every option of ``vllm serve``: the calls that register them are followed, none is made."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import Option, Source
from sparkproof.core.unknown import Unknown
from sparkproof.formats.python_source import brief, dotted_name
from sparkproof.release.annotations import read_hints
from sparkproof.release.configs import all_fields, read_field
from sparkproof.release.drafts import Draft, Sizes, deprecation, draft_of, read_sizes, set_converter
from sparkproof.release.keywords import (
    inverse_prefixes,
    read_text,
    set_action,
    set_arity,
    set_default,
)
from sparkproof.release.names import constant, definition, find_class, lineage
from sparkproof.release.symbolic.modules import Module, ModuleTable

TOPIC = "release/options"
_ENGINE = "vllm.engine.arg_utils"
_MAX_DEPTH = 12


@dataclass
class Group:
    """The options that are made of one configuration class, by field."""

    name: str
    drafts: dict[str, Draft]
    sources: dict[str, Source]


@dataclass
class Scope:
    """One function that is being followed."""

    module: Module
    names: dict[str, object] = field(default_factory=dict)
    cls: tuple[Module, ast.ClassDef] | None = None
    home: ast.ClassDef | None = None
    depth: int = 0


class ArgumentReader:
    """Follows the functions that register options, statement by statement."""

    def __init__(self, table: ModuleTable) -> None:
        self._table = table
        self._groups: dict[tuple[str, str], Group] = {}
        engine = table.get(_ENGINE)
        self._sizes = read_sizes(engine) if engine is not None else Sizes()
        self._inverse = inverse_prefixes(table)
        self._dashed = _dashed_fields(engine) if engine is not None else frozenset()
        self.options: dict[str, Option] = {}
        self.unknowns: list[Unknown] = []

    def read(self, places: tuple[str, ...]) -> None:
        """Follow the first of the places that the release has.

        Raises:
            FormatError: it has none, or the function registers nothing.
        """
        for place in places:
            module_name, name = place.split(":")
            module = self._table.get(module_name)
            for statement in module.bindings.get(name, []) if module is not None else []:
                if isinstance(statement, ast.FunctionDef) and module is not None:
                    self._function(Scope(module), statement)
                    if not self.options:
                        raise FormatError("registers no option", where=f"{module.path}:{name}")
                    return
        where = self._table.path_of(places[0].split(":")[0])
        raise FormatError("no function that registers the options", where=where)

    # --- statements -------------------------------------------------------------------

    def _function(self, scope: Scope, node: ast.FunctionDef) -> object:
        if scope.depth > _MAX_DEPTH:
            raise FormatError("options are registered too deeply", where=scope.module.path)
        return self._block(scope, node.body)

    def _block(self, scope: Scope, body: list[ast.stmt]) -> object:
        for statement in body:
            if isinstance(statement, ast.Return):
                return self._value(scope, statement.value) if statement.value else None
            self._statement(scope, statement)
        return None

    def _statement(self, scope: Scope, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            self._assign(scope, node)
        elif isinstance(node, ast.Expr):
            self._value(scope, node.value)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self._edit(scope, target, None)
        elif isinstance(node, ast.If):
            self._block(scope, node.body)
            self._block(scope, node.orelse)
        elif isinstance(node, ast.For):
            self._for(scope, node)
        elif isinstance(node, ast.With | ast.Try):
            self._block(scope, node.body)

    def _assign(self, scope: Scope, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name):
            scope.names[target.id] = self._value(scope, node.value)
        elif isinstance(target, ast.Subscript):
            self._edit(scope, target, node.value)

    def _edit(self, scope: Scope, target: ast.expr, value: ast.expr | None) -> None:
        """``kwargs["field"]["key"] = value``, or its removal."""
        key = _key(target)
        draft = self._value(scope, target.value) if isinstance(target, ast.Subscript) else None
        if isinstance(draft, Draft) and key:
            self._set(scope, draft, key, value)

    def _for(self, scope: Scope, node: ast.For) -> None:
        """``for key, value in kwargs.items(): group.add_argument(f"--{key}", **value)``."""
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            return
        group = self._value(scope, call.func.value)
        adds = any(
            isinstance(inner, ast.Call) and dotted_name(inner.func).endswith("add_argument")
            for inner in ast.walk(node)
        )
        if isinstance(group, Group) and call.func.attr == "items" and adds:
            for name, draft in group.drafts.items():
                flag = "--" + name.replace("_", "-")
                self._register([flag], draft, group.sources[name])

    # --- expressions ------------------------------------------------------------------

    def _value(self, scope: Scope, node: ast.expr) -> object:
        if isinstance(node, ast.Name):
            return scope.names.get(node.id)
        if isinstance(node, ast.Subscript):
            owner, key = self._value(scope, node.value), _key(node)
            if isinstance(owner, Group):
                return owner.drafts.get(key)
            return None
        if isinstance(node, ast.Call):
            return self._call(scope, node)
        return None

    def _call(self, scope: Scope, node: ast.Call) -> object:
        name = dotted_name(node.func)
        last = name.split(".")[-1] if name else getattr(node.func, "attr", "")
        if last == "get_kwargs" and node.args:
            return self._group(scope, node.args[0])
        if last == "add_argument":
            self._add_argument(scope, node)
        elif last == "remove" and isinstance(node.func, ast.Attribute) and node.args:
            self._remove(scope, node)
        elif last in ("add_cli_args", "add_async_args") or last.startswith("_customize"):
            return self._follow(scope, node, last)
        return None

    def _remove(self, scope: Scope, node: ast.Call) -> None:
        """``kwargs["field"]["choices"].remove(NAME)``."""
        assert isinstance(node.func, ast.Attribute)
        target = node.func.value
        if isinstance(target, ast.Subscript) and _key(target) == "choices":
            draft = self._value(scope, target.value)
            known, value = constant(self._table, scope.module, node.args[0])
            if isinstance(draft, Draft) and known:
                draft.choices = [item for item in draft.choices if item != value]

    def _follow(self, scope: Scope, node: ast.Call, name: str) -> object:
        assert isinstance(node.func, ast.Attribute)
        owner = node.func.value
        found = self._method(scope, owner, name)
        if found is None:
            where = f"{scope.module.path}:{node.lineno}"
            why = f"`{brief(node.func)}` is not in the artifact"
            self.unknowns.append(Unknown(where=where, why=why, topic=TOPIC))
            return self._value(scope, node.args[0]) if node.args else None
        (home, function), holder, cls = found
        inner = Scope(home, cls=cls, home=holder, depth=scope.depth + 1)
        skip = 0 if _is_static(function) else 1
        parameters = [item.arg for item in function.args.args][skip:]
        for parameter, argument in zip(parameters, node.args, strict=False):
            inner.names[parameter] = self._value(scope, argument)
        return self._function(inner, function)

    def _method(
        self, scope: Scope, owner: ast.expr, name: str
    ) -> tuple[tuple[Module, ast.FunctionDef], ast.ClassDef, tuple[Module, ast.ClassDef]] | None:
        """The method, the class that holds it, and the class it is called for."""
        is_super = isinstance(owner, ast.Call) and dotted_name(owner.func) == "super"
        cls = scope.cls if is_super or dotted_name(owner) == "cls" else None
        cls = cls or find_class(self._table, scope.module, dotted_name(owner))
        if cls is None:
            return None
        line = lineage(self._table, *cls)
        if is_super:
            position = next((i for i, item in enumerate(line) if item[1] is scope.home), -1)
            line = line[position + 1 :]
        for home, holder in line:
            for statement in holder.body:
                if isinstance(statement, ast.FunctionDef) and statement.name == name:
                    return (home, statement), holder, cls
        return None

    # --- groups and options -----------------------------------------------------------

    def _group(self, scope: Scope, node: ast.expr) -> Group | None:
        name = dotted_name(node)
        cls = scope.cls if name == "cls" else find_class(self._table, scope.module, name)
        if cls is None:
            where = f"{scope.module.path}:{node.lineno}"
            why = f"`{name}` is no class of the artifact"
            self.unknowns.append(Unknown(where=where, why=why, topic=TOPIC))
            return None
        module, statement = cls
        key = (module.name, statement.name)
        if key not in self._groups:
            drafts: dict[str, Draft] = {}
            sources: dict[str, Source] = {}
            for item in all_fields(self._table, module, statement):
                read, hints = read_field(self._table, item)
                drafts[item.name] = draft_of(read, hints, item.doc, self._sizes)
                drafts[item.name].group = statement.name
                sources[item.name] = item.module.source(item.node, statement.name)
            self._groups[key] = Group(statement.name, drafts, sources)
        return self._groups[key]

    def _add_argument(self, scope: Scope, node: ast.Call) -> None:
        names = [
            item.value
            for item in node.args
            if isinstance(item, ast.Constant) and isinstance(item.value, str)
        ]
        if len(names) != len(node.args) or not names:
            if not any(isinstance(item, ast.Starred) for item in node.args):
                self._unread(scope, node, f"`{brief(node)}` names no option")
            return
        if not names[0].startswith("-"):
            return
        draft = Draft()
        for keyword in node.keywords:
            if keyword.arg is None:
                found = self._spread(scope, keyword.value)
                if found is None:
                    what = f"`{brief(keyword.value)}` of {names[0]}"
                    self._unread(scope, node, f"{what} is not known")
                draft = found or draft
        for keyword in node.keywords:
            if keyword.arg is not None:
                self._set(scope, draft, keyword.arg, keyword.value)
        self._register(names, draft, scope.module.source(node, "add_argument"))

    def _spread(self, scope: Scope, node: ast.expr) -> Draft | None:
        """What ``**node`` gives: a field's keywords, or a dict of them with changes."""
        if not isinstance(node, ast.Dict):
            found = self._value(scope, node)
            return found.copy() if isinstance(found, Draft) else None
        draft: Draft | None = None
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                draft = self._spread(scope, value)
            elif draft is not None and isinstance(key, ast.Constant):
                self._set(scope, draft, str(key.value), value)
        return draft

    def _unread(self, scope: Scope, node: ast.AST, why: str) -> None:
        where = f"{scope.module.path}:{getattr(node, 'lineno', 0)}"
        self.unknowns.append(Unknown(where=where, why=why, topic=TOPIC))

    def _set(self, scope: Scope, draft: Draft, key: str, value: ast.expr | None) -> None:
        if key == "default":
            set_default(self._table, scope.module, draft, value)
        elif key == "type" and value is not None:
            set_converter(draft, value)
        elif key == "nargs":
            set_arity(draft, value)
        elif key == "action" and value is not None:
            set_action(draft, value)
        elif key == "choices" and value is not None:
            self._set_choices(scope, draft, value)
        elif key == "deprecated":
            draft.deprecated = draft.deprecated or "marked as deprecated"
        elif key == "help" and value is not None:
            draft.deprecated = draft.deprecated or deprecation(
                read_text(self._table, scope.module, value)
            )

    def _set_choices(self, scope: Scope, draft: Draft, node: ast.expr) -> None:
        if isinstance(node, ast.Call) and dotted_name(node.func) == "get_args" and node.args:
            values = read_hints(self._table, scope.module, node.args[0]).values
            draft.choices, draft.closed = list(values), bool(values)
            return
        if isinstance(node, ast.Call) and dotted_name(node.func) in ("list", "sorted", "tuple"):
            node = node.args[0] if node.args else node
        if isinstance(node, ast.Name):
            found = definition(self._table, scope.module, node.id)
            inner = getattr(found.statement, "value", None) if found is not None else None
            node = inner if isinstance(inner, ast.expr) else node
        elements = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else None
        if elements is not None:
            read = [constant(self._table, scope.module, item) for item in elements]
            draft.choices = [str(value) for known, value in read if known]
            draft.closed = all(known for known, _ in read)
            return
        draft.choices = [
            str(item.value)
            for inner in ast.walk(node)
            if isinstance(inner, ast.List)
            for item in inner.elts
            if isinstance(item, ast.Constant)
        ]
        draft.closed = False

    def _register(self, names: list[str], draft: Draft, source: Source) -> None:
        flag = next((name for name in names if name.startswith("--")), names[0])
        negative = self._negatives(names) if draft.switch == "boolean" else []
        self.options[flag] = Option(
            flag=flag,
            choices=tuple(draft.choices),
            default=draft.default,
            source=source,
            closed=draft.closed,
            normalises=draft.normalises,
            names=(*names, *negative),
            negative=tuple(negative),
            value=draft.value,
            arity=draft.arity,
            nullable=draft.nullable,
            group=draft.group,
            field=draft.key,
            computed=draft.computed,
            config=draft.config,
            deprecated=draft.deprecated,
            dashed=draft.key in self._dashed,
        )

    def _negatives(self, names: list[str]) -> list[str]:
        long = [name for name in names if name.startswith("--")]
        found = ["--no-" + name.removeprefix("--") for name in long]
        for name in long:
            for prefix, inverse in self._inverse.items():
                if name.startswith(prefix):
                    found.append(inverse + name.removeprefix(prefix))
        return found


def _dashed_fields(engine: Module) -> frozenset[str]:
    """Objects of which the engine turns hyphens in the keys into underscores (`create_…`)."""
    return frozenset(
        item.name.removeprefix("create_")
        for owner in engine.tree.body
        if isinstance(owner, ast.ClassDef)
        for item in owner.body
        if isinstance(item, ast.FunctionDef)
        and item.name.startswith("create_")
        and "replace('-', '_')" in ast.unparse(item)
    )


def _key(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return ""


def _is_static(node: ast.FunctionDef) -> bool:
    return any(dotted_name(item) == "staticmethod" for item in node.decorator_list)
