"""What ``sparkproof log`` answers."""

from __future__ import annotations

import msgspec

from sparkproof.core.finding import Confidence, Evidence
from sparkproof.core.observations.boot_log import BootLog


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A signature that matched.

    Attributes:
        signature: its id; ``sparkproof explain`` has the page.
        names_cause: false where it tells the kind of failure only.
        conditions: how many separate conditions held; more is more specific.
        yields: gives way to any other cause.
        keep: what to save next time, where the cause stays open.
    """

    signature: str
    title: str
    failure_class: str
    names_cause: bool
    confidence: Confidence
    cause: str
    remedy: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    conditions: int
    yields: bool = False
    first_fixed: str = ""
    keep: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a failed boot died of, or that it can't be told.

    Attributes:
        cause: the one most likely; None where none is named.
        rivals: causes that match as well and say something else; then `cause` is None.
        kinds: signatures that tell the kind of failure only.
        requests: what requests failed of while the server lived; no failure of the server.
        troubled: the log shows a failure at all.
        last_good: the last phase that was passed.
        saw: the first error of the log, as printed ("" for none).
        keep: what to save next time.
    """

    cause: Cause | None
    rivals: tuple[Cause, ...]
    kinds: tuple[Cause, ...]
    troubled: bool
    last_good: str
    saw: str = ""
    saw_line: int = 0
    keep: tuple[str, ...] = ()
    requests: tuple[Cause, ...] = ()


class Derived(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement that follows from printed numbers.

    Attributes:
        failing: by it the server did not do its work when the log ended, whatever the reason.
    """

    name: str
    text: str
    suspicious: bool = False
    failing: bool = False


class BootView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One boot with what follows from it."""

    boot: BootLog
    derived: tuple[Derived, ...]
    diagnosis: Diagnosis


class TimelineEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One event of a post-mortem.

    Attributes:
        at: the source's own stamp ("" where it has none).
        source: ``engine``, ``container``, ``kernel``, ``metrics``, ``pressure``.
    """

    at: str
    source: str
    what: str
    line: int = 0


class LogResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A log, a response, or the pieces of a post-mortem.

    Attributes:
        boots: the last boots, oldest first.
        response: what a response or transcript shows (empty for logs).
        timeline: of a post-mortem.
    """

    where: str
    boots: tuple[BootView, ...] = ()
    boots_total: int = 0
    lines: int = 0
    size_bytes: int = 0
    response: tuple[Cause, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()


DOCUMENTS = {"log": LogResult}
