"""Servers that drip, or fall silent: the question ends in one line, whatever was asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from sparkproof.adapters.http import HttpClient, Remote
from sparkproof.adapters.patience import DroppedError, FetchError
from sparkproof.core.errors import FormatError

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


class Dripper:
    """Sends `first` of every answer at once, and then `drop` again and again until it is left."""

    def __init__(self, first: bytes, drop: bytes) -> None:
        self._first, self._drop = first, drop
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._over = threading.Event()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/file.whl"
        self.asked = 0

    def __enter__(self) -> Dripper:
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._accepting.join()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                line, _ = self._listener.accept()
                self.asked += 1
                threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: socket.socket) -> None:
        with suppress(OSError), line:
            line.recv(65536)
            line.sendall(self._first)
            while not self._over.wait(0.02):
                line.sendall(self._drop)


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(stall_s=0.3, pause=lambda _: None)
    yield client
    client.close()


def ask(client: HttpClient, url: str, question: str) -> object:
    remote = Remote(url, 1 << 20, "", ranges=True)
    if question == "probe":
        return client.probe(url)
    if question == "range":
        return client.read_range(remote, 0, 1 << 20)
    return client.fetch_small(url, 1 << 20)


@pytest.mark.parametrize("question", ["probe", "range", "small"])
@pytest.mark.parametrize(
    ("first", "drop"), [(b"", b""), (b"HTTP/1.1 200 OK\r\nX-Drip: ", b"a"), (_HEAD, b"")]
)
def test_a_head_that_does_not_end(
    client: HttpClient, question: str, first: bytes, drop: bytes
) -> None:
    with Dripper(first, drop) as server:
        with pytest.raises(DroppedError, match="gave no answer"):
            ask(client, server.url, question)
        assert server.asked == 1


def test_a_body_that_drips(client: HttpClient) -> None:
    whole = _HEAD + b"Content-Length: 1000000\r\n\r\n"
    with Dripper(whole, b"a") as server:
        with pytest.raises(DroppedError, match="drips"):
            client.fetch_small(server.url, 1 << 20)
        assert server.asked == 1


def test_a_body_that_does_not_end(client: HttpClient) -> None:
    with Dripper(_HEAD + b"\r\n", b"a" * 65536) as server, pytest.raises(FormatError):
        client.fetch_small(server.url, 1 << 18)


def test_an_answer_that_is_packed_is_not_unpacked(client: HttpClient) -> None:
    head = _HEAD + b"Content-Encoding: gzip\r\nContent-Length: 70000\r\n\r\n"
    with Dripper(head, b"a" * 1000) as server:
        with pytest.raises(FetchError, match="encodes the file"):
            client.fetch_small(server.url, 1 << 20)
        assert server.asked == 1
