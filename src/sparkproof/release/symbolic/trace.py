"""Every way through a piece of source, found by replaying it with other decisions.

A run decides each open condition once, true first; the trace remembers what was decided.
`explore` replays until every alternative has been taken. The conditions that were taken
as true, in the order of the paths, form a decision list: a path is meant only where no
earlier one applied, so the ones taken as false need not be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Generic, TypeVar

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import (
    FALSE,
    All,
    Any,
    Condition,
    Const,
    DeviceTest,
    Not,
    Setting,
    all_of,
    any_of,
    device_says,
    negate,
)
from sparkproof.core.errors import FormatError

MAX_PATHS = 400
MAX_STEPS = 2_000_000
_CAPABILITIES = [ComputeCapability(*divmod(number, 10)) for number in range(50, 160)]
_EVERY = (1 << len(_CAPABILITIES)) - 1

T = TypeVar("T")


@cache
def _matching(test: DeviceTest) -> int:
    """The devices that a test holds for, one bit each."""
    return sum(1 << index for index, item in enumerate(_CAPABILITIES) if device_says(test, item))


class Budget:
    """Bounds the work that one artifact can cause."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.left = steps

    def spend(self) -> None:
        """Count one evaluated node.

        Raises:
            FormatError: the source keeps the interpreter busy beyond the bound.
        """
        self.left -= 1
        if self.left < 0:
            raise FormatError("source takes too many steps to follow")


@dataclass
class Trace:
    """The decisions of one run."""

    script: list[bool]
    taken: list[tuple[Condition, bool]] = field(default_factory=list)
    asked: int = 0
    """How often something had to be decided or looked up among the decisions."""
    _known: dict[Condition, bool] = field(default_factory=dict)
    _equals: dict[str, object] = field(default_factory=dict)
    _devices: int = _EVERY

    def assume(self, known: dict[Condition, bool]) -> None:
        """Fix answers before the run."""
        self._known.update(known)

    def branch(self, condition: Condition) -> bool:
        """Decide a condition for the rest of this run."""
        if isinstance(condition, Const):
            return condition.value
        self.asked += 1
        settled = self._settle(condition)
        if settled is not None:
            return settled
        index = len(self.taken)
        value = self.script[index] if index < len(self.script) else True
        self.taken.append((condition, value))
        self._learn(condition, value=value)
        return value

    def _learn(self, condition: Condition, *, value: bool) -> None:
        if isinstance(condition, Not):
            self._learn(condition.item, value=not value)
            return
        self._known[condition] = value
        if isinstance(condition, DeviceTest):
            self._devices &= _matching(condition) if value else ~_matching(condition)
        elif isinstance(condition, Setting) and condition.op == "==" and value:
            self._equals[condition.path] = condition.value
        elif isinstance(condition, All) and value:
            self._learn_parts(condition.items, value=True)
        elif isinstance(condition, Any) and not value:
            self._learn_parts(condition.items, value=False)

    def _learn_parts(self, items: tuple[Condition, ...], *, value: bool) -> None:
        for item in items:
            self._learn(item, value=value)

    def _settle(self, condition: Condition) -> bool | None:
        if isinstance(condition, Const):
            return condition.value
        if isinstance(condition, Not):
            inner = self._settle(condition.item)
            return None if inner is None else not inner
        if condition in self._known:
            return self._known[condition]
        if isinstance(condition, DeviceTest):
            left = self._devices & _matching(condition)
            return left != 0 if left in (0, self._devices) else None
        if isinstance(condition, All | Any):
            decisive = isinstance(condition, Any)
            parts = [self._settle(item) for item in condition.items]
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
        return self._settle_setting(condition) if isinstance(condition, Setting) else None

    def _settle_setting(self, condition: Setting) -> bool | None:
        if condition.op == "==" and condition.path in self._equals:
            return bool(self._equals[condition.path] == condition.value)
        return None


@dataclass(frozen=True)
class Path(Generic[T]):
    """One way through, in the order of a decision list."""

    when: Condition
    terms: tuple[tuple[Condition, bool], ...]
    outcome: T


def explore(run: Callable[[Trace], T], limit: int = MAX_PATHS) -> list[Path[T]]:
    """Run once per way through.

    Raises:
        FormatError: there are more than `limit`, or the nesting is too deep to follow.
    """
    paths: list[Path[T]] = []
    script: list[bool] = []
    while True:
        if len(paths) >= limit:
            raise FormatError(f"more than {limit} ways through")
        trace = Trace(script)
        try:
            outcome = run(trace)
        except RecursionError as error:
            raise FormatError("source is nested too deeply to follow") from error
        terms = tuple(trace.taken)
        positive = all_of(condition for condition, value in terms if value)
        paths.append(Path(positive, terms, outcome))
        script = [value for _, value in terms]
        while script and not script[-1]:
            script.pop()
        if not script:
            return paths
        script[-1] = False


def combine(paths: list[Path[Condition]]) -> Condition:
    """The one condition that all ways through amount to."""
    return _combine(paths, 0)


def _combine(paths: list[Path[Condition]], depth: int) -> Condition:
    if not paths:
        return FALSE
    first = paths[0]
    if depth >= len(first.terms):
        return first.outcome
    condition = first.terms[depth][0]
    yes = [path for path in paths if path.terms[depth][1]]
    no = [path for path in paths if not path.terms[depth][1]]
    return if_else(condition, _combine(yes, depth + 1), _combine(no, depth + 1))


def if_else(condition: Condition, yes: Condition, no: Condition) -> Condition:
    """``yes if condition else no``, simplified."""
    if yes == no:
        return yes
    if isinstance(condition, Const):
        return yes if condition.value else no
    if isinstance(yes, Const):
        return any_of((condition, no)) if yes.value else all_of((negate(condition), no))
    if isinstance(no, Const):
        return all_of((condition, yes)) if not no.value else any_of((negate(condition), yes))
    return any_of((all_of((condition, yes)), all_of((negate(condition), no))))
