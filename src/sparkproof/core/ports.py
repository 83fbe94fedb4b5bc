"""What the inner layers ask of the world; adapters implement these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Protocol, TypeVar, runtime_checkable

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.subject import Subject
from sparkproof.core.unknown import Unknown

T = TypeVar("T")
MIB = 1024 * 1024
READ_LIMIT_BYTES = 64 * MIB
"""What `Artifact.read` takes into memory unless told otherwise."""
CHUNK_BYTES = 256 * 1024
"""Size of the pieces that `Artifact.stream` hands out unless told otherwise: it fits the
second-level cache, and a larger one was slower (0.86 against 0.74 s for 646 MB of libraries,
two x86-64 cores, 2026-11-29)."""


def refuse_larger(size_bytes: int, limit_bytes: int, where: str) -> None:
    """What every `Artifact.read` does before it takes a member into memory.

    Raises:
        FormatError: it holds more than `limit_bytes`.
    """
    if size_bytes > limit_bytes:
        raise FormatError(
            f"holds {size_bytes} bytes where at most {limit_bytes} are read", where=where
        )


class ByteSource(Protocol):
    """Random access to bytes: a file, an HTTP resource read by range, memory."""

    @property
    def size_bytes(self) -> int:
        """Length of the whole."""
        ...

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes, fewer only at the end of the source.

        Raises:
            UnreachableError: the source went away.
        """
        ...

    def close(self) -> None:
        """Release handles."""
        ...


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One regular file inside an artifact.

    Attributes:
        path: POSIX path relative to the artifact's root, never absolute, without ``..``.
        size_bytes: size once decompressed, as declared.
        stored_bytes: size as stored (equal where nothing is compressed).
    """

    path: str
    size_bytes: int
    stored_bytes: int


class ArtifactLocation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a local artifact lies; small and picklable, so that a worker can open it again.

    Attributes:
        kind: ``wheel``, ``tree`` or ``sdist``.
        path: absolute path on this machine; for no eyes but ours.
        name: what errors call it.
    """

    kind: str
    path: str
    name: str


@runtime_checkable
class Artifact(Protocol):
    """One door to a wheel, an installed tree, a checkout, an sdist, later an image.

    Nothing is unpacked to disk. Reading is bounded by what a member declares: more bytes
    than that is a `FormatError`. One thread at a time, unless `location` is opened again.
    """

    @property
    def name(self) -> str:
        """What errors call it: a file name, never a path with the user's home in it."""
        ...

    @property
    def location(self) -> ArtifactLocation | None:
        """Where another process can open the same thing; None if it has to be localized first."""
        ...

    def members(self) -> tuple[Member, ...]:
        """All regular files, in a stable order (by path)."""
        ...

    def unknowns(self) -> tuple[Unknown, ...]:
        """What could not be listed: links that lead outside, special or unreadable files."""
        ...

    def read(self, path: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """The whole of one member, CRC checked where the artifact has one.

        Raises:
            KeyError: no such member.
            FormatError: damaged, encrypted, or larger than `limit_bytes`.
            UnreachableError: the source went away.
        """
        ...

    def read_at(self, path: str, offset: int, length: int) -> bytes:
        """A slice of one member, shorter only where the member ends; unchecked by any CRC.

        Cheap where the member lies uncompressed, otherwise as dear as streaming up to there.

        Raises:
            KeyError, FormatError, UnreachableError: as `read`.
        """
        ...

    def stream(self, path: str, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
        """One member front to back in chunks of at most `chunk_bytes`; CRC checked at the end.

        Raises:
            KeyError, FormatError, UnreachableError: as `read`.
        """
        ...

    def localize(self) -> Artifact:
        """The same artifact on this machine's disk; itself where it already is.

        Worth calling before most of it is read. A remote wheel goes into the cache.
        """
        ...

    def close(self) -> None:
        """Release handles."""
        ...


@runtime_checkable
class PassingArtifact(Protocol):
    """An artifact whose members lie in streams: better looked at as they pass than one by one."""

    def members(self) -> tuple[Member, ...]:
        """As `Artifact.members`; reads the streams, if nothing has yet."""
        ...

    def walk(
        self,
        wanted: Callable[[Member], bool],
        look: Callable[[str, int, Iterator[bytes]], T],
    ) -> dict[str, tuple[str, T]]:
        """Show members to `look` (path, size, bytes) in one pass, in any order, in any thread.

        Args:
            wanted: whether a file is worth it; its path is that in the stream.

        Returns:
            By member path: the path in the stream, which `look` was given, and what it said.
        """
        ...


class CheckpointSource(Protocol):
    """A checkpoint wherever it lies. Metadata and headers are read, weights never."""

    @property
    def subject(self) -> Subject:
        """What it is, with the identity that was resolved."""
        ...

    def files(self) -> dict[str, int]:
        """Files at its top, by name, with their sizes in bytes."""
        ...

    def read(self, name: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """The whole of one file.

        Raises:
            KeyError: no such file.
            FormatError: larger than `limit_bytes`.
            UnreachableError: the source went away or refuses.
        """
        ...

    def open(self, name: str) -> ByteSource:
        """One file for reading at offsets; several may be open in several threads.

        Raises:
            KeyError, UnreachableError: as `read`.
        """
        ...

    def close(self) -> None:
        """Release handles."""
        ...


class Clock(Protocol):
    """Wall-clock time, always aware and in UTC."""

    def now(self) -> datetime:
        """The present moment."""
        ...


class Progress(Protocol):
    """Where long work says how far it is; a no-op off the terminal."""

    def start(self, label: str, total: int | None = None) -> None:
        """Begin a phase of `total` units (bytes, files)."""
        ...

    def advance(self, amount: int) -> None:
        """Add to the current phase."""
        ...

    def finish(self) -> None:
        """End the current phase."""
        ...


class LogSource(Protocol):
    """Where a server's output comes from: a file, a pipe, a container engine, journald."""

    @property
    def name(self) -> str:
        """What the answer calls it."""
        ...

    def chunks(self, *, follow: bool = False) -> Iterator[bytes]:
        """The output from its beginning; with `follow`, and whatever is added.

        Raises:
            UnreachableError: there is no such file, container or unit, or no engine to ask.
        """
        ...
