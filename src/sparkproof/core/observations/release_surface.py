"""The surface of one vLLM release, as read from its source and metadata. No judgement here."""

from __future__ import annotations

from typing import Literal

import msgspec

from sparkproof.core.condition import Condition, Scalar
from sparkproof.core.finding import Evidence
from sparkproof.core.unknown import Unknown


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an item stands: member of the artifact, 1-based line, symbol around it."""

    path: str
    line: int = 0
    symbol: str = ""

    def evidence(self, what: str) -> Evidence:
        """Cite this place for `what`."""
        return Evidence(where=self.path, what=what, line=self.line)


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way through a predicate; the first whose `when` holds decides.

    Attributes:
        reason: what the release prints for a refusal ("" where it prints nothing).
    """

    when: Condition
    accepts: bool
    reason: str
    source: Source


class Predicate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one class answers when asked by one method: an ordered decision list."""

    implementation: str
    method: str
    decisions: tuple[Decision, ...]
    source: Source


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member of a backend enumeration.

    Attributes:
        label: its value, where that is what the boot log prints instead of the name.
        alias_of: the member it is another name for ("" for none).
    """

    name: str
    label: str
    source: Source
    alias_of: str = ""


class Dispatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The classes behind a backend, in the order they are asked."""

    backend: str
    implementations: tuple[str, ...]
    source: Source


class CliName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value of a backend flag and what it stands for in one oracle."""

    name: str
    targets: tuple[str, ...]
    source: Source


class Attempt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One candidate of a walk.

    Attributes:
        backend: name as the boot log prints it; the class name for dense kernels.
        accept: taken when this holds and no earlier candidate was taken.
    """

    backend: str
    implementation: str
    accept: Condition
    source: Source


class Branch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way through a selection function; the first whose `when` holds is gone.

    Attributes:
        attempts: the candidates that are walked in it.
        selected: backend that is returned without a walk ("" for none).
        error: what is raised where no attempt is taken ("" if `selected` is returned).
    """

    when: Condition
    attempts: tuple[Attempt, ...]
    selected: str
    implementation: str
    error: str
    source: Source


class Caller(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the loader of one quantization method fixes when it calls a selection function."""

    quant_method: str
    arguments: tuple[tuple[str, Scalar], ...]
    source: Source


class Oracle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One selection function with everything behind it.

    Attributes:
        id: ``moe/nvfp4``, ``dense/fp8``, ``attention/backend`` …
        flag: the option that names a backend of it, e.g. ``--moe-backend``.
        listed: names in the release's own order before any edit (CUDA's where there are more).
        arguments: parameters of the function that the caller decides, with their defaults.
        assumed: settings that were fixed while it was read; elsewhere it says nothing.
    """

    id: str
    source: Source
    flag: str = ""
    members: tuple[Member, ...] = ()
    dispatch: tuple[Dispatch, ...] = ()
    cli: tuple[CliName, ...] = ()
    listed: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()
    arguments: tuple[tuple[str, Scalar], ...] = ()
    assumed: tuple[tuple[str, Scalar], ...] = ()
    callers: tuple[Caller, ...] = ()
    unknowns: tuple[Unknown, ...] = ()


class Pinned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A loader that names one kernel for a scheme and asks no selection function.

    Attributes:
        oracle: the oracle that is passed by.
        quant_method: the checkpoint's method, or how its name begins.
    """

    oracle: str
    scheme: str
    quant_method: str
    implementation: str
    source: Source


class Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One command-line option and the values it takes.

    Attributes:
        closed: false where the release takes other values too (plugins, free text).
    """

    flag: str
    choices: tuple[str, ...]
    default: Scalar
    source: Source
    closed: bool = True
    normalises: bool = False
    """Lower-cased and hyphens turned into underscores before the value is checked."""


class EnvVariable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One environment variable that the release declares, with its default where told."""

    name: str
    default: Scalar
    source: Source


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One requirement of the METADATA.

    Attributes:
        name: normalised project name.
        applies: whether its marker holds on the target; extras count as not asked for.
        extra: the extra it belongs to ("" for none).
    """

    name: str
    specifier: str
    applies: bool
    source: Source
    marker: str = ""
    extra: str = ""


class ReleaseSurface(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that was read of one release.

    Attributes:
        libraries: compiled members, by path.
        env_names: every environment variable that the release declares.
        env: those that steer something in this surface.
    """

    version: str
    source: Source
    oracles: tuple[Oracle, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    pinned: tuple[Pinned, ...] = ()
    options: tuple[Option, ...] = ()
    env: tuple[EnvVariable, ...] = ()
    env_names: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    libraries: tuple[str, ...] = ()
    platform: Literal["cuda"] = "cuda"
    """Platform tests in the source are answered for CUDA."""
    unknowns: tuple[Unknown, ...] = ()

    def oracle(self, oracle_id: str) -> Oracle | None:
        """The oracle of that id, if the release has one that could be read."""
        return next((item for item in self.oracles if item.id == oracle_id), None)

    def option(self, flag: str) -> Option | None:
        """The option of that name, if the release has it."""
        return next((item for item in self.options if item.flag == flag), None)

    def predicate(self, implementation: str, method: str) -> Predicate | None:
        """What that class answers to that question."""
        return next(
            (
                item
                for item in self.predicates
                if item.implementation == implementation and item.method == method
            ),
            None,
        )
