"""A model hub on the loopback address: one repository, and the refusals that a hub knows."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_API = re.compile(r"/api/models/(?P<repo>[^?]+?)(?:/revision/(?P<revision>[^?/]+))?(?:\?.*)?\Z")
_FILE = re.compile(r"/(?P<repo>[\w.-]+/[\w.-]+)/resolve/(?P<commit>\w+)/(?P<name>[^?]+)\Z")
_RANGE = re.compile(r"bytes=(\d+)-(\d+)\Z")


@dataclass
class HubServer:
    """Serves `files` of `repository` until the ``with`` block ends.

    Attributes:
        files: name to beginning of the content.
        sizes: whole sizes of files that are longer than what is served of them.
        gated: the listing is open, the files want a token.
        private: nothing is there without the token.
        token: the one that opens both.
        elsewhere: port of a second server that files are redirected to; 0 for none.
        ranges: answers ranges.
        requests: path, range and token of every request.
    """

    repository: str = "org/model"
    files: dict[str, bytes] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    gated: bool = False
    private: bool = False
    token: str = "hf_test"  # noqa: S105
    elsewhere: int = 0
    ranges: bool = True
    listing: bytes = b""
    status: int = 0
    requests: list[tuple[str, str, str]] = field(default_factory=list)

    def __enter__(self) -> HubServer:
        owner = self

        class Handler(_Handler):
            hub = owner

        self._httpd = _Quiet(("127.0.0.1", 0), Handler)
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

    @property
    def endpoint(self) -> str:
        """What ``HF_ENDPOINT`` would be."""
        return f"http://127.0.0.1:{self.port}"

    def size(self, name: str) -> int:
        """Bytes of a whole file."""
        return self.sizes.get(name, len(self.files[name]))

    def listed(self) -> bytes:
        """The answer about the repository."""
        siblings = [{"rfilename": name, "size": self.size(name)} for name in self.files]
        return (
            self.listing
            or json.dumps(
                {"id": self.repository, "sha": COMMIT, "gated": self.gated, "siblings": siblings}
            ).encode()
        )


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are part of the play."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: HubServer
    timeout = 5

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer as a hub would."""
        hub = self.hub
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        hub.requests.append((self.path, self.headers.get("Range", ""), token))
        if hub.status:
            self._refuse(HTTPStatus(hub.status), "")
        elif api := _API.match(self.path):
            self._api(api["repo"], api["revision"] or "main", known=token == hub.token)
        elif file := _FILE.match(self.path):
            self._file(file["name"], file["commit"], known=token == hub.token)
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "")

    def _api(self, repository: str, revision: str, *, known: bool) -> None:
        hub = self.hub
        if repository != hub.repository or (hub.private and not known):
            self._refuse(HTTPStatus.UNAUTHORIZED, "RepoNotFound")
        elif revision not in ("main", COMMIT):
            self._refuse(HTTPStatus.NOT_FOUND, "RevisionNotFound")
        else:
            self._send(HTTPStatus.OK, hub.listed(), {"Content-Type": "application/json"})

    def _file(self, name: str, commit: str, *, known: bool) -> None:
        hub = self.hub
        if name not in hub.files or commit != COMMIT:
            self._refuse(HTTPStatus.NOT_FOUND, "EntryNotFound")
        elif (hub.gated or hub.private) and not known:
            self._refuse(HTTPStatus.UNAUTHORIZED, "GatedRepo")
        elif hub.elsewhere:
            where = f"http://127.0.0.1:{hub.elsewhere}{self.path}"
            self._send(HTTPStatus.FOUND, b"", {"Location": where})
        else:
            self._content(name)

    def _content(self, name: str) -> None:
        hub = self.hub
        wanted = _RANGE.match(self.headers.get("Range", ""))
        data, size = hub.files[name], hub.size(name)
        if not wanted or not hub.ranges:
            self._send(HTTPStatus.OK, data + bytes(size - len(data)), {})
            return
        first, last = int(wanted[1]), min(int(wanted[2]), size - 1)
        piece = data[first : last + 1].ljust(last + 1 - first, b"\0")
        told = {"Content-Range": f"bytes {first}-{last}/{size}"}
        self._send(HTTPStatus.PARTIAL_CONTENT, piece, told)

    def _refuse(self, status: HTTPStatus, code: str) -> None:
        self._send(status, b"", {"X-Error-Code": code} if code else {})

    def _send(self, status: HTTPStatus, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True
