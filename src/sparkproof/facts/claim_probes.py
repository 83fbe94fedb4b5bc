"""What a claim asks of an artifact: small typed questions, each with the answer it expects.

A probe is data. `sparkproof.claims` answers it from a release surface, from device code or
from the artifact's own files; the last kinds say what it takes where no file can tell.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from sparkproof.core.delivery import Route

Value: TypeAlias = str | int | float | bool
Parsers: TypeAlias = Literal["tool", "reasoning"]


class _Probe(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"
):
    """Common to all: `expect` is the answer that the claim gives to the question."""


class BackendInEnum(_Probe, frozen=True, tag="backend_in_enum"):
    """Is the backend a member of the oracle's enumeration?"""

    oracle: str
    backend: str
    expect: bool = True


class BackendInAuto(_Probe, frozen=True, tag="backend_in_auto"):
    """Does the automatic choice consider it, on any device?"""

    oracle: str
    backend: str
    expect: bool = True


class AutoBefore(_Probe, frozen=True, tag="auto_before"):
    """Does `first` stand before `second` in the release's own list?"""

    oracle: str
    first: str
    second: str
    expect: bool = True


class AutoOrder(_Probe, frozen=True, tag="auto_order"):
    """Is that the whole list, in that order?"""

    oracle: str
    order: tuple[str, ...]
    expect: bool = True


class CliValue(_Probe, frozen=True, tag="cli_value"):
    """Does the oracle translate that value of its flag to a backend of its own?"""

    oracle: str
    value: str
    expect: bool = True


class DeviceRule(_Probe, frozen=True, tag="device_rule"):
    """What does a class say to a device, whatever packages are installed?

    Attributes:
        method: "" for whichever the surface holds.
        expect: ``refuses``, or ``accepts`` (perhaps under conditions that are not the device's).
    """

    implementation: str
    capability: str
    expect: Literal["accepts", "refuses"] = "accepts"
    method: str = ""


class Pick(_Probe, frozen=True, tag="pick"):
    """What does the release select for one kind of layer?

    Compiled operators count as saying yes and pinned packages as installed.

    Attributes:
        layer: ``experts``, ``dense`` or ``attention-backend``.
        tools: nvcc and ninja are there.
        expect: backend as the boot log prints it; ``error`` where the release refuses.
    """

    layer: Literal["experts", "dense", "attention-backend"]
    expect: str
    scheme: str = "unquantized"
    capability: str = "12.1"
    method: str = "compressed-tensors"
    moe_backend: str = "auto"
    linear_backend: str = "auto"
    kv_cache_dtype: str = "auto"
    tools: bool = True


class OptionExists(_Probe, frozen=True, tag="option_exists"):
    """Is there such a command-line option?"""

    flag: str
    expect: bool = True


class OptionChoice(_Probe, frozen=True, tag="option_choice"):
    """Does the option take that value?

    Attributes:
        listed: ask for the release's own list alone, where plugins may add to it.
    """

    flag: str
    value: str
    listed: bool = False
    expect: bool = True


class OptionDefault(_Probe, frozen=True, tag="option_default"):
    """Is that its default?"""

    flag: str
    value: Value


class EnvDeclared(_Probe, frozen=True, tag="env_declared"):
    """Does the release declare that environment variable?"""

    name: str
    expect: bool = True


class PinPresent(_Probe, frozen=True, tag="pin_present"):
    """Is the project a requirement on the box (or of the named extra)?"""

    project: str
    extra: str = ""
    expect: bool = True


class PinIs(_Probe, frozen=True, tag="pin_is"):
    """Is its requirement exactly that specifier?"""

    project: str
    specifier: str
    extra: str = ""
    expect: bool = True


class PinAllows(_Probe, frozen=True, tag="pin_allows"):
    """May that version be installed beside this release?"""

    project: str
    version: str
    expect: bool = True


class LibraryPresent(_Probe, frozen=True, tag="library_present"):
    """Is there a compiled member whose path matches the pattern?"""

    pattern: str
    expect: bool = True


class FamilyRoutes(_Probe, frozen=True, tag="family_route"):
    """By which route do the kernels of a family reach the device?

    Attributes:
        expect: any of these is what the claim says.
    """

    family: str
    expect: tuple[Route, ...]


class ArchPresent(_Probe, frozen=True, tag="arch_present"):
    """Is there machine code or PTX whose label matches the pattern, e.g. ``sm_121*``?"""

    pattern: str
    expect: bool = True


class FilePresent(_Probe, frozen=True, tag="file_present"):
    """Is there a member whose path matches the pattern?"""

    pattern: str
    expect: bool = True


class SourceText(_Probe, frozen=True, tag="source_text"):
    """Does a text member hold that text, blanks folded?

    Attributes:
        members: patterns of the paths to look into; with none there it can't be told.
    """

    members: tuple[str, ...]
    text: str
    expect: bool = True


class LogLine(_Probe, frozen=True, tag="log_line"):
    """Can the release print a message that holds that text?"""

    fragment: str
    expect: bool = True


class MetricExported(_Probe, frozen=True, tag="metric"):
    """Does the server export that metric?"""

    name: str
    expect: bool = True


class EndpointServed(_Probe, frozen=True, tag="endpoint"):
    """Does the server answer on that path?

    Attributes:
        dev_only: where given, whether it does so in development mode only.
    """

    path: str
    dev_only: bool | None = None
    expect: bool = True


class ParserKnown(_Probe, frozen=True, tag="parser"):
    """Is there a parser of that name?"""

    kind: Parsers
    name: str
    expect: bool = True


class ModelKnown(_Probe, frozen=True, tag="model"):
    """Does the release know that architecture?"""

    architecture: str
    expect: bool = True


class ConfigField(_Probe, frozen=True, tag="config_field"):
    """Has a configuration class that field (with that default, where one is given)?"""

    config: str
    field: str
    default: Value | None = None
    expect: bool = True


class NamedValue(_Probe, frozen=True, tag="named_value"):
    """Is that among the values of a named list, e.g. a method of ``SpeculativeMethod``?"""

    list: str
    value: str
    expect: bool = True


class BatchDefault(_Probe, frozen=True, tag="batch_default"):
    """Are these a server's batch defaults on a device of that size?"""

    tokens: int
    sequences: int
    capability: str = "12.1"
    memory_gib: float = 121.6
    device_name: str = "nvidia gb10"
    expect: bool = True


class RuleOutcome(_Probe, frozen=True, tag="rule_outcome"):
    """Does a rule of the configuration come to that under these settings?"""

    rule: str
    outcome: str
    settings: dict[str, Value] = {}
    capability: str = "12.1"
    expect: bool = True


class GraphMode(_Probe, frozen=True, tag="graph_mode"):
    """Is that the default graph mode, or the formula of the largest captured size?"""

    mode: str = ""
    cap: str = ""
    expect: bool = True


class PullRequests(_Probe, frozen=True, tag="pull_requests"):
    """Does a checkout's history hold every one of these pull requests?"""

    numbers: tuple[int, ...]
    expect: bool = True


class Needs(_Probe, frozen=True, tag="needs"):
    """Nothing static tells: what it takes, and what to do with it."""

    what: Literal["gpu", "server", "host", "network", "checkpoint"]
    how: str


class AllOf(_Probe, frozen=True, tag="all_of"):
    """Every one of them as expected."""

    probes: tuple[Probe, ...]


class AnyOf(_Probe, frozen=True, tag="any_of"):
    """At least one of them as expected."""

    probes: tuple[Probe, ...]


Probe: TypeAlias = (
    BackendInEnum
    | BackendInAuto
    | AutoBefore
    | AutoOrder
    | CliValue
    | DeviceRule
    | Pick
    | OptionExists
    | OptionChoice
    | OptionDefault
    | EnvDeclared
    | PinPresent
    | PinIs
    | PinAllows
    | LibraryPresent
    | FamilyRoutes
    | ArchPresent
    | FilePresent
    | SourceText
    | LogLine
    | MetricExported
    | EndpointServed
    | ParserKnown
    | ModelKnown
    | ConfigField
    | NamedValue
    | BatchDefault
    | RuleOutcome
    | GraphMode
    | PullRequests
    | Needs
    | AllOf
    | AnyOf
)


def parts(probe: Probe) -> tuple[Probe, ...]:
    """The simple probes of a composed one; itself where it is simple."""
    if isinstance(probe, AllOf | AnyOf):
        return tuple(part for item in probe.probes for part in parts(item))
    return (probe,)


def is_static(probe: Probe) -> bool:
    """Whether a release's files alone answer it."""
    return not any(isinstance(part, Needs | PullRequests) for part in parts(probe))
