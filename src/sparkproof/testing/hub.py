"""A model hub on the loopback address: one repository, and the refusals that a hub knows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from http import HTTPStatus

from sparkproof.testing.loopback import LoopbackHandler, LoopbackServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_API = re.compile(r"/api/models/(?P<repo>[^?]+?)(?:/revision/(?P<revision>[^?/]+))?(?:\?.*)?\Z")
_FILE = re.compile(r"/(?P<repo>[\w.-]+/[\w.-]+)/resolve/(?P<commit>\w+)/(?P<name>[^?]+)\Z")


@dataclass
class HubServer(LoopbackServer):
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


class _Handler(LoopbackHandler):
    state: HubServer

    def answer(self) -> None:
        """Answer as a hub would."""
        hub = self.state
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
        hub = self.state
        if repository != hub.repository or (hub.private and not known):
            self._refuse(HTTPStatus.UNAUTHORIZED, "RepoNotFound")
        elif revision not in ("main", COMMIT):
            self._refuse(HTTPStatus.NOT_FOUND, "RevisionNotFound")
        else:
            self.say(HTTPStatus.OK, hub.listed(), {"Content-Type": "application/json"})

    def _file(self, name: str, commit: str, *, known: bool) -> None:
        hub = self.state
        if name not in hub.files or commit != COMMIT:
            self._refuse(HTTPStatus.NOT_FOUND, "EntryNotFound")
        elif (hub.gated or hub.private) and not known:
            self._refuse(HTTPStatus.UNAUTHORIZED, "GatedRepo")
        elif hub.elsewhere:
            where = f"http://127.0.0.1:{hub.elsewhere}{self.path}"
            self.say(HTTPStatus.FOUND, headers={"Location": where})
        else:
            self._content(name)

    def _content(self, name: str) -> None:
        hub = self.state
        data, size = hub.files[name], hub.size(name)
        span = self.asked(size)
        if span is None or not hub.ranges:
            self.say(HTTPStatus.OK, data + bytes(size - len(data)))
            return
        piece = data[span.start : span.end].ljust(span.end - span.start, b"\0")
        self.say(HTTPStatus.PARTIAL_CONTENT, piece, {"Content-Range": span.header(size)})

    def _refuse(self, status: HTTPStatus, code: str) -> None:
        self.say(status, headers={"X-Error-Code": code} if code else None)


HubServer.handler = _Handler
