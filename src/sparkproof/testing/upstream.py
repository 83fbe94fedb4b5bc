"""The server behind the fault proxy: connections to it, and its tokenizer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from sparkproof.adapters.server import server_address
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.formats.http1 import HEAD_LIMIT_BYTES, ChunkedReader, Head, parse_head

CONNECT_S = 10.0
WHOLE_LIMIT_BYTES = 32 << 20
_PIECE = 64 << 10
_KEPT_TEXTS = 4096
_NOT_PASSED = frozenset(
    ("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect")
) | {"proxy-connection", "host", "content-length", "accept-encoding"}


class Request(NamedTuple):
    """What a client asks; header names as they came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    keeps: bool = True

    @property
    def path(self) -> str:
        """Without the query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str:
        """The first of that name, "" for none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


class Address(NamedTuple):
    """Where the server is."""

    url: str
    host: str
    port: int
    tls: bool
    path: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """From what a user writes.

        Raises:
            UsageError: no address, or one with a login in it.
        """
        url = server_address(text)
        parts = urlsplit(url)
        if "@" in parts.netloc:
            raise UsageError(
                "the server's address holds a login", hint="the proxy passes on what clients send"
            )
        tls = parts.scheme == "https"
        port = parts.port or (443 if tls else 80)
        return cls(url, parts.hostname or "", port, tls, parts.path)

    async def connect(self) -> Line:
        """A new connection.

        Raises:
            UnreachableError: nobody there.
        """
        try:
            async with asyncio.timeout(CONNECT_S):
                reader, writer = await asyncio.open_connection(
                    self.host, self.port, ssl=self.tls or None, limit=HEAD_LIMIT_BYTES
                )
        except (OSError, TimeoutError, UnicodeError) as error:
            reason = str(error) or f"no connection within {CONNECT_S:g} s"
            raise UnreachableError(
                f"no server at {self.url}: {reason}", hint="start it first, the proxy afterwards"
            ) from error
        return Line(self, reader, writer)


class Line:
    """One connection to the server, one answer at a time."""

    def __init__(
        self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._address, self._reader, self._writer = address, reader, writer
        self.head = Head(0, {})
        self.head_bytes = b""
        self.used = False
        self._chunks: ChunkedReader | None = None

    async def ask(self, request: Request) -> None:
        """Send a request and read the head of its answer.

        Raises:
            FormatError: no HTTP/1 answer.
            OSError, EOFError: the connection broke.
        """
        port = f":{self._address.port}" if self._address.port not in (80, 443) else ""
        lines = [
            f"{request.method} {self._address.path}{request.target} HTTP/1.1",
            f"Host: {self._address.host}{port}",
            "Accept-Encoding: identity",
            *(f"{key}: {value}" for key, value in request.headers if _passes(key)),
        ]
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(request.body)}")
        self._writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + request.body)
        await self._writer.drain()
        self.head = Head(100, {})
        while self.head.status < 200:
            try:
                self.head_bytes = await self._reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError as error:
                raise FormatError("a head without an end", where=self._address.url) from error
            self.head = parse_head(self.head_bytes[:-4])
        self.used = True
        self._chunks = ChunkedReader() if self.head.chunked else None
        if request.method == "HEAD":
            self.head = msgspec.structs.replace(self.head, length=0, chunked=False)

    async def body(self) -> AsyncIterator[tuple[bytes, bytes]]:
        """Its body as it comes: as on the line, and without the framing of chunks.

        Raises:
            FormatError: no chunk where one should be.
            OSError, EOFError: the connection broke in the middle.
        """
        left = self.head.length
        while left and not (self.head.chunked and self._chunks and self._chunks.done):
            raw = await self._reader.read(min(_PIECE, left) if left > 0 else _PIECE)
            if not raw and left < 0 and not self.head.chunked:
                return
            if not raw:
                raise EOFError("the server closed the connection in the middle of an answer")
            left -= len(raw) if left > 0 else 0
            yield raw, self._chunks.feed(raw) if self._chunks and self.head.chunked else raw

    async def whole(self) -> bytes:
        """All of the body.

        Raises:
            FormatError: too large to be kept.
        """
        parts, size = [], 0
        async for _, piece in self.body():
            size += len(piece)
            parts.append(piece)
            if size > WHOLE_LIMIT_BYTES:
                raise FormatError(f"more than {WHOLE_LIMIT_BYTES} bytes", where=self._address.url)
        return b"".join(parts)

    def close(self) -> None:
        """Hang up."""
        self._writer.transport.abort()


class Tokenizer:
    """The server's own; it forgets texts when it knows too many."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._known: dict[tuple[str, str], list[int]] = {}
        self._line: Line | None = None
        self._turn = asyncio.Lock()

    async def tokens(self, model: str, text: str, authorization: str) -> list[int]:
        """Ids of a text, without special tokens; none where the server gives none."""
        key = (model, text)
        if key not in self._known:
            async with self._turn:
                found = await self._asked(model, text, authorization)
            if len(self._known) >= _KEPT_TEXTS:
                self._known.clear()
            self._known[key] = found
        return list(self._known[key])

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line.close()

    async def _asked(self, model: str, text: str, authorization: str) -> list[int]:
        body = msgspec.json.encode({"model": model, "prompt": text, "add_special_tokens": False})
        headers = [("Content-Type", "application/json")]
        headers += [("Authorization", authorization)] if authorization else []
        try:
            if self._line is None:
                self._line = await self._address.connect()
            await self._line.ask(Request("POST", "/tokenize", tuple(headers), body))
            answer = await self._line.whole()
            if not self._line.head.keeps:
                self._line.close()
                self._line = None
            return msgspec.json.decode(answer, type=_Answer).tokens
        except (OSError, EOFError, FormatError, UnreachableError, msgspec.DecodeError):
            self.close()
            self._line = None
            return []


class _Answer(msgspec.Struct):
    tokens: list[int]


def _passes(header: str) -> bool:
    return header.lower() not in _NOT_PASSED
