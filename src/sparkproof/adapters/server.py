"""One vLLM server over HTTP, asked asynchronously; the one place that imports aiohttp.

Every piece of an answer is kept with the moment at which it arrived, and is looked into only when
the answer is whole. The key travels in the request's header and nowhere else: whatever a server
echoes of it is masked here.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from sparkproof import __version__
from sparkproof.core.errors import UsageError
from sparkproof.core.redaction import redact_text
from sparkproof.core.server_port import Ask, Failure, Reply

KEY_VARIABLES = ("SPARKPROOF_API_KEY", "VLLM_API_KEY")
CONNECT_S = 10.0
_MASK = b"[redacted]"
_HTTPS = ("http", "https")


def server_address(text: str) -> str:
    """The address below which ``/v1`` lies, from what a user writes for it.

    Raises:
        UsageError: no http or https address.
    """
    text = text.strip().removeprefix("server:")
    parts = urlsplit(text if "://" in text else f"http://{text}")
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in _HTTPS or not parts.hostname or port == -1:
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

    def __init__(self, address: str, *, key: str = "", connections: int = 0) -> None:
        parts = urlsplit(server_address(address))
        login, _, host = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        self._base = urlunsplit((parts.scheme, host, parts.path, "", ""))
        self._auth = aiohttp.BasicAuth(user, password) if login and not key else None
        self._secrets = [s.encode() for s in (key, password) if len(s) > 3]
        self._headers = {
            "User-Agent": f"sparkproof/{__version__}",
            "Accept-Encoding": "identity",
            **({"Authorization": f"Bearer {key}"} if key else {}),
        }
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    @property
    def name(self) -> str:
        """Its address without credentials."""
        return self._base

    async def __aenter__(self) -> Server:
        connector = aiohttp.TCPConnector(limit=self._connections, force_close=False)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            auth=self._auth,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, ask: Ask) -> Reply:
        """Send one request and keep every piece of the answer with its moment.

        The clock is the machine's monotonic one (`time.perf_counter`), read when a piece is
        handed over by the event loop.
        """
        answer = _Incoming(ask.limit_bytes)
        try:
            async with asyncio.timeout(ask.timeout_s):
                await self._exchange(ask, answer)
        except aiohttp.ConnectionTimeoutError:
            answer.fail(Failure.REFUSED, f"no connection within {CONNECT_S:g} s")
        except aiohttp.SocketTimeoutError:
            answer.fail(Failure.SILENT, f"silent for {ask.silence_s:g} s")
        except TimeoutError:
            answer.fail(Failure.TIMEOUT, f"not whole after {ask.timeout_s:g} s")
        except (aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            answer.fail(_failure(error, answer.status), self._said(error))
        return answer.reply(self._masked)

    async def _exchange(self, ask: Ask, answer: _Incoming) -> None:
        if self._session is None:
            raise RuntimeError("the server is used outside its `async with`")
        extra: dict[str, Any] = {"data": ask.body} if ask.body else {}
        if ask.body:
            extra["headers"] = {"Content-Type": "application/json"}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=ask.silence_s)
        async with self._session.request(
            ask.method, self._base + ask.path, timeout=timeout, allow_redirects=False, **extra
        ) as response:
            answer.begin(response.status, response.headers.get("Content-Type", ""))
            if response.headers.get("Content-Encoding", "identity") != "identity":
                answer.fail(Failure.NOT_HTTP, "compressed, though that was declined")
                response.close()
                return
            clock, take = time.perf_counter, answer.take
            stream = response.content
            while piece := await stream.readany():
                if not take(clock(), piece):
                    response.close()
                    return

    def _masked(self, data: bytes) -> bytes:
        for secret in self._secrets:
            data = data.replace(secret, _MASK)
        return data

    def _said(self, error: Exception) -> str:
        text = self._masked(f"{type(error).__name__}: {error}".encode()).decode("utf-8", "replace")
        return redact_text(" ".join(text.split()))[:300]


class _Incoming:
    """An answer while it comes in."""

    def __init__(self, limit_bytes: int) -> None:
        self.sent_s = time.perf_counter()
        self.status = 0
        self._type = ""
        self._headers_s = -1.0
        self._failure = Failure.NONE
        self._detail = ""
        self._limit = limit_bytes
        self._size = 0
        self._pieces: list[tuple[float, bytes]] = []

    def begin(self, status: int, content_type: str) -> None:
        self._headers_s = time.perf_counter() - self.sent_s
        self.status = status
        self._type = content_type

    def take(self, moment: float, piece: bytes) -> bool:
        self._pieces.append((moment - self.sent_s, piece))
        self._size += len(piece)
        if self._size <= self._limit:
            return True
        self.fail(Failure.TOO_LARGE, f"more than {self._limit} bytes")
        return False

    def fail(self, failure: Failure, detail: str) -> None:
        self._failure, self._detail = failure, detail

    def reply(self, masked: Any) -> Reply:
        whole = b"".join(piece for _, piece in self._pieces)
        pieces = tuple(self._pieces)
        if masked(whole) != whole:  # rare; the moments of the pieces are given up for it
            pieces = ((self._pieces[-1][0], masked(whole)),)
        return Reply(
            status=self.status,
            content_type=self._type,
            failure=self._failure,
            detail=self._detail,
            sent_s=self.sent_s,
            headers_s=self._headers_s,
            ended_s=time.perf_counter() - self.sent_s,
            pieces=pieces,
        )


def _failure(error: Exception, status: int) -> Failure:
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return Failure.TLS
    if isinstance(error, aiohttp.ClientConnectorError):
        return Failure.REFUSED
    if isinstance(error, aiohttp.ClientPayloadError) or status:
        return Failure.DROPPED
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return Failure.DROPPED
    if isinstance(error, OSError) and not isinstance(error, aiohttp.ClientResponseError):
        return Failure.DROPPED
    return Failure.NOT_HTTP
