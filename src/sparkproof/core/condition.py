"""Conditions read from an artifact's source, and their three-valued evaluation.

A condition is what a selection function asks before it takes a candidate. Some of it can
be answered at once (the device's capability), some only by something outside the source:
a compiled operator, an installed package, an environment variable. Those are named, so
that whoever knows can answer, and so that an answer stays open where nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Literal, Protocol, TypeAlias

import msgspec

from sparkproof.core.capability import ComputeCapability

Scalar: TypeAlias = str | int | float | bool | None
Comparison: TypeAlias = Literal[
    "==", "<", "<=", ">", ">=", "truthy", "contains", "startswith", "endswith"
]


class Tri(StrEnum):
    """Yes, no, or depends on something that nobody has answered."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, value: bool) -> Tri:
        """The certain answer."""
        return cls.YES if value else cls.NO

    def negated(self) -> Tri:
        """No for yes, yes for no."""
        if self is Tri.UNKNOWN:
            return self
        return Tri.NO if self is Tri.YES else Tri.YES


class Const(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag="const"):
    """Settled by the source itself."""

    value: bool


class DeviceTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag="device"):
    """A test of the compute capability, written as vLLM does: 121 for 12.1.

    Attributes:
        op: ``family`` compares the major number only (120 takes 12.0 and 12.1), ``minor`` the
            minor number only.
    """

    op: Literal["==", "<", "<=", ">", ">=", "family", "minor"]
    number: int


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag="gate"):
    """A question that only the outside can answer.

    Attributes:
        name: ``package:P`` importable, ``tool:T`` on PATH, ``symbol:MODULE:NAME`` present in a
            third-party module, ``op:O`` compiled operator says yes, ``library:PATH`` loads,
            ``call:TEXT`` a third-party call that returns something true, ``call:FUNCTION:TEXT``
            a test of what one returns, in that function of the release.
    """

    name: str


class EnvTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag="env"):
    """A test of an environment variable as the release reads it.

    Attributes:
        op: ``set`` asks whether it stands in the environment at all.
    """

    name: str
    op: Comparison | Literal["set"] = "truthy"
    value: Scalar = True


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag="setting"):
    """A test of a property of the model, the layer or the deployment.

    Attributes:
        path: dotted, as the release's own objects spell it, e.g. ``moe.swiglu_limit``.
        value: enum members and constants by name, e.g. ``kNvfp4Static``.
    """

    path: str
    op: Comparison = "truthy"
    value: Scalar = True


class Supports(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    gc=False,
    tag="supports",
    cache_hash=True,
):
    """What a class says when asked; its answer is a `Predicate` of the surface.

    Attributes:
        given: settings that the caller fixed, as (path, value).
    """

    implementation: str
    method: str
    given: tuple[tuple[str, Scalar], ...] = ()


class Opaque(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag="opaque"):
    """A test that the reader does not understand, with its place."""

    text: str
    where: str = ""
    line: int = 0


class Not(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag="not", cache_hash=True
):
    """The opposite."""

    item: Condition


class All(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag="all", cache_hash=True
):
    """Every one of them."""

    items: tuple[Condition, ...]


class Any(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag="any", cache_hash=True
):
    """At least one of them."""

    items: tuple[Condition, ...]


Condition: TypeAlias = (
    Const | DeviceTest | Gate | EnvTest | Setting | Supports | Opaque | Not | All | Any
)
Leaf: TypeAlias = Gate | EnvTest | Setting | Supports | Opaque

TRUE = Const(value=True)
FALSE = Const(value=False)


def negate(item: Condition) -> Condition:
    """``not item``, simplified."""
    if isinstance(item, Const):
        return Const(value=not item.value)
    return item.item if isinstance(item, Not) else Not(item)


def _flat(items: Iterable[Condition], kind: type[All] | type[Any]) -> Iterator[Condition]:
    for item in items:
        if isinstance(item, kind):
            yield from item.items
        else:
            yield item


def all_of(items: Iterable[Condition]) -> Condition:
    """Conjunction, simplified; true when empty."""
    kept = [item for item in dict.fromkeys(_flat(items, All)) if item != TRUE]
    if FALSE in kept:
        return FALSE
    return kept[0] if len(kept) == 1 else All(tuple(kept)) if kept else TRUE


def any_of(items: Iterable[Condition]) -> Condition:
    """Disjunction, simplified; false when empty."""
    kept = [item for item in dict.fromkeys(_flat(items, Any)) if item != FALSE]
    if TRUE in kept:
        return TRUE
    return kept[0] if len(kept) == 1 else Any(tuple(kept)) if kept else FALSE


class Answers(Protocol):
    """Who answers what the source can't."""

    @property
    def capability(self) -> ComputeCapability:
        """The device that is asked about."""
        ...

    def leaf(self, item: Leaf) -> Tri:
        """Answer a gate, variable, setting or class."""
        ...


def compare(left: Scalar, op: str, right: Scalar) -> bool:
    """Apply a comparison as Python would; what Python can't compare is false."""
    if op == "truthy":
        return bool(left)
    if op == "==":
        return left == right
    if op in ("contains", "startswith", "endswith"):
        text, part = str(left or ""), str(right)
        if op == "contains":
            return part in text.split(",")
        return text.startswith(part) if op == "startswith" else text.endswith(part)
    if isinstance(left, str | None) or isinstance(right, str | None):
        return False
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def device_says(item: DeviceTest, capability: ComputeCapability) -> bool:
    """Apply a test of the capability."""
    if item.op == "family":
        return capability.major == item.number // 10
    if item.op == "minor":
        return capability.minor == item.number
    return compare(capability.number, item.op, item.number)


def evaluate(item: Condition, answers: Answers) -> Tri:
    """Three-valued (Kleene) evaluation: unknown only where the answer hangs on it."""
    return _SETTLE.get(type(item), _ask)(item, answers)


def _ask(item: Leaf, answers: Answers) -> Tri:
    return answers.leaf(item)


def _settle_all(item: All, answers: Answers) -> Tri:
    found = Tri.YES
    for part in item.items:
        answer = evaluate(part, answers)
        if answer is Tri.NO:
            return answer
        if answer is Tri.UNKNOWN:
            found = answer
    return found


def _settle_any(item: Any, answers: Answers) -> Tri:
    found = Tri.NO
    for part in item.items:
        answer = evaluate(part, answers)
        if answer is Tri.YES:
            return answer
        if answer is Tri.UNKNOWN:
            found = answer
    return found


# By exact type: one release asks fifty thousand of these, and a chain of isinstance was half the
# time of comparing two.
_SETTLE: dict[type, Callable[..., Tri]] = {
    Const: lambda item, _: Tri.of(item.value),
    DeviceTest: lambda item, answers: Tri.of(device_says(item, answers.capability)),
    Not: lambda item, answers: evaluate(item.item, answers).negated(),
    All: _settle_all,
    Any: _settle_any,
}


def open_leaves(item: Condition, answers: Answers) -> tuple[Leaf, ...]:
    """The leaves that an unknown answer hangs on, in order, each once."""
    found: dict[Leaf, None] = {}
    _open(item, answers, found)
    return tuple(found)


def _open(item: Condition, answers: Answers, found: dict[Leaf, None]) -> Tri:
    """Evaluate, and collect on the way what an unknown answer hangs on."""
    kind = type(item)
    if kind is All or kind is Any:
        return _open_parts(item, answers, found)  # type: ignore[arg-type]
    if isinstance(item, Not):
        return _open(item.item, answers, found).negated()
    answer = evaluate(item, answers)
    if answer is Tri.UNKNOWN:
        found[item] = None  # type: ignore[index]
    return answer


def _open_parts(item: All | Any, answers: Answers, found: dict[Leaf, None]) -> Tri:
    decisive, answer = (Tri.NO, Tri.YES) if isinstance(item, All) else (Tri.YES, Tri.NO)
    inner: dict[Leaf, None] = {}
    for part in item.items:
        one = _open(part, answers, inner)
        if one is decisive:
            return decisive
        if one is Tri.UNKNOWN:
            answer = one
    found.update(inner)
    return answer


def leaves(item: Condition) -> Iterator[Leaf]:
    """Every leaf, answered or not, with repeats."""
    if isinstance(item, Not):
        yield from leaves(item.item)
    elif isinstance(item, All | Any):
        for part in item.items:
            yield from leaves(part)
    elif not isinstance(item, Const | DeviceTest):
        yield item


def render_condition(item: Condition) -> str:
    """One line for people, e.g. ``capability family 12 and package:flashinfer``."""
    if isinstance(item, Const):
        return "always" if item.value else "never"
    if isinstance(item, DeviceTest):
        number = f"{item.number // 10}.{item.number % 10}"
        family = f"capability {item.number // 10}.x"
        minor = f"capability x.{item.number}"
        return {"family": family, "minor": minor}.get(item.op, f"capability {item.op} {number}")
    if isinstance(item, Not):
        return f"not ({render_condition(item.item)})"
    if isinstance(item, All | Any):
        word = " and " if isinstance(item, All) else " or "
        return "(" + word.join(map(render_condition, item.items)) + ")"
    return render_leaf(item)


def render_leaf(item: Leaf) -> str:
    """The name under which a step lists an open question."""
    if isinstance(item, Gate):
        return item.name
    if isinstance(item, Supports):
        return f"class:{item.implementation}.{item.method}"
    if isinstance(item, Opaque):
        return f"unread:{item.where}:{item.line}:{item.text}"
    name = f"env:{item.name}" if isinstance(item, EnvTest) else f"setting:{item.path}"
    if item.op == "truthy":
        return name
    return f"{name} is set" if item.op == "set" else f"{name} {item.op} {item.value!r}"
