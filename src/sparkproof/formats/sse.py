"""Server-sent events: bytes in, in whatever pieces they come, whole events out.

The event stream of the HTML standard: lines end in LF, CR or CRLF, a blank line ends an event,
a colon begins a comment, several ``data`` lines make one text. Bytes that are no UTF-8 become
U+FFFD, as the standard says. Any way of cutting the same bytes gives the same events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from sparkproof.core.errors import FormatError

EVENT_LIMIT_BYTES = 8 << 20
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


class SseEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One event.

    Attributes:
        data: its ``data`` lines, joined by newlines.
        event: its type ("" where the stream names none).
        at: bytes of the stream up to and including the line that ended it.
    """

    data: str
    event: str = ""
    at: int = 0


class SseReader:
    """Takes bytes as they arrive and gives the events that they complete."""

    def __init__(self, limit_bytes: int = EVENT_LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._after_cr = False
        self._started = False
        self._eaten = 0
        self._data: list[bytes] = []
        self._size = 0
        self._event = b""

    def feed(self, piece: bytes) -> list[SseEvent]:
        """The events that are complete now.

        Raises:
            FormatError: one event is larger than the limit.
        """
        if self._started and not self._parts and _is_one(piece) and not (self._data or self._event):
            self._eaten += len(piece)
            return [SseEvent(piece[6:-2].decode("utf-8", "replace"), "", self._eaten)]
        if b"\n" not in piece and b"\r" not in piece and not self._after_cr:
            self._keep(piece)
            return []
        return list(self._lines(self._taken() + piece, last=False))

    def finish(self) -> list[SseEvent]:
        """The stream has ended: an event that no blank line closed is dropped, as it should be."""
        return list(self._lines(self._taken(), last=True))

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._parts.append(piece)
            self._held += len(piece)
            self._after_cr = piece.endswith(b"\r")
        if self._size + self._held > self._limit:
            raise FormatError(
                f"an event of more than {self._limit} bytes",
                where="event stream",
                offset=self._eaten,
            )

    def _taken(self) -> bytes:
        text = b"".join(self._parts)
        self._parts, self._held, self._after_cr = [], 0, False
        return text

    def _lines(self, text: bytes, *, last: bool) -> Iterator[SseEvent]:
        start = 0
        if not self._started and text:
            if len(text) < len(_BOM) and _BOM.startswith(text) and not last:
                self._keep(text)
                return
            self._started = True
            if text.startswith(_BOM):
                start = len(_BOM)
                self._eaten += start
        for found in _LINE_END.finditer(text, start):
            if found.end() == len(text) and found[0] == b"\r" and not last:
                break  # its LF may still be on the way
            self._eaten += found.end() - start
            if found.start() == start:
                if self._data:
                    yield self._dispatch()
                self._event = b""
            else:
                self._field(text[start : found.start()])
            start = found.end()
        self._keep(text[start:])

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            self._data.append(value)
            self._size += len(value)
        elif name == b"event":
            self._event = value.removeprefix(b" ")

    def _dispatch(self) -> SseEvent:
        data = b"\n".join(self._data).decode("utf-8", "replace")
        event = SseEvent(data, self._event.decode("utf-8", "replace"), self._eaten)
        self._data = []
        self._size = 0
        return event


def _is_one(piece: bytes) -> bool:
    """One whole event of one line, as servers send them: nearly every piece is one."""
    return (
        piece.startswith(b"data: ")
        and piece.endswith(b"\n\n")
        and piece.count(b"\n") == 2
        and b"\r" not in piece
    )
