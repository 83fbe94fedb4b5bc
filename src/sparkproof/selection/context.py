"""Answers to the leaves of a condition, and what a refusal rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import (
    All,
    Any,
    Condition,
    Const,
    DeviceTest,
    EnvTest,
    Gate,
    Leaf,
    Not,
    Scalar,
    Setting,
    Supports,
    Tri,
    compare,
    evaluate,
    open_leaves,
    render_leaf,
)
from sparkproof.core.finding import Confidence
from sparkproof.core.observations.release_surface import Decision, Predicate, ReleaseSurface
from sparkproof.facts.memory_book import AttentionBackend, attention_backends
from sparkproof.selection.arithmetic import difference, work_out
from sparkproof.selection.request import GateAnswers
from sparkproof.selection.settings import Settings
from sparkproof.selection.words import say

BLOCK_SIZE = "block_size"
_PARALLEL = ("moe.moe_parallel_config.use_", "moe.moe_parallel_config.enable_")
"""Ways to spread experts over GPUs, each off unless the caller says otherwise."""
_OFF = ("", "0", "false", "no", "off", "none")
_RANK = (Confidence.SHOWN, Confidence.DOCUMENTED, Confidence.REPORTED, Confidence.INFERRED)


def fixed_settings(item: Supports) -> dict[str, Scalar]:
    """What the caller of a class fixed, without what only the release can work out."""
    return {
        path: value
        for path, value in item.given
        if not (isinstance(value, str) and value.startswith("{"))
    }


@dataclass
class Context:
    """Everything that is known for one prediction.

    Attributes:
        consulted: names of the gates that were answered on the way.
    """

    surface: ReleaseSurface
    capability: ComputeCapability
    settings: Settings
    gates: GateAnswers
    env: dict[str, str]
    consulted: set[str] = field(default_factory=set)

    def too_odd_blocks(self, backend: str) -> AttentionBackend | None:
        """The backend, where a stated block can't be cut into those of its kernels."""
        known = attention_backends().get(backend)
        size = self.settings.get(BLOCK_SIZE)
        return known if known and isinstance(size, int) and not known.takes(size) else None

    def with_blocks(self, backend: str) -> Context:
        """What to ask this backend with: a block that its kernels take is as good as none stated.

        How a backend puts its sizes together is beyond what is read of its class.
        """
        known = attention_backends().get(backend)
        if known is None or self.settings.get(BLOCK_SIZE) is None or self.too_odd_blocks(backend):
            return self
        return replace(self, settings={**self.settings, BLOCK_SIZE: None})

    def leaf(self, item: Leaf) -> Tri:
        """Answer a gate, variable, setting or class; unread tests stay unknown."""
        if isinstance(item, Gate):
            return self._gate(item.name)
        if isinstance(item, EnvTest):
            return self._variable(item)
        if isinstance(item, Setting):
            return self._setting(item)
        if isinstance(item, Supports):
            return self._class(item)
        return Tri.UNKNOWN

    def _gate(self, name: str) -> Tri:
        found = self.gates.get(name)
        if found is None:
            return Tri.UNKNOWN
        self.consulted.add(name)
        return found.answer

    def _variable(self, item: EnvTest) -> Tri:
        stated = self.env.get(item.name)
        if item.op == "set":
            return Tri.of(stated is not None)
        value: Scalar = stated if stated is not None else self._default(item.name)
        if item.op == "truthy":
            return Tri.of(str(value or "").strip().lower() not in _OFF)
        if isinstance(item.value, bool):
            return Tri.of((str(value or "").lower() not in _OFF) is item.value)
        if item.op == "==" and stated is not None and item.value is not None:
            return Tri.of(stated == str(item.value))
        return Tri.of(compare(value, item.op, item.value))

    def _default(self, name: str) -> Scalar:
        found = self.surface.variable(name)
        return found.default if found is not None else None

    def _setting(self, item: Setting) -> Tri:
        path = item.path
        if path in self.settings:
            return Tri.of(compare(self.settings[path], item.op, item.value))
        if path.startswith("("):
            number = work_out(path, self.settings)
            if number is not None:
                return Tri.of(compare(number, item.op, item.value))
            differ = difference(path, self.settings) if item.op == "==" else None
            return Tri.UNKNOWN if differ is None else Tri.of(not differ)
        if item.op == "==" and item.value is None:
            inside = f"{path}."
            return Tri.NO if any(key.startswith(inside) for key in self.settings) else Tri.UNKNOWN
        if item.op == "truthy" and path.startswith(_PARALLEL):
            return Tri.NO
        return Tri.UNKNOWN

    def _class(self, item: Supports) -> Tri:
        predicate = self.surface.predicate(item.implementation, item.method)
        if predicate is None:
            return Tri.UNKNOWN
        answers = {decision.accepts for decision, _ in self.under(item).possible(predicate)}
        return Tri.of(answers.pop()) if len(answers) == 1 else Tri.UNKNOWN

    def under(self, item: Supports) -> Context:
        """The same, with what the caller fixed."""
        given = fixed_settings(item)
        return replace(self, settings={**self.settings, **given}) if given else self

    def possible(self, predicate: Predicate) -> list[tuple[Decision, Tri]]:
        """The decisions that may be the one, up to the first that certainly is."""
        found: list[tuple[Decision, Tri]] = []
        for decision in predicate.decisions:
            answer = evaluate(decision.when, self)
            if answer is not Tri.NO:
                found.append((decision, answer))
            if answer is Tri.YES:
                break
        return found

    def open_names(self, condition: Condition) -> tuple[str, ...]:
        """Names of the open questions that an unknown answer hangs on, classes opened up."""
        names: list[str] = []
        for leaf in open_leaves(condition, self):
            predicate = (
                self.surface.predicate(leaf.implementation, leaf.method)
                if isinstance(leaf, Supports)
                else None
            )
            if predicate is None or not isinstance(leaf, Supports):
                names.append(render_leaf(leaf))
                continue
            inner = self.under(leaf)
            for decision, answer in inner.possible(predicate):
                if answer is Tri.UNKNOWN:
                    names.extend(inner.open_names(decision.when))
        return tuple(dict.fromkeys(names))

    def blame(self, condition: Condition) -> Iterator[str]:
        """What makes a condition fail, in words: the device first, then what the box lacks."""
        found = dict.fromkeys(_blame(condition, self, wanted=Tri.YES))
        tools = {gate.reason for name, gate in self.gates.items() if name.startswith("tool:")}
        yield from sorted(
            found, key=lambda text: (not text.startswith("capability "), text not in tools)
        )

    def confidence(self) -> Confidence:
        """The weakest of the gate answers that were used."""
        used = [self.gates[name].confidence for name in self.consulted]
        return max(used, key=_RANK.index, default=Confidence.SHOWN)


def _blame(condition: Condition, context: Context, *, wanted: Tri) -> Iterator[str]:
    if isinstance(condition, Not):
        yield from _blame(condition.item, context, wanted=wanted.negated())
    elif isinstance(condition, All | Any):
        for part in condition.items:
            if evaluate(part, context) is wanted.negated():
                yield from _blame(part, context, wanted=wanted)
    elif not isinstance(condition, Const) and evaluate(condition, context) is wanted.negated():
        if isinstance(condition, Gate) and condition.name in context.gates:
            yield context.gates[condition.name].reason or condition.name
        elif isinstance(condition, DeviceTest | EnvTest | Setting | Gate):
            yield say(condition, held=wanted is Tri.NO)
