"""Routes of the server, by following what its application registers and under which guards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_parts import Endpoint
from sparkproof.core.unknown import Unknown
from sparkproof.formats.python_source import brief, dotted_name
from sparkproof.release.names import definition
from sparkproof.release.symbolic.modules import Module, ModuleTable

TOPIC = "release/endpoints"
_METHODS = ("get", "post", "put", "delete", "patch", "head", "options", "websocket", "trace")
_DEV_MODE = "VLLM_SERVER_DEV_MODE"
_MAX_DEPTH = 15


@dataclass(frozen=True)
class _Place:
    """A function that is being followed, and what has to hold to get there."""

    module: Module
    guards: tuple[str, ...] = ()
    depth: int = 0
    local: dict[str, ast.stmt] = field(default_factory=dict)

    def under(self, guard: str) -> _Place:
        return replace(self, guards=(*self.guards, guard))


class EndpointReader:
    """Follows the functions that put routers into the application."""

    def __init__(self, table: ModuleTable) -> None:
        self._table = table
        self.found: dict[tuple[str, str, bool], Endpoint] = {}
        self.unknowns: list[Unknown] = []
        self._seen: set[tuple[str, int, tuple[str, ...]]] = set()

    def read(self, places: tuple[str, ...]) -> tuple[Endpoint, ...]:
        """All routes, by path.

        Raises:
            FormatError: there is no function that builds the application, or it has no route.
        """
        for place in places:
            module_name, name = place.split(":")
            module = self._table.get(module_name)
            for statement in module.bindings.get(name, []) if module is not None else []:
                if isinstance(statement, ast.FunctionDef) and module is not None:
                    self._function(_Place(module), statement)
                    if not self.found:
                        raise FormatError("registers no route", where=f"{module.path}:{name}")
                    return tuple(sorted(self.found.values(), key=lambda item: item.path))
        where = self._table.path_of(places[0].split(":")[0])
        raise FormatError("no function that builds the server's application", where=where)

    def _function(self, place: _Place, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        key = (place.module.path, node.lineno, place.guards)
        if key in self._seen or place.depth > _MAX_DEPTH:
            return
        self._seen.add(key)
        self._block(replace(place, local={}), node.body)

    def _block(self, place: _Place, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.If) and _leaves(statement.body):
                self._block(place.under(brief(statement.test)), statement.body)
                place = place.under(_negated(statement.test))
                self._block(place, statement.orelse)
            else:
                self._statement(place, statement)

    def _statement(self, place: _Place, node: ast.stmt) -> None:
        if isinstance(node, ast.If):
            self._expression(place, node.test)
            self._block(place.under(brief(node.test)), node.body)
            self._block(place.under(_negated(node.test)), node.orelse)
        elif isinstance(node, ast.ImportFrom):
            for item in node.names:
                place.local[item.asname or item.name] = node
        elif isinstance(node, ast.Try):
            self._block(place, [*node.body, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.With | ast.For | ast.While):
            self._block(place, node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for name in ("app", *(n for n, v in place.local.items() if isinstance(v, ast.Assign))):
                self._decorated(place, node, name)
        else:
            if isinstance(node, ast.Assign) and _is_router(node.value):
                place.local[_variable(node)] = node
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, ast.expr):
                    self._expression(place, inner)

    def _expression(self, place: _Place, node: ast.expr) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                self._call(place, inner)

    def _call(self, place: _Place, node: ast.Call) -> None:
        name = dotted_name(node.func)
        last = name.split(".")[-1]
        if last == "include_router" and node.args:
            self._include(place, node)
        elif last in ("mount", "Mount") and node.args:
            self._route(place, node.args[0], ("mount",), node)
        elif last in ("add_route", "add_api_route") and node.args:
            self._route(place, node.args[0], _methods_of(node), node)
        elif name:
            self._follow(place, name)

    def _follow(self, place: _Place, name: str) -> None:
        found = self._definition(place, name)
        if found is None:
            return
        module, statement = found
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and _registers(
            statement, name
        ):
            self._function(_Place(module, place.guards, place.depth + 1), statement)

    def _definition(self, place: _Place, name: str) -> tuple[Module, ast.stmt] | None:
        head, _, rest = name.partition(".")
        statement = place.local.get(head)
        module = place.module
        if isinstance(statement, ast.ImportFrom):
            origin = module.absolute(statement)
            real = next((i.name for i in statement.names if (i.asname or i.name) == head), head)
            home = self._table.get(f"{origin}.{real}") if rest else self._table.get(origin)
            if home is None:
                return None
            found = definition(self._table, home, rest or real)
        else:
            found = definition(self._table, module, name)
        return (found.module, found.statement) if found is not None else None

    # --- routers ----------------------------------------------------------------------

    def _include(self, place: _Place, node: ast.Call) -> None:
        name = dotted_name(node.args[0])
        if isinstance(place.local.get(name), ast.Assign):
            return
        found = self._definition(place, name) if name else None
        if found is None:
            where = f"{place.module.path}:{node.lineno}"
            if not isinstance(node.args[0], ast.Name):
                self.unknowns.append(
                    Unknown(where=where, why=f"router `{brief(node.args[0])}`", topic=TOPIC)
                )
            return
        module, statement = found
        prefix = _prefix(statement)
        variable = name.split(".")[-1] if "." in name else _variable(statement) or name
        inner = _Place(module, place.guards, place.depth + 1)
        for function in ast.walk(module.tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                self._decorated(inner, function, variable, prefix)
        for item in module.tree.body:
            call = item.value if isinstance(item, ast.Expr) else None
            if isinstance(call, ast.Call) and dotted_name(call.func).startswith(f"{variable}.add_"):
                self._route(inner, call.args[0], _methods_of(call), call, prefix)

    def _decorated(
        self,
        place: _Place,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        variable: str = "app",
        prefix: str = "",
    ) -> None:
        for item in node.decorator_list:
            call = item if isinstance(item, ast.Call) else None
            owner, _, method = dotted_name(call.func).rpartition(".") if call else ("", "", "")
            if call is None or owner != variable or not call.args:
                continue
            if method in _METHODS:
                self._route(place, call.args[0], (method,), node, prefix)
            elif method == "api_route":
                self._route(place, call.args[0], _methods_of(call), node, prefix)

    def _route(
        self,
        place: _Place,
        path: ast.expr,
        methods: tuple[str, ...],
        node: ast.AST,
        prefix: str = "",
    ) -> None:
        if not isinstance(path, ast.Constant) or not isinstance(path.value, str):
            return
        full = prefix + path.value
        guards = tuple(dict.fromkeys(place.guards))
        symbol = getattr(node, "name", "")
        dev_mode = any(_DEV_MODE in guard and not guard.startswith("not ") for guard in guards)
        source = place.module.source(node, symbol)
        endpoint = Endpoint(full, methods, source, guards, dev_mode)
        key = (full, methods[0], dev_mode)
        known = self.found.get(key)
        if known is None or len(known.guards) > len(guards):
            self.found[key] = endpoint


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise)


def _negated(node: ast.expr) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return brief(node.operand)
    return brief(ast.UnaryOp(op=ast.Not(), operand=node))


def _registers(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Whether a function takes the application, or is named like one that does."""
    parameters = {item.arg for item in (*node.args.args, *node.args.kwonlyargs)}
    return "app" in parameters or "router" in name or "attach" in name


def _prefix(statement: ast.stmt) -> str:
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call):
        for keyword in value.keywords:
            if keyword.arg == "prefix" and isinstance(keyword.value, ast.Constant):
                return str(keyword.value.value)
    return ""


def _is_router(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted_name(node.func).endswith("APIRouter")


def _variable(statement: ast.stmt) -> str:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return next((item.id for item in targets if isinstance(item, ast.Name)), "")


def _methods_of(call: ast.Call) -> tuple[str, ...]:
    found = tuple(_method_names(call))
    return found or ("get",)


def _method_names(call: ast.Call) -> Iterator[str]:
    for keyword in call.keywords:
        if keyword.arg == "methods" and isinstance(keyword.value, ast.List | ast.Tuple):
            for item in keyword.value.elts:
                if isinstance(item, ast.Constant):
                    yield str(item.value).lower()
