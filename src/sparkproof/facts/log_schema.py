"""The shape of a log line we understand and of a failure signature."""

from __future__ import annotations

from datetime import date

import msgspec

from sparkproof.core.finding import Confidence, Severity
from sparkproof.core.observations.boot_log import Judgement, Phase


class LogLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One wording and what it says. Named groups of `match` become facts.

    Attributes:
        has: literal text that the line must hold; the cheap test.
        match: regular expression searched in the message; its groups are named as the facts,
            unit last. ``backend``, ``candidates`` and ``why`` are taken by `layer_class` and
            `feature`.
        phase: the line marks the entry into this phase.
        event: ``banner``, ``command``, ``engine``, ``ready``, ``failed``, ``dead``,
            ``shutdown``, ``drafter``, ``loaded``, ``refused``, ``traffic``, ``silent``,
            ``other`` (printed by another engine, which `why` names), ``client`` (by a program
            that asks a server); "" for none.
        expected: the phase by whose end every such boot has printed it ("" for not expected).
        gpu_only: expected only where the device is a GPU.
        releases: releases in which the wording exists, PEP 440 ("" for all that we read).
        printed_by: who prints it, or how it is put together, where no message of vLLM's holds
            it: ``uvicorn``, ``torch``, ``argparse`` … ("" for vLLM's own messages).
        examples: lines that match.
    """

    id: str
    has: str
    match: str = ""
    phase: Phase | None = None
    event: str = ""
    layer_class: str = ""
    scheme: str = ""
    feature: str = ""
    on: bool = False
    judgement: Judgement | None = None
    why: str = ""
    expected: Phase | None = None
    gpu_only: bool = False
    releases: str = ""
    printed_by: str = ""
    examples: tuple[str, ...] = ()


class LogLines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of wordings, with where they were read."""

    source: str
    checked: date
    lines: tuple[LogLine, ...]


class Phrase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text of one line.

    Attributes:
        has: literal text that the line must hold.
        match: regular expression that must be found in it as well ("" for none).
    """

    has: str
    match: str = ""


class Clause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One condition on the lines of a boot: some line holds one of the phrases."""

    any: tuple[Phrase, ...]


class Context(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions outside the failure's own lines; each must be known to hold if it is set.

    Attributes:
        releases: PEP 440 specifier of vLLM's version; an unknown version does not contradict.
        speculation: speculation is (or is not) configured.
        prefix_caching: prefix caching is (or is not) on.
        arguments: argument name to a regular expression its value must match.
        phases: phases in which the first hit must lie.
    """

    releases: str = ""
    speculation: bool | None = None
    prefix_caching: bool | None = None
    arguments: dict[str, str] = {}
    phases: tuple[Phase, ...] = ()


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of log, and where it is from."""

    text: str
    source: str = ""


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure we can name.

    Attributes:
        id: ``family/slug``, for ever.
        names_cause: false where the lines tell the kind of failure and leave the cause open;
            such a signature is shown, with what to keep, and never passes for a cause.
        quiet: its lines may be of any level, and the server may be serving; else one of them
            must be an error or raw output.
        request: concerns requests; it never explains what a whole log shows of the server,
            and if it is `quiet` too, it is told of a server that lives as what its requests
            failed of.
        yields: gives way to any other cause: such errors are often caught and survived, or say
            less than it does.
        place: tells only where in vLLM an error arose; shown where nothing else is known of a
            boot that failed.
        clauses: all must hold.
        unless: none may be found.
        over: ids of vaguer signatures that this one displaces when both match.
        cause: one sentence.
        remedy: commands or flags, best first.
        first_fixed: release with the fix ("" for none known).
        sources: threads or documents, each with its date.
    """

    id: str
    title: str
    failure_class: str
    severity: Severity
    confidence: Confidence
    cause: str
    remedy: tuple[str, ...]
    clauses: tuple[Clause, ...]
    sources: tuple[str, ...]
    checked: date
    examples: tuple[Example, ...]
    neighbours: tuple[Example, ...]
    names_cause: bool = True
    quiet: bool = False
    request: bool = False
    yields: bool = False
    place: bool = False
    unless: tuple[Phrase, ...] = ()
    when: Context = Context()
    over: tuple[str, ...] = ()
    first_fixed: str = ""
    keep: tuple[str, ...] = ()
