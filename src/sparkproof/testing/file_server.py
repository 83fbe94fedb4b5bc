"""A file server on the loopback address that can be told to misbehave."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_RANGE = re.compile(r"bytes=(\d*)-(\d*)\Z")


@dataclass
class Faults:
    """How the server misbehaves; by default it does not.

    Attributes:
        ranges: answers ranges at all.
        drop_after: closes the line after so many bytes of a body; -1 never.
        drops: how often it does that.
        stall_s: where a line would be dropped, it falls silent for so long first.
        status: answers with this status, `status_times` times.
        announce: announced length of whole bodies; -1 the true one, -2 none at all.
        shift: answers ranges from so many bytes further on, without saying so in the length.
        total: stated size in ``Content-Range``; -1 the true one.
        encoding: ``Content-Encoding`` it claims.
        login: user and password it asks for, anything but these is 401.
        change_etag: another validator with every answer.
    """

    ranges: bool = True
    drop_after: int = -1
    drops: int = 0
    stall_s: float = 0.0
    status: int = 0
    status_times: int = 0
    announce: int = -1
    shift: int = 0
    total: int = -1
    encoding: str = ""
    login: tuple[str, str] | None = None
    change_etag: bool = False


@dataclass
class FileServer:
    """Serves `files` (path to bytes) until the ``with`` block ends.

    Attributes:
        requests: path, range and login of every request, in order.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    requests: list[tuple[str, str, str]] = field(default_factory=list)

    def __enter__(self) -> FileServer:
        owner = self

        class Handler(_Handler):
            server_state = owner

        self._httpd = _QuietServer(("127.0.0.1", 0), Handler)
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

    def url(self, path: str, login: str = "") -> str:
        """Address of a file; `login` is ``user:password``."""
        at = f"{login}@" if login else ""
        return f"http://{at}127.0.0.1:{self.port}/{path.lstrip('/')}"


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are part of the play."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: FileServer
    timeout = 5

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_HEAD(self) -> None:
        """As `do_GET`, without a body."""
        self.do_GET()

    def do_GET(self) -> None:
        """Answer, as well as the faults let it."""
        state, faults = self.server_state, self.server_state.faults
        path = self.path.split("?", 1)[0]
        wanted = self.headers.get("Range", "")
        login = self._login()
        state.requests.append((path, wanted, login))
        if faults.login and login != ":".join(faults.login):
            self._plain(HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": 'Basic realm="files"'})
        elif faults.status and faults.status_times > 0:
            faults.status_times -= 1
            self._plain(HTTPStatus(faults.status), {})
        elif path not in state.files:
            self._plain(HTTPStatus.NOT_FOUND, {})
        else:
            self._file(state.files[path], _RANGE.match(wanted), path)

    def _file(self, data: bytes, wanted: re.Match[str] | None, path: str) -> None:
        faults = self.server_state.faults
        serial = len(self.server_state.requests) if faults.change_etag else 0
        etag = f'"{hashlib.sha256(data).hexdigest()[:16]}-{serial}"'
        headers = {"ETag": etag}
        headers["Content-Type"] = self.server_state.types.get(path, "application/octet-stream")
        if faults.encoding:
            headers["Content-Encoding"] = faults.encoding
        same = self.headers.get("If-Range", etag) == etag
        if not (wanted and faults.ranges and same):
            length = len(data) if faults.announce == -1 else faults.announce
            self._send(HTTPStatus.OK, headers, data, length)
            return
        if wanted[1]:
            start = int(wanted[1])
            end = min(int(wanted[2]) if wanted[2] else len(data) - 1, len(data) - 1)
        else:
            start, end = max(0, len(data) - int(wanted[2])), len(data) - 1
        total = len(data) if faults.total == -1 else faults.total
        headers["Content-Range"] = f"bytes {start + faults.shift}-{end + faults.shift}/{total}"
        body = data[start : end + 1]
        self._send(HTTPStatus.PARTIAL_CONTENT, headers, body, len(body))

    def _send(self, status: HTTPStatus, headers: dict[str, str], body: bytes, length: int) -> None:
        faults = self.server_state.faults
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if length >= 0:
            self.send_header("Content-Length", str(length))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command == "HEAD":
            return
        if length != len(body):
            self.close_connection = True
        cut = 0 <= faults.drop_after < len(body) and faults.drops > 0
        if cut:
            faults.drops -= 1
            body = body[: faults.drop_after]
            self.close_connection = True
        try:
            self.wfile.write(body)
            if cut and faults.stall_s:
                threading.Event().wait(faults.stall_s)
        except OSError:
            self.close_connection = True

    def _plain(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _login(self) -> str:
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        return base64.b64decode(value).decode() if scheme == "Basic" else ""
