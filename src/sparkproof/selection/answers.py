"""Four separate answers about every backend: it exists, a flag names it, the automatic choice
asks it, and its device rule lets it through. Any two of them can differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import (
    Condition,
    Const,
    Gate,
    Leaf,
    Opaque,
    Scalar,
    Setting,
    Supports,
    Tri,
    evaluate,
    open_leaves,
    render_leaf,
)
from sparkproof.core.observations.release_surface import (
    Attempt,
    Branch,
    Decision,
    Oracle,
    Predicate,
    ReleaseSurface,
    Source,
)
from sparkproof.core.results.release import BackendRow, DeviceAnswer, OracleView
from sparkproof.selection.cases import PLAIN_MODEL, Case, cases_of
from sparkproof.selection.context import Context, fixed_settings
from sparkproof.selection.loaders import ASKS_NO_SCHEME, answers_scheme, pinned_kernels
from sparkproof.selection.release_words import with_release_words
from sparkproof.selection.request import GateAnswer

_DEVICE_RULE = "_supports_current_device"
_ASKED = ("is_supported_config", "is_supported", "validate_configuration", "can_implement")


class _Every(Mapping[str, GateAnswer]):
    """Every gate is taken to say yes."""

    _yes = GateAnswer(Tri.YES, "taken to hold")

    def __getitem__(self, name: str) -> GateAnswer:
        return self._yes

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass
class _Remembering(Context):
    """A context that answers each question once.

    Attributes:
        ways: the decisions that a class may take, by the question to it.
        named: the gates behind its answer.
        fixed: contexts under what a caller fixed: their answers are others.
    """

    answered: dict[Leaf, Tri] = field(default_factory=dict)
    ways: dict[tuple[str, str], list[tuple[Decision, Tri]]] = field(default_factory=dict)
    named: dict[Supports, tuple[str, ...]] = field(default_factory=dict)
    fixed: dict[tuple[tuple[str, Scalar], ...], _Remembering] = field(default_factory=dict)

    def leaf(self, item: Leaf) -> Tri:
        """As `Context.leaf`."""
        known = self.answered.get(item)
        if known is None:
            known = self.answered[item] = super().leaf(item)
        return known

    def possible(self, predicate: Predicate) -> list[tuple[Decision, Tri]]:
        """As `Context.possible`."""
        question = (predicate.implementation, predicate.method)
        known = self.ways.get(question)
        if known is None:
            known = self.ways[question] = super().possible(predicate)
        return known

    def under(self, item: Supports) -> _Remembering:
        """As `Context.under`."""
        if not item.given:
            return self
        known = self.fixed.get(item.given)
        if known is None:
            settings = {**self.settings, **fixed_settings(item)}
            known = _Remembering(self.surface, self.capability, settings, self.gates, self.env)
            self.fixed[item.given] = known
        return known

    def gates_of(self, item: Supports) -> tuple[str, ...]:
        """The open gates that a class's answer hangs on."""
        known = self.named.get(item)
        if known is None:
            predicate = self.surface.predicate(item.implementation, item.method)
            found = _asked(predicate, self.under(item)) if predicate is not None else ()
            known = self.named[item] = tuple(found)
        return known


def describe_oracles(
    surface: ReleaseSurface, capability: ComputeCapability, *, rows: bool = True
) -> tuple[OracleView, ...]:
    """Every oracle with its automatic order on a device and the four answers per backend.

    Args:
        rows: give the answers per backend; the orders alone take a tenth of the time.
    """
    gates = _Every()
    open_context = _Remembering(surface, capability, {}, {}, {})
    found: list[OracleView] = []
    attention: dict[str, _Device] = {}
    for oracle in surface.oracles:
        known = attention if oracle.flag == "--attention-backend" else {}
        devices = _devices_of(oracle, open_context, known) if rows else {}
        for case in cases_of(oracle.id):
            settings = {**dict(oracle.arguments), **case.settings, **dict(oracle.assumed)}
            settings = with_release_words(settings, surface, capability, PLAIN_MODEL)
            context = _Remembering(surface, capability, settings, gates, {})
            view = _describe(oracle, case, context, devices)
            found.extend(_as_loaders_do(view, oracle, surface))
    return tuple(found)


def _as_loaders_do(
    view: OracleView, oracle: Oracle, surface: ReleaseSurface
) -> Iterator[OracleView]:
    """What a walk says of a kind of layer, and what loaders take that don't ask for one."""
    named = {p.implementation: p for p in pinned_kernels(surface, oracle, view.case)}
    walked = answers_scheme(oracle, view.case)
    if walked:
        yield view
        named.pop(view.forced or next(iter(view.eligible), ""), None)
    elif not named:
        yield msgspec.structs.replace(view, order=(), eligible=(), untold=ASKS_NO_SCHEME)
    alone = len(named) == 1 and not walked
    for item in named.values():
        yield msgspec.structs.replace(
            view,
            case=view.case if alone else f"{view.case} of {item.quant_method}",
            order=(),
            eligible=(),
            forced=item.implementation,
            rows=tuple(msgspec.structs.replace(row, automatic=0) for row in view.rows),
            source=item.source,
        )


def device_rule(
    surface: ReleaseSurface, implementation: str, capability: ComputeCapability
) -> tuple[DeviceAnswer, tuple[str, ...]]:
    """What one class says to a device, and the gates that hangs on, whatever the model."""
    methods = _methods(surface, implementation)
    if not methods:
        return DeviceAnswer.UNREAD, ()
    context = _Remembering(surface, capability, {}, {}, {})
    return _all([Supports(implementation, method) for method in methods], context)


def _describe(
    oracle: Oracle, case: Case, context: Context, devices: Mapping[str, _Device]
) -> OracleView:
    """One oracle for one kind of layer, with a row for each of the backends in `devices`."""
    branch = _automatic(oracle, context)
    attempts = branch.attempts if branch else ()
    order = tuple(dict.fromkeys(item.backend for item in attempts))
    possible = [item.backend for item in attempts if evaluate(item.accept, context) is not Tri.NO]
    names = dict.fromkeys((*order, *devices)) if devices else ()
    return OracleView(
        id=oracle.id,
        flag=oracle.flag,
        order=order,
        eligible=tuple(dict.fromkeys(possible)),
        rows=tuple(_row(oracle, name, order, devices[name]) for name in names),
        source=branch.source if branch else oracle.source,
        case=case.name,
        forced=branch.selected if branch and not order else "",
    )


def _automatic(oracle: Oracle, context: Context) -> Branch | None:
    """The branch of an ordinary deployment that names no backend."""
    for branch in oracle.branches:
        answer = evaluate(branch.when, context)
        if answer is Tri.YES and (branch.attempts or branch.selected):
            return branch
    return None


def _backends(oracle: Oracle) -> tuple[str, ...]:
    """Members, and whatever some way through can end in."""
    members = [item.name for item in oracle.members if not item.alias_of]
    reached = [item.backend for branch in oracle.branches for item in branch.attempts]
    reached += [branch.selected for branch in oracle.branches if branch.selected]
    return tuple(dict.fromkeys((*members, *oracle.listed, *reached)))


class _Device(NamedTuple):
    """What the classes behind a backend say to a device."""

    answer: DeviceAnswer
    gates: tuple[str, ...]
    implementations: tuple[str, ...]
    source: Source


def _devices_of(
    oracle: Oracle, context: _Remembering, known: dict[str, _Device]
) -> dict[str, _Device]:
    """What the device says to each backend; `known` holds answers to other oracles' and grows."""
    attempts = _attempts(oracle)
    names = _backends(oracle)
    for name in names:
        if name not in known:
            known[name] = _device_of(oracle, name, attempts.get(name, []), context)
    return {name: known[name] for name in names}


def _device_of(
    oracle: Oracle, backend: str, attempts: list[Attempt], context: _Remembering
) -> _Device:
    implementations = _implementations(oracle, backend, attempts)
    answer, gates = _device(implementations, attempts, context)
    source = attempts[0].source if attempts else oracle.source
    return _Device(answer, gates, implementations, source)


def _row(oracle: Oracle, backend: str, order: tuple[str, ...], device: _Device) -> BackendRow:
    member = next((item for item in oracle.members if item.name == backend), None)
    names = {backend, *(item.name for item in oracle.members if item.alias_of == backend)}
    values = [item.name for item in oracle.cli if names & set(item.targets)]
    if oracle.flag == "--attention-backend":
        values = sorted(names & {item.name for item in oracle.members})
    return BackendRow(
        backend=backend,
        exists=member is not None or bool(device.implementations),
        flag_values=tuple(values),
        automatic=order.index(backend) + 1 if backend in order else 0,
        device=device.answer,
        gates=device.gates,
        implementations=device.implementations,
        source=member.source if member else device.source,
    )


def _attempts(oracle: Oracle) -> dict[str, list[Attempt]]:
    """Every candidate by its backend, each class with each condition once."""
    found: dict[str, dict[tuple[str, Condition], Attempt]] = {}
    for branch in oracle.branches:
        for item in branch.attempts:
            of_backend = found.setdefault(item.backend, {})
            of_backend.setdefault((item.implementation, item.accept), item)
    return {backend: list(items.values()) for backend, items in found.items()}


def _implementations(oracle: Oracle, backend: str, attempts: list[Attempt]) -> tuple[str, ...]:
    dispatched = next((i.implementations for i in oracle.dispatch if i.backend == backend), ())
    selected = [item.implementation for item in oracle.branches if item.selected == backend]
    members = [item.name for item in oracle.members if item.name == backend]
    named = [] if oracle.dispatch else members
    found = (*dispatched, *(item.implementation for item in attempts), *selected, *named)
    return tuple(name for name in dict.fromkeys(found) if name)


def _device(
    implementations: tuple[str, ...], attempts: list[Attempt], context: _Remembering
) -> tuple[DeviceAnswer, tuple[str, ...]]:
    """The best answer that one of the classes behind a backend gives."""
    questions: list[list[Condition]] = [
        [Supports(name, method) for method in _methods(context.surface, name)]
        for name in implementations
    ]
    if not any(questions):
        accepted = dict.fromkeys(item.accept for item in attempts)
        questions = [[item for item in accepted if not isinstance(item, Const)]]
    found: dict[DeviceAnswer, tuple[str, ...]] = {}
    for own in filter(None, questions):
        answer, gates = _all(own, context)
        if answer not in found or len(gates) < len(found[answer]):
            found[answer] = gates
    for answer in (DeviceAnswer.YES, DeviceAnswer.DEPENDS, DeviceAnswer.UNREAD, DeviceAnswer.NO):
        if answer in found:
            return answer, found[answer]
    return DeviceAnswer.UNREAD, ()


def _methods(surface: ReleaseSurface, name: str) -> tuple[str, ...]:
    """What a class is asked about the device: its rule alone, where it has one."""
    if surface.predicate(name, _DEVICE_RULE) is not None:
        return (_DEVICE_RULE,)
    return tuple(method for method in _ASKED if surface.predicate(name, method) is not None)


def _all(
    conditions: list[Condition], context: _Remembering
) -> tuple[DeviceAnswer, tuple[str, ...]]:
    """Whether all hold, with every property of the model left open."""
    gates: list[str] = []
    for item in conditions:
        if evaluate(item, context) is Tri.NO:
            return DeviceAnswer.NO, ()
        gates.extend(_gates(item, context))
    names = tuple(dict.fromkeys(gates))
    if any(name.startswith("unread:") for name in names):
        return DeviceAnswer.UNREAD, names
    return (DeviceAnswer.DEPENDS, names) if names else (DeviceAnswer.YES, ())


def _gates(item: Condition, context: _Remembering) -> Iterator[str]:
    """The open gates that an answer hangs on; properties of the model are none."""
    yield from _named(open_leaves(item, context), context)


def _named(found: tuple[Leaf, ...], context: _Remembering) -> Iterator[str]:
    for leaf in found:
        if isinstance(leaf, Gate):
            yield leaf.name
        elif isinstance(leaf, Opaque):
            yield render_leaf(leaf)
        elif isinstance(leaf, Supports):
            yield from context.gates_of(leaf)


def _asked(predicate: Predicate, context: _Remembering) -> Iterator[str]:
    for decision, answer in context.possible(predicate):
        if answer is Tri.UNKNOWN:
            inner = open_leaves(decision.when, context)
            if decision.accepts or _of_the_device(inner):
                yield from _named(inner, context)


def _of_the_device(found: tuple[Leaf, ...]) -> bool:
    """A refusal that hangs on gates alone; what asks about the model is no device rule."""
    kinds = {type(leaf) for leaf in found}
    return not kinds & {Setting, Supports} and kinds != {Opaque}
