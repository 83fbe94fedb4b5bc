"""One HTTP/1.1 connection to a server, for answers whose every piece is stamped with its moment.

What is read is stamped and put aside, in the very call in which the event loop hands it over: no
task is woken and nothing is parsed until the answer is whole. That is why it is not aiohttp,
which wakes a task a piece (benchmarks/client_error.py has the figures of both).
"""

from __future__ import annotations

import asyncio
import time

from sparkproof.core.errors import FormatError
from sparkproof.core.server_port import Ask, Failure
from sparkproof.formats.http1 import HEAD_LIMIT_BYTES, ChunkedReader, Head, parse_head

_ROOM = 128 << 10
_clock = time.perf_counter


class Incoming:
    """One answer while it comes in."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.sent_s = _clock()
        self.last_s = self.sent_s
        self.headers_s = -1.0
        self.head: Head | None = None
        self.failure = Failure.NONE
        self.detail = ""
        self.ended = False
        self.pieces: list[tuple[float, bytes]] = []
        self._decoded: list[tuple[float, bytes]] = []
        self._taken = 0
        self._chunks = ChunkedReader()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def end(self, failure: Failure = Failure.NONE, detail: str = "") -> None:
        """Whole, or never to be so."""
        if self.ended:
            return
        self.ended = True
        self.failure, self.detail = failure, detail
        if not self.done.done():  # it is cancelled with the task that waits for it
            self.done.set_result(None)

    def body(self) -> tuple[tuple[float, bytes], ...]:
        """The pieces of the body since `sent_s`; a damaged one as far as it goes."""
        try:
            self.decode()
        except FormatError as error:
            if not self.failure:
                self.failure, self.detail = Failure.NOT_HTTP, error.message
        return tuple(self._decoded)

    def decode(self) -> bool:
        """Take the pieces that are new out of their chunks; true when the body is whole.

        Raises:
            FormatError: no chunk where one should be.
        """
        start = self.sent_s
        chunks = self._chunks if self.head and self.head.chunked else None
        for moment, raw in self.pieces[self._taken :]:
            self._taken += 1
            if piece := chunks.feed(raw) if chunks else raw:
                self._decoded.append((moment - start, piece))
        return bool(chunks and chunks.done)


class Wire(asyncio.BufferedProtocol):
    """A connection; one answer at a time."""

    _room = memoryview(bytearray(_ROOM))  # what is read is copied out at once, so one will do

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: Incoming | None = None
        self._start = b""
        self._size = 0
        self.usable = False
        self.used = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.usable = True

    def begin(self, answer: Incoming, request: bytes) -> None:
        """Send a request whose answer goes to `answer`."""
        assert self._transport is not None
        self._answer, self._start, self._size = answer, b"", 0
        answer.sent_s = answer.last_s = _clock()
        self._transport.write(request)

    def close(self) -> None:
        """Hang up."""
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the event loop reads into."""
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        """Something came: stamp it, put it aside, look for the end."""
        moment = _clock()
        answer = self._answer
        if answer is None:
            self.close()  # nobody asked
            return
        answer.last_s = moment
        data = bytes(self._room[:nbytes])
        if answer.head is None:
            data = self._take_head(answer, data, moment)
            if answer.head is None or answer.ended:
                return
        if data:
            answer.pieces.append((moment, data))
            self._size += len(data)
        if self._size > answer.ask.limit_bytes:
            self._fail(Failure.TOO_LARGE, f"more than {answer.ask.limit_bytes} bytes")
        elif answer.head.chunked:
            self._unwrap(answer)
        elif 0 <= answer.head.length <= self._size:
            self._finish(keep=self._size == answer.head.length)

    def _take_head(self, answer: Incoming, data: bytes, moment: float) -> bytes:
        self._start += data
        while True:
            head, blank, rest = self._start.partition(b"\r\n\r\n")
            if not blank:
                known = b"HTTP/1.".startswith(self._start[:7])
                if len(self._start) > HEAD_LIMIT_BYTES or not known:
                    self._fail(Failure.NOT_HTTP, f"no HTTP/1 answer: {self._start[:40]!r}")
                return b""
            try:
                parsed = parse_head(head)
            except FormatError as error:
                self._fail(Failure.NOT_HTTP, error.message)
                return b""
            if parsed.status >= 200:
                break
            self._start = rest  # an interim answer: the real one follows
        answer.head, answer.headers_s = parsed, moment - answer.sent_s
        if parsed.headers.get("content-encoding", "identity") != "identity":
            self._fail(Failure.NOT_HTTP, "compressed, though that was declined")
        return rest

    def _unwrap(self, answer: Incoming) -> None:
        """Out of its chunks at once: a microsecond a piece, where all of them at the end would
        hold up the stamps of other streams that end in the same moment."""
        try:
            whole = answer.decode()
        except FormatError as error:
            self._fail(Failure.NOT_HTTP, error.message)
            return
        if whole:
            self._finish(keep=True)

    def _finish(self, *, keep: bool) -> None:
        answer, self._answer = self._answer, None
        assert answer is not None
        assert answer.head is not None
        self.used = True
        if not (keep and answer.head.keeps):
            self.close()
        answer.end()

    def _fail(self, failure: Failure, detail: str) -> None:
        answer, self._answer = self._answer, None
        self.close()
        if answer is not None:
            answer.end(failure, detail)

    def eof_received(self) -> bool:
        """The server is done sending."""
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """The line is gone; whether that was the end of the answer, its head tells."""
        self.usable = False
        answer, self._answer = self._answer, None
        if answer is None:
            return
        head = answer.head
        if head and not head.chunked and head.length < 0 and error is None:
            answer.end()
            return
        what = f"{type(error).__name__}" if error else "closed"
        where = "in the middle of the answer" if head else "without an answer"
        answer.end(Failure.DROPPED, f"{what} {where}")
