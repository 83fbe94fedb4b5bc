"""A forward-only reader over chunks of bytes: flat memory, exact offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator


class Window:
    """A byte range captured while it passes by, whatever the reader does meanwhile."""

    def __init__(self, start: int, length: int) -> None:
        self.start = start
        self.length = length
        self._parts: list[bytes] = []
        self._have = 0

    def offer(self, offset: int, chunk: bytes) -> None:
        """Take what `chunk`, which lies at `offset`, has of the range; called in order."""
        begin = max(self.start + self._have, offset)
        end = min(self.start + self.length, offset + len(chunk))
        if begin < end and begin == self.start + self._have:
            self._parts.append(chunk[begin - offset : end - offset])
            self._have += end - begin

    @property
    def data(self) -> bytes:
        """What was captured: shorter than `length` where the input ended before."""
        return b"".join(self._parts)


class ByteCursor:
    """Pull-based reading of an iterator of chunks.

    Holds one chunk at a time, joined with the next where a small read crosses the border.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = b""
        self._at = 0
        self._base = 0
        self._windows: list[Window] = []

    @property
    def position(self) -> int:
        """Offset of the next unread byte."""
        return self._base + self._at

    def watch(self, start: int, length: int) -> Window:
        """Capture ``[start, start + length)``; bytes before `position` may be gone already."""
        window = Window(start, length)
        if start >= self._base:
            window.offer(self._base, self._buffer)
            self._windows.append(window)
        return window

    def peek(self, count: int) -> bytes:
        """The next `count` bytes without moving; fewer at the end of input."""
        while len(self._buffer) - self._at < count and self._pull():
            pass
        return self._buffer[self._at : self._at + count]

    def take(self, count: int) -> bytes:
        """The next `count` bytes; fewer at the end of input."""
        data = self.peek(count)
        self._at += len(data)
        return data

    def collect(self, count: int) -> bytes:
        """As `take` for large counts: pieces are joined once."""
        parts: list[bytes] = []
        while count:
            if self._at == len(self._buffer) and not self._replace():
                break
            part = self._buffer[self._at : self._at + count]
            parts.append(part)
            self._at += len(part)
            count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def skip(self, count: int) -> int:
        """Move over `count` bytes; returns how many there were."""
        wanted = count
        while count:
            if self._at == len(self._buffer) and not self._replace():
                break
            step = min(count, len(self._buffer) - self._at)
            self._at += step
            count -= step
        return wanted - count

    def find(
        self, magic: re.Pattern[bytes], length: int, end: int, tap: Callable[[int, bytes], None]
    ) -> bool:
        """Move to the next `magic` before `end`, or to `end` (or the end of input).

        Args:
            magic: a literal; `re` searches one twice as fast as `bytes.find` (measured).
            length: of the literal.
            tap: is given every stretch passed on the way, with its offset, in order.
        """
        while self.position < end:
            if len(self._buffer) - self._at < length and not self._pull():
                break
            limit = min(len(self._buffer), end - self._base)
            hit = magic.search(self._buffer, self._at, limit)
            stop = hit.start() if hit else max(limit - length + 1, self._at)
            if stop > self._at:
                tap(self.position, self._buffer[self._at : stop])
            self._at = stop
            if hit:
                return True
            if self._base + limit >= end or not self._pull():
                break
        rest = self.take(max(0, min(end - self.position, length)))
        if rest:
            tap(self.position - len(rest), rest)
        return False

    def _pull(self) -> bool:
        """Append the next chunk to what is unread."""
        rest = self._buffer[self._at :]
        consumed = self._base + self._at
        chunk = self._next_chunk(consumed + len(rest))
        if not chunk:
            return False
        self._base, self._at = consumed, 0
        self._buffer = rest + chunk if rest else chunk
        return True

    def _replace(self) -> bool:
        """Drop the spent buffer for the next chunk."""
        end = self._base + len(self._buffer)
        chunk = self._next_chunk(end)
        if not chunk:
            return False
        self._base, self._at, self._buffer = end, 0, chunk
        return True

    def _next_chunk(self, offset: int) -> bytes:
        for chunk in self._chunks:
            if chunk:
                if self._windows:
                    self._windows = [w for w in self._windows if w.start + w.length > offset]
                for window in self._windows:
                    window.offer(offset, chunk)
                return chunk
        return b""
