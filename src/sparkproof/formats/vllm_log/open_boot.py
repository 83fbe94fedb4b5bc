"""A boot while its lines come in.

Of thousands of boots in a log only the last few are looked at. So a line is kept as it is
until the boot is asked for or grows large; only what begins or ends a boot is read at once.
"""

from __future__ import annotations

import re

from sparkproof.core.observations.boot_log import BootLog, Phase
from sparkproof.facts.log_schema import LogLine
from sparkproof.formats.vllm_log.boot_builder import VERSION_CHARS, BootBuilder
from sparkproof.formats.vllm_log.headers import Record, parse_line
from sparkproof.formats.vllm_log.phrases import (
    ACCESS,
    Interest,
    PhraseIndex,
    split_exception,
    split_frame,
)

_PENDING_LINES = 4096
_PENDING_BYTES = 4 << 20
_MILD = frozenset({"DEBUG", "INFO", "WARNING"})
_ENDS = frozenset({"ready", "failed", "dead", "shutdown"})
_VERSIONED = frozenset({"banner", "engine"})
_PID = re.compile(rb"\bpid=(\d{1,9})\b")
_HEAD_BYTES = 200


class OpenBoot:
    """Lines of one boot, some read, some waiting."""

    def __init__(self, index: PhraseIndex, number: int, first_line: int, service: str = "") -> None:
        self._index = index
        self._boot = BootBuilder(number, first_line, service)
        self._pending: list[tuple[bytes, Interest, int]] = []
        self._pending_bytes = 0
        self._begun = self._versioned = self._ended = self._served = False
        self._base = index
        self.number = number
        self.line = first_line
        self.version = ""
        self.other = ""
        self.client = ""
        """The engine that prints such lines, where it is not vLLM."""
        self.stamped = b""
        """The last line that bears vLLM's header."""
        self.responses = self._boot.traffic.responses

    def add(self, raw: bytes, interest: Interest, number: int) -> None:
        """Keep a line for later."""
        self._pending.append((raw, interest, number))
        self._pending_bytes += len(raw)
        if interest.wordings:
            self._begun = True
        if len(self._pending) >= _PENDING_LINES or self._pending_bytes >= _PENDING_BYTES:
            self.settle()

    def answered(self, raw: bytes, status: bytes, number: int) -> None:
        """Count an answered request; the first good one shows that the server is up."""
        if status in (b"2", b"3"):
            self.responses[0] += 1
            if b'"POST ' in raw:
                self._boot.traffic.answered(number)
            if not self._served:
                self._served = self._ended = True
                self.add(raw, ACCESS, number)
        elif status in (b"4", b"5"):
            self.responses[1 if status == b"4" else 2] += 1
            if status == b"5" and b'"POST ' in raw:
                self._boot.traffic.failed()

    def turns(self, raw: bytes, interest: Interest) -> bool:
        """Whether this line begins another boot; notes what begins or ends this one."""
        record = parse_line(raw)
        fresh = False
        for position in interest.wordings:
            wording = self._index.wordings[position]
            event = wording.event
            groups = _match(self._index, position, record) if event in _TURNING else None
            if groups is None:
                continue
            if event == "engine":
                fresh = fresh or self._ended
            elif event == "banner":
                fresh = fresh or self._versioned or self._ended
            elif event == "command":
                fresh = fresh or self._begun
            elif event in _ENDS:
                self._ended = True
            if event in _VERSIONED and not fresh:
                self._versioned = True
                self._state_version(groups.get("version", "")[:VERSION_CHARS])
        return fresh

    def _state_version(self, version: str) -> None:
        """From here on the release's own wording counts as well."""
        if version and not self.version:
            self.version = version
            self._index = self._base.for_version(version)

    @property
    def index(self) -> PhraseIndex:
        """What the lines of this boot are looked up in."""
        return self._index

    def start(self, raw: bytes, interest: Interest) -> None:
        """Note what the first line of this boot begins."""
        self.turns(raw, interest)

    @property
    def decided(self) -> bool:
        """Ready or failed."""
        self.settle()
        return self._boot.ready or self._boot.failed or self._boot.dead

    @property
    def state(self) -> str:
        """Version and phase in a few words."""
        self.settle()
        boot = self._boot
        ended = "died" if boot.dead else "failed" if boot.failed else boot.reached.value
        return f"vllm {boot.version or '?'}: {ended}"

    def finish(self) -> BootLog:
        """The boot as it stands."""
        self.settle()
        self._boot.line = self.line
        self._boot.last_stamp(parse_line(self.stamped))
        return self._boot.finish(self._base.printed_by)

    def settle(self) -> None:
        """Read what was kept."""
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        for raw, interest, number in pending:
            if interest is ACCESS:
                self._come_up(number)
            else:
                self._take(raw, interest, number)

    def _come_up(self, number: int) -> None:
        if not self._boot.ready:
            self._boot.ready = True
            self._boot.enter(Phase.READY, Record("", "", "", ""), number)

    def _take(self, raw: bytes, interest: Interest, number: int) -> None:
        record = parse_line(raw)
        boot = self._boot
        for pid in _PID.findall(raw, 0, _HEAD_BYTES):
            boot.process(int(pid))
        boot.stamp(record)
        judged = None
        for position in interest.wordings:
            wording = self._index.wordings[position]
            groups = _match(self._index, position, record)
            if groups is None:
                continue
            if wording.judgement:
                judged = wording
            self._apply(wording, groups, record, number)
        for position in interest.probes:
            self._probe(position, record, number)
        if interest.frame:
            boot.frame(split_frame(record))
        elif interest.exception:
            found = split_exception(record.message.strip())
            if found:
                boot.error(*found, record, number)
        elif interest.error and record.message and not judged:
            boot.error(record.level, record.message.strip(), record, number)
        elif interest.warning:
            boot.warn(record, judged, number)

    def _probe(self, position: int, record: Record, number: int) -> None:
        probe = self._index.probes[position]
        if probe.phrase.has not in record.message:
            return
        pattern = self._index.probe_patterns[position]
        if pattern is None or pattern.search(record.message):
            severe = record.level not in _MILD
            self._boot.hit(probe.id, record.message.strip(), number, severe=severe)

    def _apply(self, wording: LogLine, groups: dict[str, str], record: Record, number: int) -> None:
        event, boot = wording.event, self._boot
        if event == "traffic":
            boot.traffic.add(groups, number)
            self._come_up(number)
            return
        if event in ("banner", "command"):
            boot.whole = True
        elif event == "ready":
            boot.ready = True
            boot.traffic.begin()
        elif event == "other":
            self.other = wording.why
        elif event == "client":
            self.client = wording.why
        elif event == "silent":
            boot.traffic.silent(number)
        elif event == "shutdown":
            boot.shutdown = True
        elif event == "failed" and not boot.shutdown:
            boot.failed = True
        elif event == "dead" and not boot.shutdown:
            boot.dead = True
        elif event in ("drafter", "loaded"):
            boot.drafting = event == "drafter"
        boot.note(wording, groups, record, number)


_TURNING = _ENDS | _VERSIONED | {"command"}


def _match(index: PhraseIndex, position: int, record: Record) -> dict[str, str] | None:
    """The named groups of a wording that this line bears, None where it doesn't."""
    if index.wordings[position].has not in record.message:
        return None
    pattern = index.patterns[position]
    if pattern is None:
        return {}
    match = pattern.search(record.message)
    if not match:
        return None
    return {name: text for name, text in match.groupdict().items() if text is not None}
