"""A stand-in for a container registry on the loopback address, which can be told to lie."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from sparkproof.testing.images import ImageFolder
from sparkproof.testing.loopback import LoopbackHandler, LoopbackServer, Span

_PATH = re.compile(r"/v2/(?P<name>.+)/(?P<kind>manifests|blobs|tags)/(?P<reference>[^/?]+)")
_PIECE = 1 << 18


@dataclass
class RegistryFaults:
    """How the registry misbehaves; by default it does not.

    Attributes:
        token: it wants a bearer token, which it gives at its own address.
        login: user and password for that token, or for basic authentication without `token`.
        swap: digest that is asked for, and the one whose bytes are sent instead.
        flip: digest of a blob of which one byte is changed.
        grow: digest of a blob that is sent with more bytes than announced.
        shrink: digest of a blob that ends early, for good.
        drop_after: closes the line after so many bytes of a blob; `drops` times.
        refuse_tags: answers 403 to the list of tags.
        realm: where it sends for a token; its own address by default.
    """

    token: bool = False
    login: tuple[str, str] | None = None
    swap: dict[str, str] = field(default_factory=dict)
    flip: str = ""
    grow: str = ""
    shrink: str = ""
    drop_after: int = -1
    drops: int = 0
    refuse_tags: bool = False
    realm: str = ""


@dataclass
class RegistryServer(LoopbackServer):
    """Serves an image folder until the ``with`` block ends.

    Attributes:
        tags: repository and tag, ``vllm/vllm-openai:v1``, to the digest of a manifest or index.
        requests: path and range of every request, in order.
        sent_bytes: of blobs, by digest.
    """

    images: ImageFolder
    tags: dict[str, str] = field(default_factory=dict)
    faults: RegistryFaults = field(default_factory=RegistryFaults)
    requests: list[tuple[str, str]] = field(default_factory=list)
    sent_bytes: dict[str, int] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """``127.0.0.1:<port>``."""
        return f"127.0.0.1:{self.port}"

    def name(self, reference: str) -> str:
        """What to ask for: the host before ``repository:tag``."""
        return f"{self.host}/{reference}"


class _Handler(LoopbackHandler):
    state: RegistryServer

    def answer(self) -> None:
        """Answer, as well as the faults let it."""
        path = self.path.split("?", 1)[0]
        self.state.requests.append((path, self.headers.get("Range", "")))
        if path == "/token":
            self._token()
            return
        if not self._allowed():
            return
        match = _PATH.match(path)
        if match and match["kind"] == "tags":
            self._tags(match["name"])
        elif match and match["kind"] == "manifests":
            self._manifest(match["name"], match["reference"])
        elif match:
            self._blob(match["reference"])
        else:
            self.say(HTTPStatus.NOT_FOUND, b"{}")

    def _allowed(self) -> bool:
        faults = self.state.faults
        given = self.headers.get("Authorization", "")
        if faults.token and given != "Bearer let-me-in":
            realm = faults.realm or f"http://{self.state.host}/token"
            ask = f'Bearer realm="{realm}",service="stand-in",scope="repository:x:pull"'
        elif not faults.token and faults.login and not self._knows(faults.login):
            ask = 'Basic realm="stand-in"'
        else:
            return True
        self.say(HTTPStatus.UNAUTHORIZED, b"{}", {"WWW-Authenticate": ask})
        return False

    def _knows(self, login: tuple[str, str]) -> bool:
        return self.login() == ":".join(login)

    def _token(self) -> None:
        login = self.state.faults.login
        if login and not self._knows(login):
            self.say(HTTPStatus.UNAUTHORIZED, b"{}")
        else:
            self.say(HTTPStatus.OK, b'{"token": "let-me-in"}')

    def _tags(self, name: str) -> None:
        if self.state.faults.refuse_tags:
            self.say(HTTPStatus.FORBIDDEN, b"{}")
            return
        tags = [t.rpartition(":")[2] for t in self.state.tags if t.startswith(f"{name}:")]
        self.say(HTTPStatus.OK, json.dumps({"name": name, "tags": tags}).encode())

    def _manifest(self, name: str, reference: str) -> None:
        digest = self.state.tags.get(f"{name}:{reference}", reference)
        path = self._path(digest)
        if path is None:
            self.say(HTTPStatus.NOT_FOUND, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')
        else:
            self.say(HTTPStatus.OK, path.read_bytes())

    def _path(self, digest: str) -> Path | None:
        digest = self.state.faults.swap.get(digest, digest)
        path = self.state.images.path(digest)
        return path if digest.startswith("sha256:") and path.is_file() else None

    def _blob(self, digest: str) -> None:
        path, faults = self._path(digest), self.state.faults
        if path is None:
            self.say(HTTPStatus.NOT_FOUND, b"{}")
            return
        size = path.stat().st_size
        if digest == faults.grow:
            self.say(HTTPStatus.OK, path.read_bytes() + b"more")
            return
        size -= 10 if digest == faults.shrink else 0
        span = self.asked(size)
        told = {"Content-Range": span.header(size)} if span else {}
        span = Span(min(span.start, size), span.end) if span else Span(0, size)
        status = HTTPStatus.PARTIAL_CONTENT if told else HTTPStatus.OK
        self.begin(status, {"Content-Length": str(span.end - span.start), **told})
        self._pour(path, span, digest)

    def _pour(self, path: Path, span: Span, digest: str) -> None:
        faults = self.state.faults
        sent, left = 0, span.end - span.start
        with path.open("rb") as file:
            file.seek(span.start)
            while sent < left:
                piece = file.read(min(_PIECE, left - sent))
                if digest == faults.flip and not sent and not span.start:
                    piece = piece[:-1] + bytes([piece[-1] ^ 1])
                if faults.drops > 0 and 0 <= faults.drop_after < sent + len(piece):
                    faults.drops -= 1
                    self.write(piece[: faults.drop_after - sent])
                    self.close_connection = True
                    return
                if not self.write(piece):
                    return
                sent += len(piece)
                self.state.sent_bytes[digest] = self.state.sent_bytes.get(digest, 0) + len(piece)


RegistryServer.handler = _Handler
