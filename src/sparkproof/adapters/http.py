"""HTTP by range, on the assumption that servers lie and lines drop."""

from __future__ import annotations

import contextlib
import re
import ssl
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import httpx2
import msgspec

from sparkproof import __version__
from sparkproof.adapters.credentials import Credentials
from sparkproof.core.errors import UnreachableError
from sparkproof.core.redaction import redact_text
from sparkproof.core.refs import redact_url

T = TypeVar("T")
STALL_S = 30.0
"""Silence on the line after which it counts as dropped."""
_CONNECT_S = 15.0
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)\Z")
_ATTEMPTS = 4
_PAUSE_S = 0.5
STREAM_BYTES = 256 * 1024
_NETWORK_HINT = "check the network, or use what is cached with --offline"


class FetchError(UnreachableError):
    """A fetch that failed; `barred` says that pip, with its own settings, may do better.

    `refused` says that the server asked for another user.
    """

    def __init__(
        self, message: str, *, hint: str = "", barred: bool = False, refused: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.barred = barred
        self.refused = refused


class DroppedError(FetchError):
    """The line broke or stalled; asking again may help."""


class Remote(msgspec.Struct, frozen=True):
    """What a server says of one file.

    Attributes:
        size_bytes: -1 if it does not say.
        etag: strong validator ("" for none).
        ranges: it really answers a range with that range.
    """

    url: str
    size_bytes: int
    etag: str
    ranges: bool


class HttpClient:
    """One connection pool; credentials are looked up only when a server asks for them."""

    def __init__(
        self,
        credentials: Credentials | None = None,
        *,
        transport: httpx2.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
        stall_s: float = STALL_S,
        bearer: str = "",
    ) -> None:
        """Open no connection yet.

        Args:
            bearer: token for the servers asked; a redirect to another host loses it.
        """
        headers = {"User-Agent": f"sparkproof/{__version__}", "Accept-Encoding": "identity"}
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        try:
            self._client = httpx2.Client(
                follow_redirects=True,
                timeout=httpx2.Timeout(stall_s, connect=_CONNECT_S),
                transport=transport,
                headers=headers,
            )
        except (OSError, ValueError, ImportError) as error:  # certificates or proxy in the setting
            raise FetchError(
                f"HTTP can't be set up: {_reason(error)}",
                hint="check SSL_CERT_FILE and the proxy variables",
                barred=True,
            ) from error
        self._credentials = credentials
        self._pause = pause

    def close(self) -> None:
        """Close the pool."""
        self._client.close()

    def probe(self, url: str) -> Remote:
        """Ask for one byte: does the server do ranges, and how large is the file?

        Raises:
            FetchError: it can't be had.
        """
        return self._patiently(lambda: self._probe(url))

    def read_range(self, remote: Remote, offset: int, length: int) -> bytes:
        """Exactly that range.

        Raises:
            FetchError: it can't be had, or the server sends something else.
        """
        return self._patiently(lambda: self._read_range(remote, offset, length))

    @contextlib.contextmanager
    def fetch(self, remote: Remote, offset: int) -> Iterator[tuple[int, Iterator[bytes]]]:
        """The file from `offset` to its end, in one attempt.

        Yields:
            Where the pieces really start (0 where the server would not go on at `offset`),
            and the pieces.

        Raises:
            DroppedError: the line broke; the pieces before that are good.
            FetchError: as `probe`.
        """
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        if offset and remote.etag:
            headers["If-Range"] = remote.etag
        with self._open(remote.url, headers) as response:
            if response.status_code == 206:
                self._check_range(response, remote, offset, remote.size_bytes - offset)
            else:
                offset = 0
            yield offset, self._body(response, remote.url)

    def _probe(self, url: str) -> Remote:
        with self._open(url, {"Range": "bytes=0-0"}) as response:
            etag = response.headers.get("etag", "")
            etag = "" if etag.startswith("W/") else etag
            match = _CONTENT_RANGE.match(response.headers.get("content-range", ""))
            if response.status_code == 206 and match and match[3] != "*":
                return Remote(url, int(match[3]), etag, ranges=match.group(1, 2) == ("0", "0"))
            length = response.headers.get("content-length", "")
            known = response.status_code == 200 and length.isdecimal()
            return Remote(url, int(length) if known else -1, etag, ranges=False)

    def _read_range(self, remote: Remote, offset: int, length: int) -> bytes:
        last = offset + length - 1
        with self._open(remote.url, {"Range": f"bytes={offset}-{last}"}) as response:
            self._check_range(response, remote, offset, length)
            parts: list[bytes] = []
            left = length
            for piece in self._body(response, remote.url):
                left -= len(piece)
                if left < 0:
                    break
                parts.append(piece)
        if left:
            raise DroppedError(f"{_host(remote.url)} sent another number of bytes than asked for")
        return b"".join(parts)

    def _check_range(
        self, response: httpx2.Response, remote: Remote, offset: int, length: int
    ) -> None:
        match = _CONTENT_RANGE.match(response.headers.get("content-range", ""))
        if response.status_code != 206 or not match:
            raise FetchError(f"{_host(remote.url)} stopped answering ranges")
        etag = response.headers.get("etag", "")
        changed = remote.etag and etag and etag != remote.etag
        if changed or match[3] not in ("*", str(remote.size_bytes)):
            raise FetchError(f"the file changed on {_host(remote.url)} while it was read")
        if (int(match[1]), int(match[2])) != (offset, offset + length - 1):
            raise FetchError(f"{_host(remote.url)} answers another range than asked for")

    def _body(self, response: httpx2.Response, url: str) -> Iterator[bytes]:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise FetchError(f"{_host(url)} encodes the file, which nobody asked for")
        try:
            yield from response.iter_raw(STREAM_BYTES)
        except httpx2.TransportError as error:
            raise DroppedError(f"{_host(url)} broke off: {_reason(error)}") from error

    @contextlib.contextmanager
    def _open(self, url: str, headers: dict[str, str]) -> Iterator[httpx2.Response]:
        response = self._send(url, headers, None)
        if response.status_code in (401, 403, 407) and self._credentials:
            known = self._credentials.for_url(url)
            if known:
                response.close()
                response = self._send(url, headers, known)
        try:
            _check_status(response, url)
            yield response
        finally:
            response.close()

    def _send(
        self, url: str, headers: dict[str, str], auth: tuple[str, str] | None
    ) -> httpx2.Response:
        try:
            request = self._client.build_request("GET", url, headers=headers)
            if auth:
                return self._client.send(request, stream=True, auth=auth)
            return self._client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            message = f"{_host(url)} can't be reached: {_reason(error)}"
            raise FetchError(message, hint=_NETWORK_HINT, barred=True) from error
        except httpx2.TransportError as error:
            raise DroppedError(
                f"{_host(url)} gave no answer: {_reason(error)}", hint=_NETWORK_HINT
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, UnicodeError) as error:
            raise FetchError(f"{_host(url)} can't be asked: {_reason(error)}") from error

    def _patiently(self, ask: Callable[[], T]) -> T:
        for attempt in range(_ATTEMPTS - 1):
            try:
                return ask()
            except DroppedError:
                self._pause(_PAUSE_S * 2**attempt)
        return ask()


def _check_status(response: httpx2.Response, url: str) -> None:
    status = response.status_code
    if status in (200, 206):
        return
    if status in (401, 403, 407):
        raise FetchError(
            f"{_host(url)} refuses us ({status})",
            hint="its user and password belong in pip's configuration or netrc",
            barred=True,
            refused=True,
        )
    if status in (408, 425, 429) or status >= 500:
        raise DroppedError(f"{_host(url)} is in trouble ({status})", hint="try again later")
    raise FetchError(f"{_host(url)} has no such file ({status})")


def _host(url: str) -> str:
    shown = redact_url(url)
    return shown.split("/", 3)[2] if shown.count("/") >= 2 else shown


def _reason(error: Exception) -> str:
    text = redact_text(redact_url(str(error))) or type(error).__name__
    return text.splitlines()[0][:200].lower()
