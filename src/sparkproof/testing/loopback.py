"""What the stand-ins on the loopback address share: start, stop, ranges, small answers."""

from __future__ import annotations

import asyncio
import base64
import re
import threading
from collections.abc import Mapping
from concurrent import futures
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NamedTuple, Self

from sparkproof.adapters import threads

_RANGE = re.compile(r"bytes=(\d*)-(\d*)\Z")
_START_S = 10.0


class Span(NamedTuple):
    """Bytes that a range asks for, the end not among them."""

    start: int
    end: int

    def header(self, total: int, shift: int = 0) -> str:
        """Value of ``Content-Range``, moved by `shift` bytes where the server lies."""
        return f"bytes {self.start + shift}-{self.end - 1 + shift}/{total}"


def asked_span(header: str, size: int) -> Span | None:
    """What a ``Range`` header wants of so many bytes; None where it asks for all."""
    found = _RANGE.match(header)
    if not found or not (found[1] or found[2]):
        return None
    if not found[1]:
        return Span(max(0, size - int(found[2])), size)
    return Span(int(found[1]), min(int(found[2]) + 1 if found[2] else size, size))


class LoopbackHandler(BaseHTTPRequestHandler):
    """One connection; `state` is the stand-in that it belongs to."""

    protocol_version = "HTTP/1.1"
    timeout = 5
    state: Any

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer."""
        self.answer()

    def do_HEAD(self) -> None:
        """As `do_GET`, without a body."""
        self.answer()

    def answer(self) -> None:
        """Answer the request; its body is left out where nobody wants one."""
        raise NotImplementedError

    def asked(self, size: int) -> Span | None:
        """The range that the request wants."""
        return asked_span(self.headers.get("Range", ""), size)

    def login(self) -> str:
        """``user:password`` of basic authentication, "" without."""
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        return base64.b64decode(value).decode() if scheme == "Basic" else ""

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Status and headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def write(self, data: bytes) -> bool:
        """Send; false where the client has hung up, which ends the connection."""
        try:
            self.wfile.write(b"" if self.command == "HEAD" else data)
        except OSError:
            self.close_connection = True
            return False
        return True

    def say(
        self, status: HTTPStatus, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """A whole answer."""
        self.begin(status, {**(headers or {}), "Content-Length": str(len(body))})
        self.write(body)


class LoopbackServer:
    """Serves with `handler`, a thread a connection, until the ``with`` block ends."""

    handler: ClassVar[type[LoopbackHandler]]

    def __enter__(self) -> Self:
        bound = type("Handler", (self.handler,), {"state": self})
        self._httpd = _QuietServer(("127.0.0.1", 0), bound)
        self._thread = threading.Thread(target=self._httpd.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._httpd.shutdown()
        self._httpd.server_close()
        self._thread.join(5)

    @property
    def port(self) -> int:
        """Where it listens on 127.0.0.1."""
        return int(self._httpd.server_address[1])


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are part of the play."""


class LoopServer:
    """Runs `serve` in an event loop of its own thread until the ``with`` block ends."""

    async def serve(self) -> None:
        """Listen, call `started`, wait for `stop`."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._ready = threading.Event()
        self._ended = threads.begin(lambda: asyncio.run(self._serve()), "loop")
        self._ended.add_done_callback(lambda _: self._ready.set())
        self._ready.wait(_START_S)
        if self._ended.done():
            self._ended.result()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ended.done():
            self._loop.call_soon_threadsafe(self.stop.set)
        futures.wait([self._ended], _START_S)
        if self._ended.done():
            self._ended.result()

    def started(self) -> None:
        """Let the ``with`` block begin."""
        self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.stop = asyncio.Event()
        await self.serve()
