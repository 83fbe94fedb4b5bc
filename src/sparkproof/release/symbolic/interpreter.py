"""A run over the artifact's source, and what all runs over one artifact share."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from sparkproof.core.condition import Condition
from sparkproof.core.observations.release_surface import Attempt
from sparkproof.formats.python_source import brief
from sparkproof.release.symbolic import calls, classes, expressions, lookup, statements
from sparkproof.release.symbolic.frames import Frame, UnreadableError
from sparkproof.release.symbolic.modules import Module, ModuleTable
from sparkproof.release.symbolic.trace import Budget, Trace
from sparkproof.release.symbolic.values import ClassValue, FuncValue, Unread, Value


@dataclass
class Session:
    """What all runs over one artifact share.

    Attributes:
        summaries: conditions that functions with a boolean answer amount to.
        results: values of calls and module names that no decision went into.
        walked: attempts of one candidate in one loop, by all that they hang on.
        lineages, members, enums: classes, looked up once.
        assumed: answers that are fixed while one function is read.
        cycles: how often a name was found to hang on itself.
        names: names that a loop reads and binds, by the loop's identity.
        asked: the classes and methods whose answer some selection hangs on.
    """

    table: ModuleTable
    budget: Budget = field(default_factory=Budget)
    summaries: dict[object, Condition] = field(default_factory=dict)
    results: dict[object, Value] = field(default_factory=dict)
    walked: dict[object, tuple[Attempt, ...]] = field(default_factory=dict)
    lineages: dict[ClassValue, list[ClassValue]] = field(default_factory=dict)
    members: dict[object, tuple[ClassValue, Module, ast.stmt] | None] = field(default_factory=dict)
    enums: dict[ClassValue, bool] = field(default_factory=dict)
    assumed: dict[Condition, bool] = field(default_factory=dict)
    asked: dict[tuple[str, str], ClassValue] = field(default_factory=dict)
    evaluating: set[tuple[str, str]] = field(default_factory=set)
    cycles: int = 0
    names: dict[int, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)


@dataclass
class Run:
    """One replay.

    Attributes:
        selecting: answers of candidate classes stay questions, and loops over candidates
            are recorded as walks instead of being followed.
        attempts: the candidates walked so far.
    """

    session: Session
    trace: Trace
    selecting: bool = False
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def table(self) -> ModuleTable:
        """The artifact's modules."""
        return self.session.table

    def frame(self, module: Module) -> Frame:
        """A frame at the top of a module."""
        return Frame(run=self, module=module)

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression."""
        self.session.budget.spend()
        handler = expressions.HANDLERS.get(type(node))
        if handler is None:
            return self.unread(brief(node), frame, node)
        return handler(node, frame)

    def execute(self, body: list[ast.stmt], frame: Frame) -> None:
        """Run statements; control flow leaves as an exception.

        Raises:
            UnreadableError: a kind of statement is not followed.
        """
        for statement in body:
            self.session.budget.spend()
            handler = statements.HANDLERS.get(type(statement))
            if handler is None:
                raise UnreadableError(f"`{brief(statement)}` is not followed", statement.lineno)
            handler(statement, frame)

    def call(
        self, target: Value, arguments: list[Value], keywords: dict[str, Value], frame: Frame
    ) -> Value:
        """The value of a call."""
        return calls.call(target, arguments, keywords, frame)

    def call_method(
        self,
        target: Value,
        name: str,
        arguments: list[Value],
        keywords: dict[str, Value],
        frame: Frame,
    ) -> Value:
        """The value of ``target.name(…)``."""
        return calls.call_method(target, name, arguments, keywords, frame)

    def attribute(self, value: Value, name: str, frame: Frame) -> Value:
        """``value.name``."""
        return lookup.attribute(value, name, frame)

    def module_name(self, module: str, name: str) -> Value:
        """A name at the top of a module of the artifact."""
        return lookup.module_name(self, module, name)

    def sub_run(self, trace: Trace, *, selecting: bool) -> Run:
        """A run inside this one, with its own decisions."""
        return Run(self.session, trace, selecting=selecting)

    def method(self, owner: ClassValue, name: str, bound: Value) -> FuncValue | None:
        """A method of a class or its bases, bound as its decorators say."""
        return classes.method(self, owner, name, bound)

    def unread(self, text: str, frame: Frame, node: ast.AST | None = None) -> Unread:
        """Something that was not understood, with its place."""
        return Unread(text, frame.module.path, getattr(node, "lineno", 0) or 0)
