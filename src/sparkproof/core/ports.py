"""What the inner layers ask of the world; adapters implement these."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Protocol, runtime_checkable

import msgspec


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


@runtime_checkable
class Artifact(Protocol):
    """One door to a wheel, an installed tree, a checkout, later an image.

    Nothing is unpacked to disk. Reading is bounded by what a member declares: more bytes
    than that is a `FormatError`.
    """

    @property
    def name(self) -> str:
        """What errors call it: a file name, never a path with the user's home in it."""
        ...

    def members(self) -> tuple[Member, ...]:
        """All regular files, in a stable order (by path)."""
        ...

    def read(self, path: str, *, limit_bytes: int = ...) -> bytes:
        """The whole of one member.

        Raises:
            KeyError: no such member.
            FormatError: damaged, encrypted, or larger than `limit_bytes`.
        """
        ...

    def stream(self, path: str, *, chunk_bytes: int = ...) -> Iterator[bytes]:
        """One member front to back in chunks of at most `chunk_bytes`; CRC checked at the end.

        Raises:
            KeyError, FormatError: as `read`.
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
