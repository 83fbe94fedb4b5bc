"""Reads a log of any length into its boots, in one pass and flat memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.boot_log import BootLog, LogReading
from sparkproof.core.unknown import Unknown
from sparkproof.formats.magic import HEAD_BYTES, Kind, kind_by_bytes, known_kind
from sparkproof.formats.vllm_log.lane import Lane
from sparkproof.formats.vllm_log.lines import LINE_LIMIT, LineCutter
from sparkproof.formats.vllm_log.phrases import PhraseIndex
from sparkproof.formats.vllm_log.services import ServiceSplitter

_ANSWER = b'"finish_reason"'
_GIVE = "give a server's output: `docker logs NAME`, `journalctl -u UNIT`, a file"
_DOCUMENT_HEADINGS = 3
"""A pasted log may have a comment before and after it."""


class LogReader:
    """Feed it chunks; ask it for the reading at any time."""

    def __init__(self, index: PhraseIndex, where: str) -> None:
        self._index = index
        self._where = where
        self._cutter = LineCutter()
        self._services = ServiceSplitter()
        self._held: list[bytes] = []
        self._lanes = {"": Lane(index, "", 1)}
        self._lines = 0
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
        self._release()

    def _feed_batches(self, batches: Iterable[list[bytes]]) -> None:
        for batch in batches:
            if self._services.on is None:
                self._held += batch
                self._services.look_at(self._held)
                if self._services.on is not None:
                    self._release()
            else:
                self._take(batch)

    def _release(self) -> None:
        """Take in the lines that were held back until it was known whose they are."""
        if self._services.on is None:
            self._services.look_at(self._held, all_there_is=True)
        held, self._held = self._held, []
        self._take(held)

    def _take(self, lines: list[bytes]) -> None:
        numbers = range(self._lines + 1, self._lines + 1 + len(lines))
        self._lines += len(lines)
        if not self._services.on:
            self._lanes[""].take(numbers, lines)
            return
        for name, its_numbers, its_lines in self._services.split(numbers, lines):
            if name not in self._lanes:
                self._lanes[name] = Lane(self._index, name, its_numbers[0])
            self._lanes[name].take(its_numbers, its_lines)

    def _servers(self) -> list[Lane]:
        """Those of vLLM's making; beside such a one, what other services print is not judged."""
        if self._held:
            self._release()
        lanes = list(self._lanes.values())
        return [lane for lane in lanes if lane.headed] or lanes

    @property
    def state(self) -> str:
        """Version and phase in a few words, for somebody who watches."""
        return "; ".join(lane.state for lane in self._servers())

    @property
    def decided(self) -> bool:
        """Whether the current boot of each server is ready or has failed."""
        return all(lane.decided for lane in self._servers())

    def reading(self) -> LogReading:
        """Everything so far.

        Raises:
            FormatError: no line of it is of vLLM's making or holds a phrase that we know, or it
                is a text that talks of such lines.
        """
        lanes = self._servers()
        boots = tuple(boot for lane in lanes for boot in lane.boots())
        headed = sum(lane.headed for lane in lanes)
        if not headed:
            self._refuse_foreign(lanes, boots)
        self._refuse_client(lanes, boots)
        return LogReading(
            where=self._where,
            boots=boots,
            boots_total=sum(lane.total for lane in lanes),
            lines=self._lines,
            size_bytes=self._cutter.size_bytes,
            recognised=sum(lane.recognised for lane in lanes),
            headed=headed,
            unknowns=self._unknowns(),
        )

    def _refuse_foreign(self, lanes: list[Lane], boots: tuple[BootLog, ...]) -> None:
        """Refuse what bears no header of vLLM's and is not a piece of its output either."""
        self._refuse(kind_by_bytes(self._head))
        other = next((lane.other for lane in lanes if lane.other), "")
        if other:
            hint = f"only vLLM's logs are read; of {other}'s no line is judged"
            raise FormatError(f"this is {other}'s log, not vLLM's", where=self._where, hint=hint)
        if not any(lane.recognised for lane in lanes):
            if _ANSWER in self._head:
                hint = "sparkproof log --response FILE reads the answer's JSON"
                why = "this is of a server's answer, not of its log"
                raise FormatError(why, where=self._where, hint=hint)
            raise nothing_known(self._where)
        if any(boot.errors for boot in boots):
            return
        if sum(lane.headings for lane in lanes) >= _DOCUMENT_HEADINGS:
            raise _refusal("this is a document with headings, not a log", self._where)
        if not any(boot.fact_count or boot.hits for boot in boots):
            raise nothing_known(self._where)

    def _refuse_client(self, lanes: list[Lane], boots: tuple[BootLog, ...]) -> None:
        """Refuse what a program prints that asks a server, unless a server is in it too."""
        client = next((lane.client for lane in lanes if lane.client), "")
        if client and not any(boot.fact_count or boot.errors or boot.hits for boot in boots):
            hint = "give the log of the server that it asks"
            why = f"this is what {client} prints, not a server's log"
            raise FormatError(why, where=self._where, hint=hint)

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
