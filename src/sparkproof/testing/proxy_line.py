"""One client's connection to the fault proxy: requests in, answers out, faults in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.formats.http1 import HEAD_LIMIT_BYTES, ChunkedReader
from sparkproof.formats.sse import SseReader
from sparkproof.testing.faults.answer import add_tokens
from sparkproof.testing.faults.counts import since_restart
from sparkproof.testing.faults.fault import (
    DONE,
    Act,
    Event,
    Events,
    Exchange,
    LineCutError,
    chained,
)
from sparkproof.testing.upstream import Line, Request

if TYPE_CHECKING:
    from sparkproof.testing.proxy import FaultProxy

BODY_LIMIT_BYTES = 64 << 20
STATE_PATH = "/fault-proxy"
_PATHS = ("/v1/completions", "/v1/chat/completions")
_FRAMING = (b"content-length", b"transfer-encoding", b"connection")


class ClientProtocol(asyncio.StreamReaderProtocol):
    """Notes at once that the client has hung up, also while an answer is on its way."""

    def __init__(self, serve: Callable[[ClientLine], Any], proxy: FaultProxy) -> None:
        self.gone = asyncio.Event()
        reader = asyncio.StreamReader(HEAD_LIMIT_BYTES)

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await serve(ClientLine(proxy, reader, writer, self.gone))

        super().__init__(reader, connected)

    def eof_received(self) -> bool:
        """As `asyncio.Protocol.eof_received`; a client that ends its half wants no answer."""
        super().eof_received()
        self.gone.set()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """As `asyncio.Protocol.connection_lost`."""
        self.gone.set()
        super().connection_lost(exc)


class ClientLine:
    """Serves one client until it hangs up."""

    def __init__(
        self,
        proxy: FaultProxy,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        gone: asyncio.Event,
    ) -> None:
        self._proxy, self._reader, self._writer, self._gone = proxy, reader, writer, gone
        self._server: Line | None = None
        self._begun = False

    async def serve(self) -> None:
        """Answer one request after the other."""
        gone = asyncio.create_task(self._gone.wait())
        work = asyncio.create_task(self._requests())
        try:
            await asyncio.wait((gone, work), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            work.cancel()
            await asyncio.gather(gone, work, return_exceptions=True)
            self.cut()

    def cut(self) -> None:
        """Hang up on both sides, without ado."""
        if self._server is not None:
            self._server.close()
        if not self._writer.is_closing():
            self._writer.transport.abort()

    async def _requests(self) -> None:
        while (request := await self._request()) is not None:
            self._begun = False
            try:
                await self._one(request)
                await self._writer.drain()
            except LineCutError:
                break
            except (OSError, EOFError, FormatError, UnreachableError) as error:
                if self._begun or self._writer.is_closing():
                    break
                self._say(502, {"message": _told(error, self._proxy), "type": "BadGateway"})
                self._drop_server()
            if not request.keeps or self._writer.is_closing():
                break
        await self._closed()

    async def _closed(self) -> None:
        """Let what was written go out before the connection ends."""
        if self._writer.is_closing():
            return
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            self._drop_server()

    async def _request(self) -> Request | None:
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            return await self._read(head[:-4].decode("latin-1").split("\r\n"))
        except (EOFError, OSError):
            return None
        except (asyncio.LimitOverrunError, ValueError, FormatError) as error:
            self._say(400, {"message": f"no HTTP/1.1 request: {error}", "type": "BadRequest"})
            return None

    async def _read(self, lines: list[str]) -> Request:
        method, target, version = lines[0].split(" ")
        pairs = [line.partition(":") for line in lines[1:]]
        headers = tuple((key.strip(), value.strip()) for key, _, value in pairs)
        keeps = version == "HTTP/1.1"
        request = Request(method, target, headers, b"", keeps)
        if request.header("connection").lower() == "close":
            request = request._replace(keeps=False)
        if request.header("expect"):
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if request.header("transfer-encoding"):
            return request._replace(body=await self._chunked())
        length = int(request.header("content-length") or 0)
        if not 0 <= length <= BODY_LIMIT_BYTES:
            raise ValueError(f"a body of {length} bytes")
        return request._replace(body=await self._reader.readexactly(length))

    async def _chunked(self) -> bytes:
        chunks, body = ChunkedReader(), bytearray()
        while not chunks.done:
            raw = await self._reader.read(1 << 16)
            if not raw:
                raise EOFError
            body += chunks.feed(raw)
            if len(body) > BODY_LIMIT_BYTES:
                raise ValueError(f"a body of more than {BODY_LIMIT_BYTES} bytes")
        return bytes(body)

    async def _one(self, request: Request) -> None:
        proxy = self._proxy
        if request.path == STATE_PATH:
            self._say_body(200, msgspec.json.encode(proxy.state()))
        elif request.method == "POST" and request.path in _PATHS:
            await self._completion(request)
        elif request.method == "GET" and request.path == "/metrics":
            await self._metrics(request)
        else:
            await self._passed(await self._asked(request))

    async def _completion(self, request: Request) -> None:
        proxy = self._proxy
        exchange = proxy.begin(request)
        try:
            for fault in proxy.parsed:
                if (act := fault.arrives(exchange)) is not None:
                    exchange.acted.add(fault.name)
                    await self._acted(act)
                    return
            line = await self._asked(request)
            if line.head.status != 200 or not any(f.may_strike(exchange) for f in proxy.parsed):
                await self._passed(line)
            elif "event-stream" in line.head.headers.get("content-type", ""):
                await self._streamed(exchange, line)
            else:
                await self._whole(exchange, line)
        finally:
            proxy.end(exchange)

    async def _acted(self, act: Act) -> None:
        await self._proxy.carry_out(act, self)
        if act.status:
            self._say(act.status, {"message": act.message, "type": act.kind, "code": act.status})
        if act.dies:
            self._writer.close()

    async def _asked(self, request: Request) -> Line:
        """The server's answer as far as its head; a connection that lay idle may be dead."""
        for _ in range(2):
            if self._server is None:
                self._server = await self._proxy.address.connect()
            used = self._server.used
            try:
                await self._server.ask(request)
            except (OSError, EOFError):
                self._drop_server()
                if not used:
                    raise
            else:
                return self._server
        raise EOFError("the server closed the connection without an answer")

    def _drop_server(self) -> None:
        if self._server is not None:
            self._server.close()
        self._server = None

    def _done(self, line: Line) -> None:
        if not line.head.keeps:
            self._drop_server()
            self._writer.close()

    async def _passed(self, line: Line) -> None:
        """The answer as it came, byte for byte."""
        self._begun = True
        self._writer.write(line.head_bytes)
        async for raw, _ in line.body():
            self._writer.write(raw)
            await self._writer.drain()
        self._done(line)

    async def _metrics(self, request: Request) -> None:
        line = await self._asked(request)
        if line.head.status != 200:
            await self._passed(line)
            return
        text = (await line.whole()).decode("utf-8", "replace")
        if self._proxy.restarted_s:
            text = since_restart(text, self._proxy.counted, self._proxy.restarted_s)
        for fault in self._proxy.parsed:
            text = fault.scrape(text)
        self._reframed(line, text.encode())
        self._done(line)

    async def _whole(self, exchange: Exchange, line: Line) -> None:
        data = (await line.whole()).decode("utf-8", "replace")
        event = Event(data, _body(data), whole=True)
        try:
            async with aclosing(self._struck(exchange, _only(event))) as events:
                async for found in events:
                    self._reframed(line, found.text().encode())
        except LineCutError as cut:
            text = cut.event.text().encode()
            self._reframed(line, text, text[: len(text) // 2])
            await self._proxy.hang_up(self._writer)
            raise
        self._done(line)

    def _reframed(self, line: Line, body: bytes, sent: bytes | None = None) -> None:
        """The server's head with another body; `sent` where the line breaks within it."""
        self._begun = True
        first, *headers = line.head_bytes[:-4].split(b"\r\n")
        kept = [h for h in headers if h.partition(b":")[0].lower() not in _FRAMING]
        kept.append(b"Content-Length: %d" % len(body))
        head = b"\r\n".join((first, *kept)) + b"\r\n\r\n"
        self._writer.write(head + (body if sent is None else sent))

    async def _streamed(self, exchange: Exchange, line: Line) -> None:
        self._begun = True
        self._writer.write(line.head_bytes)
        wrap = _chunk if line.head.chunked else bytes
        try:
            async with aclosing(self._struck(exchange, _events(line))) as events:
                async for event in events:
                    self._writer.write(wrap(b"data: " + event.text().encode() + b"\n\n"))
                    await self._writer.drain()
        except LineCutError as cut:
            text = b"data: " + cut.event.text().encode()
            self._writer.write(wrap(text)[: len(text) // 2])
            await self._proxy.hang_up(self._writer)
            raise
        if line.head.chunked:
            self._writer.write(b"0\r\n\r\n")
        self._done(line)

    async def _struck(self, exchange: Exchange, events: Events) -> Events:
        for fault in self._proxy.parsed:
            events = chained(fault, exchange, events)
        async for event in events:
            add_tokens(exchange, event)
            yield event

    def _say(self, status: int, error: dict[str, object]) -> None:
        self._say_body(status, msgspec.json.encode({"error": {**error, "code": status}}))

    def _say_body(self, status: int, body: bytes) -> None:
        head = f"HTTP/1.1 {status} Fault Proxy\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


async def _only(event: Event) -> Events:
    yield event


async def _events(line: Line) -> Events:
    reader = SseReader()
    async for _, piece in line.body():
        for event in reader.feed(piece):
            yield Event(event.data, None if event.data == DONE else _body(event.data))


def _body(data: str) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _told(error: Exception, proxy: FaultProxy) -> str:
    if isinstance(error, UnreachableError):
        return error.message
    return f"the server behind the fault proxy, {proxy.address.url}: {error or 'hung up'}"
