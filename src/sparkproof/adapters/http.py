"""HTTP by range, on the assumption that servers lie and lines drop."""

from __future__ import annotations

import contextlib
import re
import ssl
from collections.abc import Callable, Iterator
from concurrent import futures
from functools import partial
from typing import TypeVar

import httpx2
import msgspec

from sparkproof import __version__
from sparkproof.adapters import threads
from sparkproof.adapters.credentials import Credentials
from sparkproof.adapters.patience import STALL_S, DroppedError, FetchError, Pace, Patience
from sparkproof.core.errors import FormatError
from sparkproof.core.redaction import redact_text
from sparkproof.core.refs import redact_url

T = TypeVar("T")
_CONNECT_S = 15.0
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)\Z")
_LENGTH = re.compile(r"\d{1,18}\Z")
STREAM_BYTES = 256 * 1024
_NETWORK_HINT = "check the network, or use what is cached with --offline"


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
        pause: Callable[[float], None] | None = None,
        stall_s: float = STALL_S,
        bearer: str = "",
    ) -> None:
        """Open no connection yet.

        Args:
            stall_s: how long a head may take, and a body may bring nothing.
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
        self._stall_s = stall_s

    def patience(self) -> Patience:
        """For one fetch that starts now."""
        return Patience(self._stall_s, pause=self._pause)

    def close(self) -> None:
        """Close the pool."""
        self._client.close()

    def probe(self, url: str) -> Remote:
        """Ask for one byte: does the server do ranges, and how large is the file?

        Raises:
            FetchError: it can't be had.
        """
        remote = self._patiently(lambda: self._probe(url))
        if remote.size_bytes >= 0:
            return remote
        return msgspec.structs.replace(remote, size_bytes=self._length(url))

    def read_range(self, remote: Remote, offset: int, length: int) -> bytes:
        """Exactly that range.

        Raises:
            FetchError: it can't be had, or the server sends something else.
        """
        parts: list[bytes] = []
        patience = self.patience()
        while True:
            before = sum(map(len, parts))
            try:
                self._read_range(remote, offset + before, length - before, parts)
            except DroppedError as error:
                patience.rest(error, sum(map(len, parts)) - before)
            else:
                return b"".join(parts)

    def fetch_small(self, url: str, limit_bytes: int) -> bytes:
        """A small file, whole.

        Raises:
            FetchError: it can't be had.
            FormatError: it is larger than that.
        """
        return self._patiently(lambda: self._document(url, limit_bytes))

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
            known = response.status_code == 200 and _LENGTH.match(length)
            return Remote(url, int(length) if known else -1, etag, ranges=False)

    def _length(self, url: str) -> int:
        """What a question for the head alone says of the size; -1 for nothing."""
        try:
            with self._open(url, {}, "HEAD") as response:
                length = response.headers.get("content-length", "")
                encoded = response.headers.get("content-encoding", "identity") != "identity"
        except FetchError:  # some refuse such questions, and serve the file
            return -1
        return int(length) if _LENGTH.match(length) and not encoded else -1

    def _read_range(self, remote: Remote, offset: int, length: int, parts: list[bytes]) -> None:
        last = offset + length - 1
        left = length
        with self._open(remote.url, {"Range": f"bytes={offset}-{last}"}) as response:
            self._check_range(response, remote, offset, length)
            for piece in self._body(response, remote.url):
                left -= len(piece)
                if left < 0:
                    raise FetchError(f"{_host(remote.url)} sends more bytes than asked for")
                parts.append(piece)
        if left:
            raise DroppedError(f"{_host(remote.url)} sent fewer bytes than asked for")

    def _document(self, url: str, limit_bytes: int) -> bytes:
        with self._open(url, {}) as response:
            return self._whole(response, url, limit_bytes)

    def _whole(self, response: httpx2.Response, url: str, limit_bytes: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        for piece in self._body(response, url):
            size += len(piece)
            if size > limit_bytes:
                raise FormatError("the answer does not end", where=_host(url))
            parts.append(piece)
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
        held: list[bytes] = []
        size = 0
        pace = Pace(self._stall_s)
        broken: DroppedError | None = None
        try:
            for piece in response.iter_raw():
                held.append(piece)
                size += len(piece)
                if pace.dripping(len(piece)):
                    broken = DroppedError(f"{_host(url)} drips", hint="try again later")
                    break
                if size >= STREAM_BYTES:
                    yield b"".join(held)
                    held, size = [], 0
        except httpx2.TransportError as error:
            broken = DroppedError(f"{_host(url)} broke off: {_reason(error)}")
            broken.__cause__ = error
        if held:
            yield b"".join(held)
        if broken:
            raise broken

    def refusal(self, response: httpx2.Response, url: str) -> FetchError | None:
        """What the answer's status says against it, if anything."""
        status = response.status_code
        if status in (200, 206):
            return None
        if status in (401, 403, 407):
            return FetchError(
                f"{_host(url)} refuses us ({status})",
                hint="its user and password belong in pip's configuration or netrc",
                barred=True,
                refused=True,
                status=status,
            )
        if status in (408, 425, 429) or status >= 500:
            message = f"{_host(url)} is in trouble ({status})"
            return DroppedError(message, hint="try again later", status=status)
        message = f"{_host(url)} has no such file ({status})"
        return FetchError(message, hint="check the address", status=status)

    @contextlib.contextmanager
    def _open(
        self, url: str, headers: dict[str, str], method: str = "GET"
    ) -> Iterator[httpx2.Response]:
        response = self._send(url, headers, None, method)
        if response.status_code in (401, 403, 407) and self._credentials:
            known = self._credentials.for_url(url)
            if known:
                response.close()
                response = self._send(url, headers, known, method)
        try:
            error = self.refusal(response, url)
            if error:
                raise error
            yield response
        finally:
            response.close()

    def _send(
        self,
        url: str,
        headers: dict[str, str],
        auth: tuple[str, str] | None,
        method: str = "GET",
    ) -> httpx2.Response:
        try:
            request = self._client.build_request(method, url, headers=headers)
            send = partial(self._client.send, request, stream=True)
            return self._in_time(partial(send, auth=auth) if auth else send)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            message = f"{_host(url)} can't be reached: {_reason(error)}"
            raise FetchError(message, hint=_NETWORK_HINT, barred=True) from error
        except httpx2.TransportError as error:
            raise DroppedError(
                f"{_host(url)} gave no answer: {_reason(error)}", hint=_NETWORK_HINT
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, UnicodeError) as error:
            raise FetchError(f"{_host(url)} can't be asked: {_reason(error)}") from error

    def _in_time(self, send: Callable[[], httpx2.Response]) -> httpx2.Response:
        """The head of the answer; one that drips is left to a thread that nobody waits for."""
        outcome = threads.begin(send, "head")
        futures.wait([outcome], min(_CONNECT_S, self._stall_s) + self._stall_s)
        if not outcome.done():
            raise httpx2.ReadTimeout("its head does not end")
        return outcome.result()

    def _patiently(self, ask: Callable[[], T]) -> T:
        patience = self.patience()
        while True:
            try:
                return ask()
            except DroppedError as error:
                patience.rest(error)


def _host(url: str) -> str:
    shown = redact_url(url)
    return shown.split("/", 3)[2] if shown.count("/") >= 2 else shown


def _reason(error: Exception) -> str:
    text = redact_text(redact_url(str(error))) or type(error).__name__
    return text.splitlines()[0][:200].lower()
