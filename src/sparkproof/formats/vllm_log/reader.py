"""Reads a log of any length into its boots, in one pass and flat memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.boot_log import LogReading, Phase
from sparkproof.core.unknown import Unknown
from sparkproof.facts.log_schema import LogLine
from sparkproof.formats.vllm_log.boot_builder import BootBuilder
from sparkproof.formats.vllm_log.headers import Record, parse_line
from sparkproof.formats.vllm_log.lines import LINE_LIMIT, LineCutter
from sparkproof.formats.vllm_log.phrases import (
    DULL,
    Interest,
    PhraseIndex,
    split_exception,
    split_frame,
)

BOOTS_KEPT = 8
"""Boots that a reading holds; of more, the last ones."""
_ACCESS = b' HTTP/1.1" '
_MILD = frozenset({"DEBUG", "INFO", "WARNING"})
_NEW_BOOT = frozenset({"banner", "command", "engine"})


class LogReader:
    """Feed it chunks; ask it for the reading at any time."""

    def __init__(self, index: PhraseIndex, where: str) -> None:
        self._index = index
        self._where = where
        self._cutter = LineCutter()
        self._ended: deque[BootBuilder] = deque(maxlen=BOOTS_KEPT - 1)
        self._current = BootBuilder(1, 1)
        self._lines = 0
        self._recognised = 0

    def feed(self, chunks: Iterable[bytes]) -> None:
        """Take in the log, or more of it; an unfinished line waits for the rest."""
        self.feed_batches(self._cutter.split(chunks))

    def feed_batches(self, batches: Iterable[list[bytes]]) -> None:
        """Take in lines."""
        look_up = self._index.look_up
        for batch in batches:
            number = self._lines
            self._lines += len(batch)
            for raw in batch:
                number += 1
                if _ACCESS in raw:
                    self._access(raw, number)
                    continue
                interest = look_up(raw)
                if interest is None:
                    continue
                self._recognised += 1
                if interest is not DULL:
                    self._take(raw, interest, number)
            self._current.line = self._lines

    def finish(self) -> None:
        """Take in a last line that has no newline; call it once, at the end."""
        self.feed_batches(self._cutter.flush())

    def state(self) -> str:
        """Version and phase in a few words, for somebody who watches."""
        boot = self._current
        ended = "died" if boot.dead else "failed" if boot.failed else boot.reached.value
        return f"vllm {boot.version or '?'}: {ended}"

    @property
    def decided(self) -> bool:
        """Whether the current boot is ready or has failed."""
        boot = self._current
        return boot.ready or boot.failed or boot.dead

    def reading(self) -> LogReading:
        """Everything so far.

        Raises:
            FormatError: no line of it is of vLLM's making or holds a phrase that we know.
        """
        if not self._recognised:
            raise FormatError(
                "no line of this is a vLLM log's, or says anything we know",
                where=self._where,
                hint="give a server's output: `docker logs NAME`, `journalctl -u UNIT`, a file",
            )
        wordings = self._index.wordings
        boots = tuple(boot.finish(wordings) for boot in (*self._ended, self._current))
        return LogReading(
            where=self._where,
            boots=boots,
            boots_total=self._current.number,
            lines=self._lines,
            size_bytes=self._cutter.size_bytes,
            recognised=self._recognised,
            unknowns=self._unknowns(),
        )

    def _unknowns(self) -> tuple[Unknown, ...]:
        if not self._cutter.cut:
            return ()
        why = f"{self._cutter.cut} longer than {LINE_LIMIT} bytes; only their beginnings were read"
        return (Unknown(where=self._where, why=f"lines: {why}", topic="log"),)

    def _access(self, raw: bytes, number: int) -> None:
        """Count an answered request by the first digit of its status."""
        self._recognised += 1
        status = raw[raw.rindex(_ACCESS) + len(_ACCESS) :][:1]
        boot = self._current
        if status in (b"2", b"3"):
            boot.traffic.responses[0] += 1
        elif status in (b"4", b"5"):
            boot.traffic.responses[1 if status == b"4" else 2] += 1
        if not boot.ready and status == b"2":
            boot.ready = True
            boot.enter(Phase.READY, Record("", 0, "", "", ""), number)

    def _take(self, raw: bytes, interest: Interest, number: int) -> None:
        record = parse_line(raw)
        judged = None
        for position in interest.wordings:
            wording = self._index.wordings[position]
            groups = self._match(position, wording, record)
            if groups is None:
                continue
            if wording.judgement:
                judged = wording
            self._apply(wording, groups, record, number)
        boot = self._current
        boot.stamp(record)
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

    def _match(self, position: int, wording: LogLine, record: Record) -> dict[str, str] | None:
        if wording.has not in record.message:
            return None
        pattern = self._index.patterns[position]
        if pattern is None:
            return {}
        match = pattern.search(record.message)
        if not match:
            return None
        return {name: text for name, text in match.groupdict().items() if text is not None}

    def _probe(self, position: int, record: Record, number: int) -> None:
        probe = self._index.probes[position]
        if probe.phrase.has not in record.message:
            return
        pattern = self._index.probe_patterns[position]
        if pattern is None or pattern.search(record.message):
            severe = record.level not in _MILD
            self._current.hit(probe.id, record.message.strip(), number, severe=severe)

    def _apply(self, wording: LogLine, groups: dict[str, str], record: Record, number: int) -> None:
        event = wording.event
        if event in _NEW_BOOT:
            self._maybe_next_boot(event, number)
        boot = self._current
        if event == "traffic":
            boot.traffic.add(groups)
            if not boot.ready:
                boot.ready = True
                boot.enter(Phase.READY, record, number)
            return
        if event in ("banner", "command"):
            boot.whole = True
        elif event == "ready":
            boot.ready = True
        elif event == "shutdown":
            boot.shutdown = True
        elif event == "failed" and not boot.shutdown:
            boot.failed = True
        elif event == "dead" and not boot.shutdown:
            boot.dead = True
        elif event in ("drafter", "loaded"):
            boot.drafting = event == "drafter"
        boot.note(wording, groups, record, number)

    def _maybe_next_boot(self, event: str, number: int) -> None:
        boot = self._current
        ended = boot.ready or boot.failed or boot.dead or boot.shutdown
        if event == "engine":
            fresh = ended
        elif event == "banner":
            fresh = bool(boot.version) or ended
        else:
            fresh = boot.begun
        if not fresh:
            return
        boot.line = number - 1
        self._ended.append(boot)
        self._current = BootBuilder(boot.number + 1, number)


def read_log(chunks: Iterable[bytes], index: PhraseIndex, where: str) -> LogReading:
    """Read a whole log.

    Raises:
        FormatError: nothing in it is of vLLM's making.
    """
    reader = LogReader(index, where)
    reader.feed(chunks)
    reader.finish()
    return reader.reading()
