"""What the gates ask of a server; `adapters.server` implements it, tests script it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec

ANSWER_LIMIT_BYTES = 16 << 20
"""What one answer may hold unless its question says otherwise."""
NOTHING_LISTENS = "nothing listens on port"
"""Begins the detail of a refusal by the machine itself: it is there, the server is not."""


class Failure(StrEnum):
    """Why there is no whole answer; an HTTP status is none of these."""

    NONE = ""
    REFUSED = "refused"
    """Nothing listens there, or the name does not resolve."""
    TLS = "tls"
    TIMEOUT = "timeout"
    """The whole took too long."""
    SILENT = "silent"
    """Not one byte came for too long."""
    DROPPED = "dropped"
    """The line broke in the middle of the answer."""
    TOO_LARGE = "too-large"
    NOT_HTTP = "not-http"
    INTERRUPTED = "interrupted"


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request.

    Attributes:
        label: what the receipt calls it.
        path: below the server's address, e.g. ``/v1/completions``.
        body: JSON; b"" for a GET.
        timeout_s: of the whole answer.
        silence_s: between two pieces of it.
    """

    label: str
    path: str
    body: bytes = b""
    timeout_s: float = 120.0
    silence_s: float = 60.0
    limit_bytes: int = ANSWER_LIMIT_BYTES

    @property
    def method(self) -> str:
        """GET without a body, POST with one."""
        return "POST" if self.body else "GET"


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What came back, with the moment of every piece.

    Attributes:
        status: HTTP status; 0 where there was none.
        detail: of the failure, or where a redirect leads; in one line, without credentials.
        sent_s: on the client's monotonic clock.
        headers_s: since `sent_s`, until the answer's head was there; -1 if never.
        ended_s: since `sent_s`.
        pieces: (seconds since `sent_s`, bytes) in the order they arrived.
    """

    status: int
    content_type: str = ""
    failure: Failure = Failure.NONE
    detail: str = ""
    sent_s: float = 0.0
    headers_s: float = -1.0
    ended_s: float = 0.0
    pieces: tuple[tuple[float, bytes], ...] = ()

    @property
    def body(self) -> bytes:
        """All of it."""
        return b"".join(piece for _, piece in self.pieces)

    @property
    def ok(self) -> bool:
        """A whole answer with status 200."""
        return self.status == 200 and not self.failure


class ServerPort(Protocol):
    """One server, asked asynchronously. Failures are answers, never exceptions."""

    @property
    def name(self) -> str:
        """Its address without credentials."""
        ...

    async def send(self, ask: Ask) -> Reply:
        """Send one request and keep every piece of the answer with its moment."""
        ...
