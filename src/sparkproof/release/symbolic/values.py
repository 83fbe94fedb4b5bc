"""What an expression of the artifact's source can stand for."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from sparkproof.core.condition import TRUE, Condition, Scalar

if TYPE_CHECKING:
    from sparkproof.release.symbolic.frames import Frame


@dataclass(frozen=True)
class Lit:
    """A constant."""

    value: Scalar


@dataclass(frozen=True)
class Logic:
    """A boolean that hangs on a condition."""

    condition: Condition


@dataclass(eq=False)
class Seq:
    """A list, tuple or set; an item may be there under a condition only."""

    kind: Literal["list", "tuple", "set"]
    items: list[tuple[Condition, Value]] = field(default_factory=list)

    @classmethod
    def of(cls, kind: Literal["list", "tuple", "set"], values: list[Value]) -> Seq:
        """All items unconditional."""
        return cls(kind, [(TRUE, value) for value in values])

    @property
    def values(self) -> list[Value]:
        """The items without their conditions."""
        return [value for _, value in self.items]

    def spoil(self, by: str) -> None:
        """Something that is not followed may have changed it: no order may be read from it."""
        if self.kind != "tuple":
            self.items.append((TRUE, Unread(f"whatever {by} made of the list")))


@dataclass(eq=False)
class Table:
    """A dict with evaluated keys."""

    items: list[tuple[Value, Value]] = field(default_factory=list)


@dataclass(frozen=True)
class ClassValue:
    """A class defined in the artifact."""

    module: str
    name: str


@dataclass(frozen=True)
class EnumValue:
    """A member of an enumeration defined in the artifact."""

    owner: ClassValue
    name: str


@dataclass(frozen=True, eq=False)
class FuncValue:
    """A function defined in the artifact, perhaps bound."""

    module: str
    node: ast.FunctionDef
    owner: ClassValue | None = None
    bound: Value | None = None
    closure: Frame | None = None

    @property
    def symbol(self) -> str:
        """``Class.function`` or ``function``."""
        return f"{self.owner.name}.{self.node.name}" if self.owner else self.node.name


@dataclass(frozen=True)
class ModuleValue:
    """A module of the artifact."""

    name: str


@dataclass(frozen=True)
class Foreign:
    """Something outside the artifact, by dotted name; `called` for what a call of it returns."""

    name: str
    called: bool = False


@dataclass(frozen=True)
class Named:
    """A module-level constant that conditions name, e.g. ``kNvfp4Static``, and its module."""

    name: str
    module: str = ""


@dataclass(frozen=True)
class Instance:
    """An object made by calling a class of the artifact with constant arguments."""

    owner: ClassValue
    arguments: tuple[Scalar, ...] = ()


@dataclass(frozen=True)
class SettingValue:
    """A property of the model, layer or deployment."""

    path: str


@dataclass(frozen=True)
class EnvValue:
    """An environment variable as ``vllm.envs`` gives it."""

    name: str


@dataclass(frozen=True)
class Special:
    """Something the interpreter knows by itself."""

    kind: Literal[
        "platform", "capability", "major", "minor", "major-tens", "capability-number", "logger"
    ]


@dataclass(frozen=True)
class Maybe:
    """`value` where `present` holds, else None."""

    present: Condition
    value: Value


@dataclass(frozen=True)
class Text:
    """A string of which parts are not known; never empty."""

    text: str


@dataclass(frozen=True)
class Options:
    """One of several values, each under its own condition; the conditions exclude each other."""

    items: tuple[tuple[Condition, Value], ...]


@dataclass(frozen=True)
class Super:
    """``super()`` inside a method of `owner`, called for `dynamic`."""

    owner: ClassValue
    dynamic: Value


@dataclass(frozen=True)
class Builtin:
    """A function of Python itself."""

    name: str


@dataclass(frozen=True)
class Walked:
    """What a walk over candidates returned: one of them."""


@dataclass(frozen=True)
class Unread:
    """What the interpreter does not understand."""

    text: str
    where: str = ""
    line: int = 0


Value: TypeAlias = (
    Lit
    | Logic
    | Seq
    | Table
    | ClassValue
    | EnumValue
    | FuncValue
    | ModuleValue
    | Foreign
    | Named
    | Instance
    | SettingValue
    | EnvValue
    | Special
    | Maybe
    | Text
    | Options
    | Super
    | Builtin
    | Walked
    | Unread
)

NONE = Lit(None)


def copied(value: Value) -> Value:
    """The value with lists and dicts of its own, so that edits stay where they are made."""
    if isinstance(value, Seq):
        return Seq(value.kind, [(guard, copied(item)) for guard, item in value.items])
    if isinstance(value, Table):
        return Table([(key, copied(item)) for key, item in value.items])
    return value


def scalar_of(value: Value) -> tuple[bool, Scalar]:
    """Whether a value can stand in a comparison, and as what."""
    if isinstance(value, Lit):
        return True, value.value
    if isinstance(value, EnumValue):
        return True, f"{value.owner.name}.{value.name}"
    if isinstance(value, Named | Foreign | ClassValue):
        return not (isinstance(value, Foreign) and value.called), value.name
    if isinstance(value, Instance):
        inner = ", ".join(str(part) for part in value.arguments)
        return True, f"{value.owner.name}({inner})"
    return False, None


def text_of(value: Value) -> str:
    """How an f-string of the source would show the value, unknown parts in braces."""
    known, scalar = scalar_of(value)
    if known:
        return str(scalar)
    if isinstance(value, Text):
        return value.text
    if isinstance(value, Options):
        return " or ".join(text_of(item) for _, item in value.items if item != NONE)
    if isinstance(value, Seq):
        inner = ", ".join(
            repr(text_of(item)) if isinstance(item, Lit) else text_of(item) for item in value.values
        )
        return f"[{inner}]"
    if isinstance(value, SettingValue | EnvValue):
        return "{" + (value.path if isinstance(value, SettingValue) else value.name) + "}"
    if isinstance(value, Special):
        return "{" + value.kind + "}"
    return "{…}"
