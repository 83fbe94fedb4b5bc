"""What ``release``, ``release diff``, ``release contains`` and ``release builds`` answer."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.finding import Evidence
from sparkproof.core.observations.release_parts import (
    BatchTier,
    ConfigClass,
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
from sparkproof.core.observations.release_surface import EnvVariable, Option, Pin
from sparkproof.core.serve_line import ServeLine


class DeviceAnswer(StrEnum):
    """Whether a class takes a device, whatever the model."""

    YES = "yes"
    NO = "no"
    DEPENDS = "depends"
    """On the gates that are listed."""
    UNREAD = "unread"


class BackendRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The four answers about one backend of one oracle.

    Attributes:
        exists: it is a member of the enumeration, or stands in the list of kernels.
        flag_values: values of the flag that name it.
        automatic: 1 for the first that the automatic choice asks on this device, 0 for never.
        device: whether its classes take the device, whatever the model.
        gates: what that hangs on: packages, symbols, compiled operators, tools.
        implementations: classes behind it.
    """

    backend: str
    exists: bool
    flag_values: tuple[str, ...]
    automatic: int
    device: DeviceAnswer
    gates: tuple[str, ...] = ()
    implementations: tuple[str, ...] = ()
    source: Source | None = None


class OracleView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One oracle on one device.

    Attributes:
        case: what of the layer decides, e.g. ``weight-only`` ("" for the ordinary case).
        forced: backend that is taken without a walk ("" for none).
        untold: why neither can be said of this case ("" where one is).
        order: what the automatic choice asks, in order.
        eligible: those of `order` whose device rule does not say no.
    """

    id: str
    flag: str
    order: tuple[str, ...]
    eligible: tuple[str, ...]
    rows: tuple[BackendRow, ...]
    source: Source
    case: str = ""
    forced: str = ""
    untold: str = ""


class Counted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many items a section has, with the words to ask for it."""

    section: str
    items: int
    note: str = ""


class BatchDefault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a server gets on the device where nothing is said.

    Attributes:
        known: all of the tier's tests could be answered for the device.
    """

    tokens: int
    sequences: int
    known: bool
    source: Source


class ReleaseResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The surface of a release for one device; sections that were not asked for are empty.

    Attributes:
        shipped: it comes from the data of this program, not from an artifact.
        sections: what there is to ask for.
        lives: of the options or variables that are shown, when they came or went, as far as
            the shipped releases tell; those that were there all along are left out.
    """

    version: str
    capability: str
    shipped: bool
    sections: tuple[Counted, ...]
    batch: BatchDefault | None = None
    oracles: tuple[OracleView, ...] = ()
    options: tuple[Option, ...] = ()
    env: tuple[EnvVariable, ...] = ()
    configs: tuple[ConfigClass, ...] = ()
    literals: tuple[LiteralType, ...] = ()
    models: tuple[ModelEntry, ...] = ()
    rules: tuple[ConfigRule, ...] = ()
    batch_tiers: tuple[BatchTier, ...] = ()
    graphs: GraphRule | None = None
    parsers: tuple[ParserEntry, ...] = ()
    metrics: tuple[Metric, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    messages: tuple[Message, ...] = ()
    pins: tuple[Pin, ...] = ()
    extras: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    lives: dict[str, str] = {}


class Bite(StrEnum):
    """How a change between two releases bites, worst first."""

    PICK = "the pick changes"
    GONE = "something you may use is gone"
    DEFAULT = "a default changes"
    RULE = "a rule changes"
    ORDER = "candidates change, the pick does not"
    PIN = "a requirement changes"
    NEW = "something is new"
    WORDING = "only wording"


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One difference.

    Attributes:
        section: as in `release --section`.
        subject: oracle, flag, variable, parser …
        before, after: as the releases have it ("" for absent).
        used: the user's own arguments or environment name it.
    """

    bite: Bite
    section: str
    subject: str
    before: str
    after: str
    used: bool = False
    evidence: tuple[Evidence, ...] = ()


class ReleaseDiff(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What changes from one release to the other on a device, worst first.

    Attributes:
        hidden: how many changes of wording and novelties the text leaves out.
    """

    before: str
    after: str
    capability: str
    changes: tuple[Change, ...]


class ClaimSaid(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim of the book about a pull request.

    Attributes:
        said: releases that its source says hold it, as a specifier ("" for none named).
        agrees: whether that begins with the first tag; None where it can't be compared.
    """

    id: str
    statement: str
    said: str
    agrees: bool | None


class Contains(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a checkout's history holds a pull request.

    Attributes:
        commit: first commit that names it ("" for none).
        subject: its first line.
        first_tag: the oldest release tag that holds it ("" for none, or if there are no tags).
        claims: what the book says of it.
    """

    number: int
    commit: str
    subject: str
    first_tag: str
    head: str
    claims: tuple[ClaimSaid, ...] = ()


class KernelBuild(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one kernel family of a source build is compiled for.

    Attributes:
        wanted: architectures that the build file asks for.
        built: those that are left of the user's list.
        serves: whether the device can run one of them.
    """

    family: str
    wanted: tuple[str, ...]
    built: tuple[str, ...]
    serves: bool
    guard: str
    source: Source


class BuildResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which kernel families a source build gets."""

    version: str
    cuda: str
    arch_list: tuple[str, ...]
    capability: str
    families: tuple[KernelBuild, ...]


DOCUMENTS = {
    "release show": ReleaseResult,
    "release diff": ReleaseDiff,
    "release args": ServeLine,
    "release contains": Contains,
    "release builds": BuildResult,
}
