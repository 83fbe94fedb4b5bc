"""Reads a log of any length into its boots, in one pass and flat memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.boot_log import LogReading
from sparkproof.core.unknown import Unknown
from sparkproof.formats.magic import HEAD_BYTES, Kind, kind_by_bytes, known_kind
from sparkproof.formats.vllm_log.lines import LINE_LIMIT, LineCutter
from sparkproof.formats.vllm_log.open_boot import OpenBoot
from sparkproof.formats.vllm_log.phrases import DULL, PhraseIndex

BOOTS_KEPT = 8
"""Boots that a reading holds; of more, the last ones."""
_ACCESS = b' HTTP/1.1" '
_GIVE = "give a server's output: `docker logs NAME`, `journalctl -u UNIT`, a file"
_DOCUMENT_HEADINGS = 3
"""A pasted log may have a comment before and after it."""


class LogReader:
    """Feed it chunks; ask it for the reading at any time."""

    def __init__(self, index: PhraseIndex, where: str) -> None:
        self._index = index
        self._where = where
        self._cutter = LineCutter()
        self._ended: deque[OpenBoot] = deque(maxlen=BOOTS_KEPT - 1)
        self._current = OpenBoot(index, 1, 1)
        self._lines = 0
        self._recognised = 0
        self._headed = 0
        self._headings = 0
        self._head = b""

    def feed(self, chunks: Iterable[bytes]) -> None:
        """Take in the log, or more of it; an unfinished line waits for the rest.

        Raises:
            FormatError: it is a file of another kind.
        """
        self._feed_batches(self._cutter.split(self._looked_at(chunks)))

    def _looked_at(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if len(self._head) < HEAD_BYTES:
                self._head += chunk[: HEAD_BYTES - len(self._head)]
                self._refuse(known_kind(self._head))
            yield chunk

    def _refuse(self, kind: Kind | None) -> None:
        if kind is not None:
            raise FormatError(
                f"this is {kind.name}, not a log", where=self._where, hint=kind.way_out or _GIVE
            )

    def finish(self) -> None:
        """Take in a last line that has no newline; call it once, at the end."""
        self._feed_batches(self._cutter.flush())

    def _feed_batches(self, batches: Iterable[list[bytes]]) -> None:
        look_up = self._current.index.look_up
        for batch in batches:
            number = self._lines
            self._lines += len(batch)
            boot = self._current
            recognised = headed = 0
            for raw in batch:
                number += 1
                if _ACCESS in raw:
                    recognised += 1
                    headed += 1
                    status = raw.rpartition(_ACCESS)[2][:1]
                    boot.answered(raw, status, number)
                    continue
                interest = look_up(raw)
                if interest is None:
                    if raw[:1] == b"#" and raw.lstrip(b"#")[:1] == b" ":
                        self._headings += 1
                    continue
                recognised += 1
                headed += interest.headed
                if interest is DULL:
                    boot.stamped = raw
                    continue
                if interest.turning:
                    if boot.turns(raw, interest):
                        boot = self._next_boot(number)
                        boot.start(raw, interest)
                    look_up = boot.index.look_up
                if interest.headed:
                    boot.stamped = raw
                boot.add(raw, interest, number)
            self._recognised += recognised
            self._headed += headed
            boot.line = self._lines

    def _next_boot(self, number: int) -> OpenBoot:
        self._current.line = number - 1
        self._ended.append(self._current)
        self._current = OpenBoot(self._index, self._current.number + 1, number)
        return self._current

    @property
    def state(self) -> str:
        """Version and phase in a few words, for somebody who watches."""
        return self._current.state

    @property
    def decided(self) -> bool:
        """Whether the current boot is ready or has failed."""
        return self._current.decided

    def reading(self) -> LogReading:
        """Everything so far.

        Raises:
            FormatError: no line of it is of vLLM's making or holds a phrase that we know, or it
                is a text that talks of such lines.
        """
        boots = tuple(boot.finish() for boot in (*self._ended, self._current))
        if not self._headed:
            self._refuse(kind_by_bytes(self._head))
            self._refuse_other_engine()
        if not self._recognised:
            raise nothing_known(self._where)
        if not self._headed and not any(boot.errors for boot in boots):
            if self._headings >= _DOCUMENT_HEADINGS:
                raise _refusal("this is a document with headings, not a log", self._where)
            if not any(boot.fact_count or boot.hits for boot in boots):
                raise nothing_known(self._where)
        return LogReading(
            where=self._where,
            boots=boots,
            boots_total=self._current.number,
            lines=self._lines,
            size_bytes=self._cutter.size_bytes,
            recognised=self._recognised,
            headed=self._headed,
            unknowns=self._unknowns(),
        )

    def _refuse_other_engine(self) -> None:
        other = next((b.other for b in (*self._ended, self._current) if b.other), "")
        if other:
            hint = f"only vLLM's logs are read; of {other}'s no line is judged"
            raise FormatError(f"this is {other}'s log, not vLLM's", where=self._where, hint=hint)

    def _unknowns(self) -> tuple[Unknown, ...]:
        if not self._cutter.cut:
            return ()
        why = f"{self._cutter.cut} longer than {LINE_LIMIT} bytes; only their beginnings were read"
        return (Unknown(where=self._where, why=f"lines: {why}", topic="log"),)


def nothing_known(where: str) -> FormatError:
    """The error for a text of which no line is a vLLM log's."""
    return _refusal("no line of this is a vLLM log's, or says anything we know", where)


def _refusal(why: str, where: str) -> FormatError:
    return FormatError(why, where=where, hint=_GIVE)


def read_log(chunks: Iterable[bytes], index: PhraseIndex, where: str) -> LogReading:
    """Read a whole log.

    Raises:
        FormatError: nothing in it is of vLLM's making.
    """
    reader = LogReader(index, where)
    reader.feed(chunks)
    reader.finish()
    return reader.reading()
