"""The surface of one vLLM release, as read from its source and metadata. No judgement here."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec

from sparkproof.core.condition import Condition, Scalar
from sparkproof.core.observations.release_parts import (
    BatchTier,
    ConfigClass,
    ConfigField,
    ConfigRule,
    Endpoint,
    GraphRule,
    LiteralType,
    Message,
    Metric,
    ModelEntry,
    ParserEntry,
    Source,
)
from sparkproof.core.unknown import Unknown

__all__ = [
    "Attempt",
    "Branch",
    "Caller",
    "CliName",
    "Decision",
    "Dispatch",
    "EnvVariable",
    "Member",
    "Option",
    "Oracle",
    "Pin",
    "Pinned",
    "Predicate",
    "QuantKey",
    "ReleaseSurface",
    "Source",
]


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One way through a predicate; the first whose `when` holds decides.

    Attributes:
        reason: what the release prints for a refusal ("" where it prints nothing).
    """

    when: Condition
    accepts: bool
    reason: str
    source: Source


class Predicate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What one class answers when asked by one method: an ordered decision list."""

    implementation: str
    method: str
    decisions: tuple[Decision, ...]
    source: Source


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One member of a backend enumeration.

    Attributes:
        label: its value, where that is what the boot log prints instead of the name.
        alias_of: the member it is another name for ("" for none).
    """

    name: str
    label: str
    source: Source
    alias_of: str = ""


class Dispatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The classes behind a backend, in the order they are asked."""

    backend: str
    implementations: tuple[str, ...]
    source: Source


class CliName(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A value of a backend flag and what it stands for in one oracle."""

    name: str
    targets: tuple[str, ...]
    source: Source


class Attempt(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One candidate of a walk.

    Attributes:
        backend: name as the boot log prints it; the class name for dense kernels.
        accept: taken when this holds and no earlier candidate was taken.
    """

    backend: str
    implementation: str
    accept: Condition
    source: Source


class Branch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
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


class Caller(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What the loader of one quantization method fixes when it calls a selection function."""

    quant_method: str
    arguments: tuple[tuple[str, Scalar], ...]
    source: Source


class Oracle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
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


class Pinned(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
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


class QuantKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A constant by which selection functions name a scheme, e.g. ``kNvfp4Static``.

    Attributes:
        parts: what it is made of, by dotted path, e.g. ``scale.group_shape.row``.
    """

    name: str
    parts: tuple[tuple[str, Scalar], ...]


class Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One command-line option of ``vllm serve`` and the values it takes.

    Attributes:
        flag: its long spelling.
        default: a constant; `computed` is the source text where it is none.
        closed: false where the release takes other values too (plugins, free text).
        names: every spelling, the negative ones last.
        negative: those of `names` that switch it off.
        value: what one value is: ``none`` for switches, ``text``, ``int``, ``size`` (``128k``),
            ``length`` (a size or ``auto``), ``float``, ``object`` (JSON object), ``json`` (any),
            ``mixed`` (JSON object or text).
        arity: how many words follow: ``none``, ``one``, ``optional``, ``many``.
        nullable: an empty value or ``None`` unsets it.
        group: configuration class it belongs to; `field` is the name there.
        config: configuration class whose fields its JSON object has ("" for none).
        deprecated: what the release says about its end ("" for nothing).
        dashed: hyphens in the keys of its JSON object count as underscores.
    """

    flag: str
    choices: tuple[str, ...]
    default: Scalar
    source: Source
    closed: bool = True
    normalises: bool = False
    """Lower-cased and hyphens turned into underscores before the value is checked."""
    names: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    value: str = "text"
    arity: str = "one"
    nullable: bool = False
    group: str = ""
    field: str = ""
    computed: str = ""
    config: str = ""
    deprecated: str = ""
    dashed: bool = False


class EnvVariable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One environment variable that the release declares, with its default where told.

    Attributes:
        deprecated: what the release says about its end ("" for nothing); not to be trusted
            where it names a version (`VLLM_TRITON_ATTN_USE_TD` outlived its own by four).
        removal: version named there, or "".
    """

    name: str
    default: Scalar
    source: Source
    deprecated: str = ""
    removal: str = ""


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One requirement of the METADATA.

    Attributes:
        name: normalised project name.
        applies: whether its marker holds on the target; extras count as not asked for.
        extra: the extra it belongs to ("" for none).
        asks: extras of the required project, e.g. ``cu13``.
    """

    name: str
    specifier: str
    applies: bool
    source: Source
    marker: str = ""
    extra: str = ""
    asks: tuple[str, ...] = ()


class ReleaseSurface(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Everything that was read of one release.

    Attributes:
        libraries: compiled members, by path.
        options: every flag of ``vllm serve``.
        env: every environment variable that the release declares.
        env_names: their names.
        literals: named lists of values, nested ones expanded.
        extras: what METADATA offers beside the requirements.
        python: the Python that it asks for.
        routing: how the method of an experts' router is named, by what its model gives it.
    """

    version: str
    source: Source
    oracles: tuple[Oracle, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    pinned: tuple[Pinned, ...] = ()
    quant_keys: tuple[QuantKey, ...] = ()
    options: tuple[Option, ...] = ()
    env: tuple[EnvVariable, ...] = ()
    env_names: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    extras: tuple[str, ...] = ()
    python: str = ""
    libraries: tuple[str, ...] = ()
    models: tuple[ModelEntry, ...] = ()
    configs: tuple[ConfigClass, ...] = ()
    literals: tuple[LiteralType, ...] = ()
    batch_tiers: tuple[BatchTier, ...] = ()
    rules: tuple[ConfigRule, ...] = ()
    graphs: GraphRule | None = None
    routing: ConfigRule | None = None
    parsers: tuple[ParserEntry, ...] = ()
    metrics: tuple[Metric, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    messages: tuple[Message, ...] = ()
    platform: Literal["cuda"] = "cuda"
    """Platform tests in the source are answered for CUDA."""
    unknowns: tuple[Unknown, ...] = ()

    def oracle(self, oracle_id: str) -> Oracle | None:
        """The oracle of that id, if the release has one that could be read."""
        return next((item for item in self.oracles if item.id == oracle_id), None)

    def option(self, flag: str) -> Option | None:
        """The option that is spelled like that, if the release has it."""
        return next((o for o in self.options if o.flag == flag or flag in o.names), None)

    def config(self, name: str) -> ConfigClass | None:
        """The configuration class of that name, if the release has it."""
        return next((item for item in self.configs if item.name == name), None)

    def field_of(self, option: Option) -> ConfigField | None:
        """The field of a configuration class that an option's value goes to, if it is known."""
        kind = self.config(option.group) if option.group else None
        return kind.field(option.field) if kind is not None else None

    def literal(self, name: str) -> LiteralType | None:
        """The named list of values, if the release has it."""
        return next((item for item in self.literals if item.name == name), None)

    def predicate(self, implementation: str, method: str) -> Predicate | None:
        """What that class answers to that question."""
        return self._by_question.get((implementation, method))

    @cached_property
    def _by_question(self) -> dict[tuple[str, str], Predicate]:
        return {(item.implementation, item.method): item for item in reversed(self.predicates)}

    def variable(self, name: str) -> EnvVariable | None:
        """The environment variable of that name, if the release declares it."""
        return self._by_variable.get(name)

    @cached_property
    def _by_variable(self) -> dict[str, EnvVariable]:
        return {item.name: item for item in self.env}
