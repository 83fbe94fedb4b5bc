"""One vLLM server over HTTP, asked asynchronously. Failures are answers, never exceptions.

The key travels in the request's header and nowhere else: whatever a server echoes of it is masked
here. Redirects are not followed, since the key would go with them, and no proxy is used.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import ssl
import time
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit, urlunsplit

from sparkproof import __version__
from sparkproof.adapters.wire import Incoming, Wire
from sparkproof.core.errors import UsageError
from sparkproof.core.known_secrets import KnownSecrets
from sparkproof.core.redaction import redact_text
from sparkproof.core.server_port import NOTHING_LISTENS, Ask, Failure, Reply

KEY_VARIABLES = ("SPARKPROOF_API_KEY", "VLLM_API_KEY")
CONNECT_S = 10.0
_REFUSED = f"[Errno {errno.ECONNREFUSED}]"
"""In the words of one failed connection, and of several to one name."""
_MOVED = frozenset({301, 302, 303, 307, 308})
_PORTS = {"http": 80, "https": 443}


def server_address(text: str) -> str:
    """The address below which ``/v1`` lies, from what a user writes for it.

    Raises:
        UsageError: no http or https address.
    """
    text = text.strip().removeprefix("server:")
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        known = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known or not parts.netloc.isprintable() or " " in text:
        raise UsageError(
            f"`{redact_text(text)}` is no address of a server", hint="e.g. http://127.0.0.1:8000"
        )
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def key_of(environment: Mapping[str, str] = os.environ) -> str:
    """The key that the environment names, "" for none."""
    return next((environment[name] for name in KEY_VARIABLES if environment.get(name)), "")


class Server:
    """A server at an address. Use it as ``async with``, within one event loop."""

    def __init__(self, address: str, *, key: str = "") -> None:
        parts = urlsplit(server_address(address))
        login, _, host = parts.netloc.rpartition("@")
        self._parts = parts
        self._path = parts.path
        self._base = urlunsplit((parts.scheme, host, parts.path, "", ""))
        password = unquote(login.partition(":")[2])
        authorization = _authorization(key, login)
        held = [s for s in (key, password, authorization.partition(" ")[2]) if len(s) > 3]
        self._secrets = KnownSecrets([*held, *(s.encode().decode("latin-1") for s in held)])
        self._head = _common_head(host, authorization)
        self._idle: list[Wire] = []
        self._busy: set[Wire] = set()

    @property
    def name(self) -> str:
        """Its address without credentials."""
        return self._base

    async def __aenter__(self) -> Server:
        self._tls = ssl.create_default_context() if self._parts.scheme == "https" else None
        return self

    async def __aexit__(self, *_: object) -> None:
        for wire in (*self._idle, *self._busy):
            wire.close()
        self._idle.clear()
        await asyncio.sleep(0)  # lets the transports close

    async def send(self, ask: Ask) -> Reply:
        """Send one request and keep every piece of the answer with its moment.

        Moments are read from the machine's monotonic clock (`time.perf_counter`) when the event
        loop hands a piece over.
        """
        answer = Incoming(ask)
        request = _request(ask, self._path, self._head)
        try:
            async with asyncio.timeout(ask.timeout_s):
                while not await self._exchange(answer, request):
                    answer = Incoming(ask)
        except TimeoutError:
            answer.end(Failure.TIMEOUT, f"not whole after {ask.timeout_s:g} s")
        return self._reply(answer)

    async def _exchange(self, answer: Incoming, request: bytes) -> bool:
        """One try; False where a connection kept from before turned out to be dead."""
        wire = await self._wire(answer)
        if wire is None:
            return True
        self._busy.add(wire)
        silence = _Silence(answer, wire)
        try:
            wire.begin(answer, request)
            await answer.done
        finally:
            silence.stop()
            self._busy.discard(wire)
            if not answer.ended:
                wire.close()
        if wire.usable:
            self._idle.append(wire)
        return not (answer.failure is Failure.DROPPED and wire.used and answer.head is None)

    async def _wire(self, answer: Incoming) -> Wire | None:
        """A connection that is open; None where there is none to be had, with the reason told."""
        while self._idle:
            wire = self._idle.pop()
            if wire.usable:
                return wire
        host, port = self._parts.hostname, self._parts.port or _PORTS[self._parts.scheme]
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_S):
                _, wire = await loop.create_connection(Wire, host or "", port, ssl=self._tls)
        except TimeoutError:
            answer.end(Failure.REFUSED, f"no connection within {CONNECT_S:g} s")
        except ssl.SSLError as error:
            answer.end(Failure.TLS, self._said(error))
        except (OSError, UnicodeError) as error:
            refused = _REFUSED in str(error)
            said = f"{NOTHING_LISTENS} {port}" if refused else self._said(error)
            answer.end(Failure.REFUSED, said)
        else:
            return wire
        return None

    def _reply(self, answer: Incoming) -> Reply:
        ended = time.perf_counter() - answer.sent_s
        head = answer.head
        moved = head.headers.get("location", "") if head and head.status in _MOVED else ""
        kind = head.headers.get("content-type", "") if head else ""
        pieces = answer.body()
        if pieces and not answer.failure:
            ended = pieces[-1][0]
        whole = b"".join(piece for _, piece in pieces)
        masked = self._masked(whole)
        if masked != whole:  # rare; the moments of the pieces are given up for it
            pieces = ((pieces[-1][0], masked),)
        return Reply(
            status=head.status if head else 0,
            content_type=self._secrets.masked(kind),
            failure=answer.failure,
            detail=self._secrets.masked(answer.detail)
            or (f"redirects to {self._said(moved)}" if moved else ""),
            sent_s=answer.sent_s,
            headers_s=answer.headers_s,
            ended_s=ended,
            pieces=pieces,
        )

    def _masked(self, data: bytes) -> bytes:
        """Byte for byte, since an answer may be no text."""
        return self._secrets.masked(data.decode("latin-1")).encode("latin-1")

    def _said(self, error: Exception | str) -> str:
        text = self._secrets.masked(str(error))
        return redact_text(" ".join(text.split()))[:300] or type(error).__name__


class _Silence:
    """Ends an answer that has been silent for too long; looks only when it could be."""

    def __init__(self, answer: Incoming, wire: Wire) -> None:
        self._answer, self._wire = answer, wire
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(answer.ask.silence_s, self._look)

    def _look(self) -> None:
        allowed = self._answer.ask.silence_s
        left = self._answer.last_s + allowed - time.perf_counter()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        elif not self._answer.ended:
            self._answer.end(Failure.SILENT, f"silent for {allowed:g} s")
            self._wire.close()

    def stop(self) -> None:
        self._timer.cancel()


def _authorization(key: str, login: str) -> str:
    if key:
        return f"Bearer {key}"
    if not login:
        return ""
    return "Basic " + base64.b64encode(unquote(login).encode()).decode()


def _common_head(host: str, authorization: str) -> bytes:
    lines = [f"Host: {host}", f"User-Agent: sparkproof/{__version__}", "Accept: */*"]
    lines.append("Accept-Encoding: identity")
    if authorization:
        if not authorization.isprintable():
            raise UsageError(
                "the key holds characters that no header can carry",
                hint="look for a line break or a blank behind it",
            )
        lines.append(f"Authorization: {authorization}")
    return "\r\n".join(lines).encode("latin-1", "replace")


def _request(ask: Ask, base: str, common: bytes) -> bytes:
    line = f"{ask.method} {base}{ask.path} HTTP/1.1\r\n".encode("ascii", "replace")
    if not ask.body:
        return line + common + b"\r\n\r\n"
    kind = b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ask.body)
    return line + common + kind + ask.body
