"""One boot, gathered line by line; bounded however long it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from sparkproof.core.observations.boot_log import (
    Argument,
    BackendSeen,
    BootLog,
    ErrorSeen,
    FeatureSeen,
    Hit,
    Judgement,
    Outcome,
    Phase,
    PhaseSeen,
    RefusalSeen,
    Seen,
    WarningSeen,
)
from sparkproof.facts.log_schema import LogLine
from sparkproof.formats.vllm_log.clock import seconds_between
from sparkproof.formats.vllm_log.headers import Record
from sparkproof.formats.vllm_log.traffic import TrafficSum
from sparkproof.formats.vllm_log.values import (
    parse_arguments,
    parse_fields,
    parse_names,
    parse_value,
)

_PER_NAME = 16
_MOST = 400
_ERRORS = 24
_PIDS = 128
_TEXT_CHARS = 600
VERSION_CHARS = 80
"""What is kept of a version; no real one is longer, and longer numbers can't be compared."""
_EPHEMERAL = ("backend", "candidates", "why", "arguments", "config", "command", "version")


class BootBuilder:
    """Collects what the lines of one boot say."""

    def __init__(self, number: int, first_line: int, service: str = "") -> None:
        self.number = number
        self.service = service
        self.first_line = first_line
        self.line = first_line
        self.reached = Phase.START
        self.whole = False
        self.version = ""
        self.command = ""
        self.ready = self.failed = self.dead = self.shutdown = self.drafting = False
        self.traffic = TrafficSum()
        # Printed texts are taken apart in `finish`: of thousands of boots few are looked at.
        self._arguments_text = ""
        self._config_text = ""
        self._seen: list[Seen] = []
        self._per_name: dict[str, int] = {}
        self._wordings: set[str] = set()
        self._backends: dict[tuple[str, str, str, bool], BackendSeen] = {}
        self._refusals: dict[tuple[str, str], RefusalSeen] = {}
        self._features: dict[tuple[str, bool], FeatureSeen] = {}
        self._phases: dict[Phase, PhaseSeen] = {}
        self._warnings: dict[str, WarningSeen] = {}
        self._errors: dict[tuple[str, str], ErrorSeen] = {}
        self._hits: dict[str, Hit] = {}
        self._frames: deque[str] = deque(maxlen=3)
        self._started_at = self._latest = self._last_at = ""
        self._pids: dict[int, None] = {}
        self._error_phase_count = -1

    def enter(self, phase: Phase, record: Record, line: int) -> None:
        """Note the first entry into a phase; later ones of an earlier phase change nothing."""
        if phase not in self._phases:
            at = record.time or self._latest
            since = seconds_between(self._started_at, at)
            self._phases[phase] = PhaseSeen(phase, line, at, since)
        if phase is not Phase.SHUTDOWN and phase.rank > self.reached.rank:
            self.reached = phase

    def stamp(self, record: Record) -> None:
        """Remember the boot's first clock time, and the latest of the lines that were read."""
        self._latest = record.time or self._latest
        if not self._started_at and record.time:
            self._started_at = record.time

    def last_stamp(self, record: Record) -> None:
        """Remember the boot's last clock time."""
        self._last_at = record.time or self._last_at

    def process(self, pid: int) -> None:
        """Remember one of the boot's processes."""
        if len(self._pids) < _PIDS:
            self._pids[pid] = None

    def note(self, wording: LogLine, groups: dict[str, str], record: Record, line: int) -> None:
        """Take in one matched wording."""
        self._wordings.add(wording.id)
        if wording.phase:
            self.enter(wording.phase, record, line)
        if "version" in groups and not self.version:
            self.version = groups["version"][:VERSION_CHARS]
        if "command" in groups:
            self.command = groups["command"][:_TEXT_CHARS]
        if "arguments" in groups:
            self._arguments_text = groups["arguments"]
        if "config" in groups and not self._config_text:
            self._config_text = groups["config"]
        if wording.event == "refused":
            self._note_refusal(wording, groups, line)
        elif wording.layer_class:
            self._note_backend(wording, groups, line)
        if wording.feature:
            key = (wording.feature, wording.on)
            why = groups.get("why", "") or wording.why
            self._features.setdefault(key, FeatureSeen(*key, line, why))
        for name, text in groups.items():
            if name not in _EPHEMERAL:
                self._note_value(name, text, record, line)

    def _note_value(self, name: str, text: str, record: Record, line: int) -> None:
        count = self._per_name.get(name, 0)
        if count >= _PER_NAME or len(self._seen) >= _MOST:
            return
        self._per_name[name] = count + 1
        value = parse_value(name, text[:_TEXT_CHARS])
        self._seen.append(Seen(name, value, line, record.process))

    def _note_refusal(self, wording: LogLine, groups: dict[str, str], line: int) -> None:
        name, reason = groups.get("backend", ""), groups.get("why", "")
        if len(self._refusals) < _MOST:
            seen = RefusalSeen(
                wording.layer_class, wording.scheme, name, reason[:_TEXT_CHARS], line
            )
            self._refusals.setdefault((wording.id, name), seen)

    def _note_backend(self, wording: LogLine, groups: dict[str, str], line: int) -> None:
        name = groups.get("backend") or wording.why
        candidates = parse_names(groups.get("candidates") or "")
        before = candidates[: candidates.index(name)] if name in candidates else ()
        key = (wording.layer_class, wording.scheme, name, self.drafting)
        if name and key not in self._backends and len(self._backends) < _MOST:
            self._backends[key] = BackendSeen(
                layer_class=wording.layer_class,
                scheme=wording.scheme,
                backend=name,
                line=line,
                candidates=candidates,
                passed_over=before,
                draft=self.drafting,
            )

    def warn(self, record: Record, judged: LogLine | None, line: int) -> None:
        """Take in a warning, counted by its wording."""
        text = record.message.strip()[:_TEXT_CHARS]
        key = judged.id if judged else text.translate(_NO_DIGITS)
        old = self._warnings.get(key)
        if old:
            self._warnings[key] = msgspec.structs.replace(old, count=old.count + 1)
        elif text and len(self._warnings) < _MOST:
            judgement = judged.judgement if judged and judged.judgement else Judgement.UNKNOWN
            why = judged.why if judged else ""
            self._warnings[key] = WarningSeen(text, judgement, why, line)

    def frame(self, text: str) -> None:
        """Remember one frame of the traceback being read."""
        self._frames.append(text)

    def error(self, kind: str, message: str, record: Record, line: int) -> None:
        """Take in an exception's last line, or an error message outside a traceback."""
        key = (kind, message[:160])
        old = self._errors.get(key)
        frames, after = tuple(self._frames), self.shutdown
        self._frames.clear()
        if old:
            self._errors[key] = msgspec.structs.replace(old, count=old.count + 1)
            return
        if len(self._errors) >= _ERRORS:
            return
        self._error_phase_count = len(self._phases)
        self._errors[key] = ErrorSeen(
            kind=kind,
            message=message[:_TEXT_CHARS],
            line=line,
            phase=self.reached,
            process=record.process,
            frames=frames,
            after_shutdown=after,
        )

    def hit(self, probe: str, text: str, line: int, *, severe: bool) -> None:
        """Take in a phrase somebody asked for; a severe line displaces a harmless one."""
        old = self._hits.get(probe)
        if old is None or (severe and not old.severe):
            count = old.count + 1 if old else 1
            self._hits[probe] = Hit(
                probe, line, line, count, self.reached, text[:_TEXT_CHARS], severe, self.shutdown
            )
        else:
            self._hits[probe] = msgspec.structs.replace(old, last_line=line, count=old.count + 1)

    def finish(self, printed_by: Callable[[str], Iterable[LogLine]]) -> BootLog:
        """The boot as it stands; `printed_by` gives the wordings that a version has."""
        config = parse_fields(self._config_text)
        return BootLog(
            number=self.number,
            first_line=self.first_line,
            last_line=self.line,
            whole=self.whole,
            version=self.version,
            outcome=self._outcome(),
            reached=self.reached,
            command=self.command,
            arguments=parse_arguments(self._arguments_text),
            config=config,
            seen=tuple(self._seen),
            backends=tuple(self._backends.values()),
            refusals=tuple(self._refusals.values()),
            features=tuple(self._features.values()),
            phases=tuple(self._phases.values()),
            warnings=tuple(self._warnings.values()),
            errors=tuple(self._errors.values()),
            hits=tuple(self._hits.values()),
            traffic=self.traffic.total(),
            absent=self._absent(printed_by, config),
            started_at=self._started_at,
            last_at=self._last_at or self._started_at,
            pids=tuple(self._pids),
            service=self.service,
        )

    def _outcome(self) -> Outcome:
        if self.ready:
            if self.dead or self.failed:
                return Outcome.DIED
            return Outcome.STOPPED if self.shutdown else Outcome.SERVING
        fatal = any(not e.after_shutdown and e.kind not in _LEVELS for e in self._errors.values())
        if self.failed or self.dead:
            return Outcome.FAILED
        ended_there = self._error_phase_count == len(self._phases)
        return Outcome.FAILED if fatal and ended_there else Outcome.UNFINISHED

    def _absent(
        self, printed_by: Callable[[str], Iterable[LogLine]], config: tuple[Argument, ...]
    ) -> tuple[str, ...]:
        if not self.whole:
            return ()
        on_cpu = any(a.name == "device_config" and a.value == "cpu" for a in config)
        there = {_topic(name) for name in self._wordings}
        missing: dict[str, None] = {}
        for wording in printed_by(self.version):
            phase = wording.expected
            if phase is None or _topic(wording.id) in there or (wording.gpu_only and on_cpu):
                continue
            passed = self.ready or phase.rank < self.reached.rank
            if passed and holds_for(wording.releases, self.version) is not False:
                missing[_topic(wording.id)] = None
        return tuple(missing)


_LEVELS = frozenset({"ERROR", "CRITICAL", "FATAL"})
_NO_DIGITS = {ord(digit): None for digit in "0123456789"}


def _topic(wording: str) -> str:
    """Two wordings of one thing differ after an ``@`` only."""
    return wording.partition("@")[0]


def holds_for(releases: str, version: str) -> bool | None:
    """Whether a version satisfies a specifier; None where either is not given or no version."""
    if not releases:
        return True
    try:
        found = Version(version)
        # 0.1.dev1 is what a build without tags calls itself: it says nothing.
        if found.release[:2] == (0, 1):
            return None
        return SpecifierSet(releases, prereleases=True).contains(Version(found.base_version))
    except (InvalidVersion, InvalidSpecifier):
        return None
