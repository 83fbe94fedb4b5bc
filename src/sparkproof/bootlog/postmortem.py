"""After a death: the pieces on one timeline, and one cause or none."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from sparkproof.bootlog.witnesses import Ending, is_own
from sparkproof.core.observations.boot_log import BootLog, Hit, Outcome
from sparkproof.core.results.log import TimelineEntry
from sparkproof.formats.kernel_log import KernelEvent

_SIGNALS = {
    129: "SIGHUP",
    130: "SIGINT (Ctrl-C)",
    132: "SIGILL: an instruction this processor does not have",
    134: "SIGABRT: a C++ abort or assertion",
    135: "SIGBUS: a mapped file or shared memory ended early",
    136: "SIGFPE",
    137: "SIGKILL: the OOM killer, the engine's stop timeout, or a person",
    139: "SIGSEGV: a crash in native code",
    143: "SIGTERM: an ordinary stop",
}
_SIGKILL = 137
_ORDINARY = frozenset({0, 130, 143})
_PRESSURE = re.compile(r"(?P<kind>some|full) avg10=(?P<ten>[\d.]+) avg60=(?P<sixty>[\d.]+)")
_MODEL_LABEL = re.compile(r'model_name="([^"]+)"')
_NAME = re.compile(r"[^\s\[\]'\",]+")
_OTHERS = "of another time or process"
_FULL_SUSPECT_PCT = 10.0


class DeathPieces(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything there is besides the engine's log; all of it optional.

    Attributes:
        exit_code: of the container or unit; -1 for unknown.
        ended: the engine says that the container runs no more.
        oom_killed: the container engine's flag.
        kernel: events of the kernel log.
        kernel_hits: phrases found in those of them that are this boot's.
        pressure: text of ``/proc/pressure/memory``.
    """

    exit_code: int = -1
    ended: bool = False
    oom_killed: bool = False
    started: str = ""
    finished: str = ""
    kernel: tuple[KernelEvent, ...] = ()
    kernel_hits: tuple[Hit, ...] = ()
    metrics: tuple[str, ...] = ()
    pressure: str = ""

    @property
    def ending(self) -> Ending:
        """What an event of the kernel's is held against."""
        killed = self.oom_killed or self.exit_code == _SIGKILL
        return Ending(killed=killed, finished=self.finished)


def explain_exit(code: int) -> str:
    """What an exit code says."""
    if code in _SIGNALS:
        return f"{code}: {_SIGNALS[code]}"
    if code == 0:
        return "0: it ended by itself, or was stopped"
    return f"{code}: the server ended with an error" if code > 0 else ""


def with_pieces(boot: BootLog, pieces: DeathPieces) -> BootLog:
    """The boot as the other pieces complete it: their phrases, and that it died at all."""
    hits = {hit.probe: hit for hit in boot.hits}
    last = boot.last_line + 1
    for hit in pieces.kernel_hits:
        known = hits.get(hit.probe)
        if known is None or known.after_shutdown:
            hits[hit.probe] = msgspec.structs.replace(
                hit, line=last, last_line=last + hit.line, phase=boot.reached
            )
    outcome = _outcome(boot, pieces)
    return msgspec.structs.replace(boot, hits=tuple(hits.values()), outcome=outcome)


def own_events(boot: BootLog, pieces: DeathPieces) -> tuple[KernelEvent, ...]:
    """The kernel's events that may be told as this boot's."""
    seen = msgspec.structs.replace(boot, outcome=_outcome(boot, pieces))
    return tuple(event for event in pieces.kernel if is_own(event, seen, pieces.ending))


def _outcome(boot: BootLog, pieces: DeathPieces) -> Outcome:
    """How it ended: what the container's state says, where the log ends without a word."""
    killed = pieces.oom_killed or (pieces.exit_code > 0 and pieces.exit_code not in _ORDINARY)
    killed = killed or any(
        e.victim in boot.pids and is_own(e, boot, pieces.ending) for e in pieces.kernel
    )
    if killed and boot.outcome in (Outcome.SERVING, Outcome.STOPPED):
        return Outcome.DIED
    if killed and boot.outcome is Outcome.UNFINISHED:
        return Outcome.FAILED
    if pieces.ended and boot.outcome is Outcome.SERVING:
        return Outcome.STOPPED
    return boot.outcome


def served_names(boot: BootLog) -> tuple[str, ...]:
    """The names that its metrics can bear."""
    told = boot.argument("served_model_name")
    told = boot.argument("model") if told in (None, "None") else told
    return tuple(_NAME.findall(told or ""))


def other_server(boot: BootLog, pieces: DeathPieces) -> str:
    """Whose metrics these are, where they name a model that this server does not serve."""
    own = served_names(boot)
    seen = {name for line in pieces.metrics for name in _MODEL_LABEL.findall(line)}
    return ", ".join(sorted(seen)) if own and not seen.intersection(own) else ""


def build_timeline(boot: BootLog | None, pieces: DeathPieces) -> tuple[TimelineEntry, ...]:
    """Each source's events in its own order: engine, container, kernel, metrics, pressure."""
    found: list[TimelineEntry] = []
    if pieces.started:
        found.append(TimelineEntry(pieces.started, "container", "started"))
    if boot is not None:
        found += _engine(boot)
    found += _kernel(boot, pieces)
    if pieces.exit_code >= 0 or pieces.oom_killed:
        flag = ", flagged OOMKilled" if pieces.oom_killed else ""
        what = f"exit code {explain_exit(pieces.exit_code)}{flag}"
        found.append(TimelineEntry(pieces.finished, "container", what))
    other = other_server(boot, pieces) if boot is not None else ""
    whose = f"of another server ({other}): " if other else ""
    found += [TimelineEntry("", "metrics", f"{whose}{line}") for line in pieces.metrics]
    found += _pressure(pieces.pressure)
    return tuple(found)


def _kernel(boot: BootLog | None, pieces: DeathPieces) -> list[TimelineEntry]:
    own = set(own_events(boot, pieces)) if boot is not None else set(pieces.kernel)
    return [
        TimelineEntry(e.at, "kernel", e.text if e in own else f"{_OTHERS}: {e.text}", e.line)
        for e in pieces.kernel[-40:]
    ]


def _engine(boot: BootLog) -> list[TimelineEntry]:
    rows = [
        (p.line, TimelineEntry(p.at, "engine", f"entered {p.phase.value}", p.line))
        for p in boot.phases
    ]
    rows += [
        (e.line, TimelineEntry("", "engine", f"{e.kind}: {e.message}"[:300], e.line))
        for e in boot.errors[:8]
        if not e.after_shutdown
    ]
    return [entry for _, entry in sorted(rows, key=lambda row: row[0])]


def _pressure(text: str) -> Iterable[TimelineEntry]:
    for match in _PRESSURE.finditer(text):
        share = float(match["ten"])
        note = ": the box was stalling for memory" if share >= _FULL_SUSPECT_PCT else ""
        what = f"memory pressure {match['kind']}: {share}% of the last 10 s{note}"
        yield TimelineEntry("", "pressure", what)
