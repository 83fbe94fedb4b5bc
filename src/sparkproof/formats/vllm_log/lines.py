"""A byte stream cut into lines, however long, in flat memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

LINE_LIMIT = 64 * 1024
"""Bytes kept of one line; the rest of it is skipped and counted."""


class LineCutter:
    """Splits chunks at newlines.

    Attributes:
        size_bytes: bytes seen so far.
        cut: lines that were longer than `LINE_LIMIT`.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self.cut = 0
        self._rest = b""
        self._skipping = False

    def split(self, chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
        """Batches of lines without their newlines; what follows the last one is kept."""
        for chunk in chunks:
            self.size_bytes += len(chunk)
            lines = self._complete(chunk)
            if lines:
                yield lines

    def flush(self) -> Iterator[list[bytes]]:
        """The last line, where the stream ends without a newline."""
        if self._rest:
            rest, self._rest, self._skipping = self._rest, b"", False
            yield [rest]

    def _complete(self, chunk: bytes) -> list[bytes]:
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
        return [line if len(line) <= LINE_LIMIT else self._shorten(line) for line in lines]

    def _shorten(self, line: bytes) -> bytes:
        self.cut += 1
        return line[:LINE_LIMIT]
