"""A file server on the loopback address that can be told to misbehave."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from http import HTTPStatus

from sparkproof.testing.loopback import LoopbackHandler, LoopbackServer


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
class FileServer(LoopbackServer):
    """Serves `files` (path to bytes) until the ``with`` block ends.

    Attributes:
        requests: path, range and login of every request, in order.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    requests: list[tuple[str, str, str]] = field(default_factory=list)

    def url(self, path: str, login: str = "") -> str:
        """Address of a file; `login` is ``user:password``."""
        at = f"{login}@" if login else ""
        return f"http://{at}127.0.0.1:{self.port}/{path.lstrip('/')}"


class _Handler(LoopbackHandler):
    state: FileServer

    def answer(self) -> None:
        """Answer, as well as the faults let it."""
        state, faults = self.state, self.state.faults
        path = self.path.split("?", 1)[0]
        wanted = self.headers.get("Range", "")
        login = self.login()
        state.requests.append((path, wanted, login))
        if faults.login and login != ":".join(faults.login):
            self.say(HTTPStatus.UNAUTHORIZED, headers={"WWW-Authenticate": 'Basic realm="files"'})
        elif faults.status and faults.status_times > 0:
            faults.status_times -= 1
            self.say(HTTPStatus(faults.status))
        elif path not in state.files:
            self.say(HTTPStatus.NOT_FOUND)
        else:
            self._file(state.files[path], path)

    def _file(self, data: bytes, path: str) -> None:
        faults = self.state.faults
        serial = len(self.state.requests) if faults.change_etag else 0
        etag = f'"{hashlib.sha256(data).hexdigest()[:16]}-{serial}"'
        headers = {"ETag": etag}
        headers["Content-Type"] = self.state.types.get(path, "application/octet-stream")
        if faults.encoding:
            headers["Content-Encoding"] = faults.encoding
        same = self.headers.get("If-Range", etag) == etag
        span = self.asked(len(data))
        if span is None or not (faults.ranges and same):
            length = len(data) if faults.announce == -1 else faults.announce
            self._send(HTTPStatus.OK, headers, data, length)
            return
        total = len(data) if faults.total == -1 else faults.total
        headers["Content-Range"] = span.header(total, faults.shift)
        body = data[span.start : span.end]
        self._send(HTTPStatus.PARTIAL_CONTENT, headers, body, len(body))

    def _send(self, status: HTTPStatus, headers: dict[str, str], body: bytes, length: int) -> None:
        faults = self.state.faults
        if length >= 0:
            headers["Content-Length"] = str(length)
        else:
            headers["Connection"] = "close"
            self.close_connection = True
        self.begin(status, headers)
        if self.command == "HEAD":
            return
        if length != len(body):
            self.close_connection = True
        cut = 0 <= faults.drop_after < len(body) and faults.drops > 0
        if cut:
            faults.drops -= 1
            body = body[: faults.drop_after]
            self.close_connection = True
        self.write(body)
        if cut and faults.stall_s:
            threading.Event().wait(faults.stall_s)


FileServer.handler = _Handler
