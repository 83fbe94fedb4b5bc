"""Work on bytes in a thread of its own, beside the one that reads them.

Inflating, hashing and decompressing release the interpreter's lock, so that a second core is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from queue import Queue
from typing import Generic, TypeVar

from sparkproof.adapters import threads
from sparkproof.core.errors import FormatError

T = TypeVar("T")
_DEPTH = 32
"""Pieces (of at most a MiB) that may wait. With 8, three threads on two cores wait too often."""


class _Start:
    def __init__(self, key: str, path: str, size_bytes: int) -> None:
        self.key = key
        self.path = path
        self.size_bytes = size_bytes


class Lookout(Generic[T]):
    """Shows files to `look` in a second thread, one after the other, while they pass.

    Use it as a context manager; `found` is complete behind it.
    """

    def __init__(self, look: Callable[[str, int, Iterator[bytes]], T]) -> None:
        self._look = look
        self._queue: Queue[_Start | bytes | None] = Queue(_DEPTH)
        self._waiting: Iterator[_Start | bytes] = iter(self._queue.get, None)
        self.found: dict[tuple[str, str], T] = {}
        """By the key of the stream and the path in it."""

    def __enter__(self) -> Lookout[T]:
        self._outcome = threads.begin(self._work, "lookout")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._queue.put(None)
        error = self._outcome.exception()
        if kind is None and error is not None:
            raise error

    def offer(self, key: str, path: str, size_bytes: int, chunks: Iterator[bytes]) -> None:
        """Hand one file over; returns when its bytes were read, not when they were looked at."""
        self._queue.put(_Start(key, path, size_bytes))
        for chunk in chunks:
            if chunk:
                self._queue.put(chunk)
        self._queue.put(b"")

    def _work(self) -> None:
        try:
            for item in self._waiting:
                if isinstance(item, _Start):
                    self._one(item)
        finally:
            for _ in self._waiting:
                pass

    def _one(self, start: _Start) -> None:
        pieces = self._pieces()
        self.found[start.key, start.path] = self._look(start.path, start.size_bytes, pieces)
        for _ in pieces:
            pass

    def _pieces(self) -> Iterator[bytes]:
        for item in self._waiting:
            if not item:
                return
            assert isinstance(item, bytes)
            yield item


class HashBeside:
    """SHA-256 in a thread of its own; `hexdigest` is told behind the ``with``."""

    def __init__(self) -> None:
        self._queue: Queue[bytes] = Queue(_DEPTH)
        self._digest = hashlib.sha256()
        self.hexdigest = ""

    def __enter__(self) -> HashBeside:
        self._outcome = threads.begin(self._work, "sha256")
        return self

    def __exit__(self, *_: object) -> None:
        self._queue.put(b"")
        self._outcome.result()
        self.hexdigest = self._digest.hexdigest()

    def update(self, chunk: bytes) -> None:
        """Take more; returns before it is hashed."""
        if chunk:
            self._queue.put(chunk)

    def watch(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks as they are."""
        for chunk in chunks:
            self.update(chunk)
            yield chunk

    def _work(self) -> None:
        while chunk := self._queue.get():
            self._digest.update(chunk)


def verified(chunks: Iterator[bytes], sha256: str, size_bytes: int, where: str) -> Iterator[bytes]:
    """The chunks as they are; at their end it is checked that they are what was announced.

    Args:
        sha256: lower-case hex.

    Raises:
        FormatError: another size or digest.
    """
    total = 0
    with HashBeside() as digest:
        for chunk in chunks:
            total += len(chunk)
            if total > size_bytes:
                break
            digest.update(chunk)
            yield chunk
    if total != size_bytes:
        word = "more" if total > size_bytes else f"{total}"
        raise FormatError(f"has {word} bytes where {size_bytes} are announced", where=where)
    if digest.hexdigest != sha256:
        raise FormatError(
            f"is not what it is called: its sha256 is {digest.hexdigest[:12]}…, not {sha256[:12]}…",
            where=where,
            hint="the registry, a proxy or the disk changed it",
        )
