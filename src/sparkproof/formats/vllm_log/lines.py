"""A byte stream cut into lines, however long, in flat memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

LINE_LIMIT = 64 * 1024
"""Bytes kept of one line; the rest of it is skipped and counted."""


_UNDECIDED_BYTES = 16 << 10
"""A beginning of this size without any newline, but with carriage returns, ends its lines so."""
_RECORD = re.compile(
    rb"\r(?=[^\r]{0,120}?\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d{4}-)?\d\d-\d\d \d\d:)"
)
"""A record that begins behind a carriage return, as after a progress bar."""


class LineCutter:
    """Splits chunks at newlines, and at carriage returns where a record begins behind one.

    A stream without newlines has its lines end with carriage returns.

    Attributes:
        size_bytes: bytes seen so far.
        cut: lines that were longer than `LINE_LIMIT`.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self.cut = 0
        self._rest = b""
        self._skipping = False
        self._returns: bool | None = None

    def split(self, chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
        """Batches of lines without their newlines; what follows the last one is kept."""
        for chunk in chunks:
            self.size_bytes += len(chunk)
            lines = self._complete(chunk)
            if lines:
                yield lines

    def flush(self) -> Iterator[list[bytes]]:
        """What is left, where the stream ends without a newline."""
        rest, self._rest = self._rest, b""
        if self._returns is None:
            self._returns = b"\r" in rest
            lines = self._complete(rest)
            if lines:
                yield lines
            rest, self._rest = self._rest, b""
        self._skipping = False
        if rest:
            yield self._records(rest)

    def _complete(self, chunk: bytes) -> list[bytes]:
        if self._returns is None:
            chunk, self._rest = self._rest + chunk, b""
            if b"\n" not in chunk and len(chunk) < _UNDECIDED_BYTES:
                self._rest = chunk
                return []
            head = chunk[:_UNDECIDED_BYTES]
            self._returns = b"\r" in head and b"\n" not in head
        if self._returns:
            chunk = chunk.replace(b"\r", b"\n")
        lines = chunk.split(b"\n")
        if self._skipping:
            if len(lines) == 1:
                return []
            self._skipping = False
            lines[0] = self._rest
        elif self._rest:
            lines[0] = self._rest + lines[0]
        self._rest = lines.pop()
        if len(self._rest) > LINE_LIMIT:
            self._rest = self._rest[:LINE_LIMIT]
            self._skipping = True
            self.cut += 1
        kept = [line if len(line) <= LINE_LIMIT else self._shorten(line) for line in lines]
        if not any(b"\r" in line for line in kept):
            return kept
        return [record for line in kept for record in self._records(line)]

    @staticmethod
    def _records(line: bytes) -> list[bytes]:
        return _RECORD.split(line) if b"\r" in line else [line]

    def _shorten(self, line: bytes) -> bytes:
        self.cut += 1
        return line[:LINE_LIMIT]
