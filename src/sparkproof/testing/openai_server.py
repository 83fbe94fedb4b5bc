"""Puts the stand-in on a loopback socket, with known moments and with faults of the line.

Each piece is written at the moment its script gives it, and the moment at which it really went
out is noted on the machine's monotonic clock, which other processes share: so a client's error is
its own. ``python -m sparkproof.testing.openai_server SETTINGS.json LOG.jsonl`` serves in a process
of its own, prints its port, and writes the log when its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from sparkproof.testing.loopback import LoopServer
from sparkproof.testing.stand_in import StandIn
from sparkproof.testing.stand_in_answer import Behaviour, Response

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 500: "Error"}


@dataclass
class LineFaults:
    """What the line does to answers of POST; by default nothing.

    Attributes:
        drop_after: closes after so many pieces; -1 never.
        stall_after: falls silent for good after so many pieces; -1 never.
        endless: sends pieces without end, as fast as they go.
        drip_s: sends single bytes with so long between two of them.
        raw: sends this instead of any HTTP answer.
        bad_event: puts an event that is no JSON first.
        redirect: answers every request with 302 to this address.
    """

    drop_after: int = -1
    stall_after: int = -1
    endless: bool = False
    drip_s: float = 0.0
    raw: bytes = b""
    bad_event: bool = False
    redirect: str = ""


@dataclass
class OpenAIServer(LoopServer):
    """Serves a stand-in on 127.0.0.1 until the ``with`` block ends.

    Attributes:
        port: to listen on; 0 for any that is free, and then the one it got.
        moments: of every streamed answer: when its request was whole, and when each piece that
            carries a token went out, in nanoseconds of `time.perf_counter_ns`.
    """

    stand_in: StandIn = field(default_factory=StandIn)
    faults: LineFaults = field(default_factory=LineFaults)
    moments: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0
    lines: set[_Line] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    async def serve(self) -> None:
        """Listen until it is told to stop."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Line(self), "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self.started()
        await self.stop.wait()
        server.close()
        for line in list(self.lines):
            line.cut()
        await asyncio.sleep(0)


class _Line(asyncio.Protocol):
    """One connection."""

    def __init__(self, owner: OpenAIServer) -> None:
        self._owner = owner
        self._buffer = b""
        self._timers: list[asyncio.TimerHandle] = []
        self._loop = asyncio.get_running_loop()
        self._start, self._start_ns = self._loop.time(), time.perf_counter_ns()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._owner.lines.add(self)

    def cut(self) -> None:
        """Hang up."""
        self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._owner.lines.discard(self)
        for timer in self._timers:
            timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._buffer.startswith(b"\x16\x03"):  # TLS, which we do not speak
            self._transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            self._transport.close()
            return
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
            length = int(headers.get("content-length", 0))
            if len(rest) < length:
                return
            self._buffer = rest[length:]
            method, target, _ = lines[0].split(" ", 2)
            bearer = next(
                (x[22:] for x in lines if x.lower().startswith("authorization: bearer ")), ""
            )
            self._answer(method, target.split("?")[0], rest[:length], bearer)

    def _answer(self, method: str, path: str, body: bytes, key: str) -> None:
        arrived = time.perf_counter_ns()
        faults = self._owner.faults
        if faults.raw:
            self._transport.write(faults.raw)
            self._transport.close()
            return
        if faults.redirect:
            head = f"HTTP/1.1 302 Found\r\nLocation: {faults.redirect}\r\nContent-Length: 0\r\n\r\n"
            self._transport.write(head.encode())
            return
        try:
            answer = self._owner.stand_in.respond(method, path, body, key)
        except ValueError:
            answer = Response(400, "application/json", ((0.0, b'{"detail": "bad JSON"}'),))
        if "event-stream" in answer.content_type:
            self._stream(answer, arrived)
        else:
            self._whole(method, answer, arrived)

    def _whole(self, method: str, answer: Response, arrived: int) -> None:
        faults = self._owner.faults
        body = b"".join(piece for _, piece in answer.pieces)
        head = _head(answer, f"Content-Length: {len(body)}")
        if method == "POST" and faults.endless:
            self._transport.write(_head(answer, "Connection: close"))
            self._endless()
            return
        if method == "POST" and faults.drop_after >= 0:
            self._transport.write(head + body[: len(body) // 2])
            self._transport.close()
            return
        if method == "POST" and faults.drip_s:
            self._transport.write(head)
            for number in range(len(body)):
                self._at(arrived, number * faults.drip_s, body[number : number + 1], None)
            return
        if method == "POST" and faults.stall_after >= 0:
            return
        self._at(arrived, answer.pieces[-1][0], head + body, None)

    def _stream(self, answer: Response, arrived: int) -> None:
        faults = self._owner.faults
        self._transport.write(_head(answer, "Transfer-Encoding: chunked"))
        if faults.endless:
            self._endless()
            return
        note: dict[str, Any] = {"arrived": arrived, "tokens": []}
        self._owner.moments.append(note)
        pieces = answer.pieces
        if faults.bad_event:
            pieces = ((0.0, b"data: {oops\n\n"), *pieces)
        for number, (moment, piece) in enumerate(pieces):
            if number in (faults.drop_after, faults.stall_after):
                if number == faults.drop_after:
                    self._at(arrived, moment, None, None)
                return
            token = number - faults.bad_event in answer.tokens
            # Timers of one moment are not kept in order: a nanosecond apart they are.
            when = moment + number * 1e-9
            self._at(arrived, when, _chunk(piece), note["tokens"] if token else None)
        self._at(arrived, pieces[-1][0] + len(pieces) * 1e-9, b"0\r\n\r\n", None)

    def _at(self, arrived: int, after_s: float, data: bytes | None, log: list[int] | None) -> None:
        def write() -> None:
            if self._transport.is_closing():
                return
            if data is None:
                self._transport.close()
                return
            self._transport.write(data)
            if log is not None:
                log.append(time.perf_counter_ns())

        when = self._start + (arrived - self._start_ns) / 1e9 + after_s
        self._timers.append(self._loop.call_at(when, write))

    def _endless(self) -> None:
        if not self._transport.is_closing():
            if self._transport.get_write_buffer_size() < 1 << 20:
                self._transport.write(_chunk(b"x" * 65536))
            self._timers.append(self._loop.call_later(0.0005, self._endless))


def _head(answer: Response, framing: str) -> bytes:
    reason = _REASONS.get(answer.status, "Status")
    kind = f"Content-Type: {answer.content_type}\r\n" if answer.content_type else ""
    return f"HTTP/1.1 {answer.status} {reason}\r\n{kind}{framing}\r\n\r\n".encode()


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def serve(settings: dict[str, Any], log: Path) -> None:
    """Serve in this process until stdin ends, then write the moments as JSON lines."""
    with OpenAIServer(StandIn(msgspec.convert(settings, Behaviour))) as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        sys.stdin.read()
        log.write_text("".join(json.dumps(note) + "\n" for note in server.moments))


if __name__ == "__main__":
    serve(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
