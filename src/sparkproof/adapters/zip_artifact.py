"""Wheels: zip archives on disk, behind HTTP, or in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from sparkproof.adapters.sources import FileSource
from sparkproof.core.errors import FormatError
from sparkproof.core.ports import (
    CHUNK_BYTES,
    READ_LIMIT_BYTES,
    Artifact,
    ArtifactLocation,
    ByteSource,
    Member,
    refuse_larger,
)
from sparkproof.core.unknown import Unknown
from sparkproof.formats.zip_directory import STORED, ZipEntry, parse_zip_directory
from sparkproof.formats.zip_member import member_data_offset, stream_member


class ZipArtifact:
    """An `Artifact` over any `ByteSource` that holds a zip archive."""

    def __init__(
        self,
        source: ByteSource,
        name: str,
        *,
        location: ArtifactLocation | None = None,
        localizer: Callable[[], Artifact] | None = None,
    ) -> None:
        """Read the directory, nothing else.

        Args:
            localizer: fetches the whole and opens it, for a source that is not local.

        Raises:
            FormatError: names the wheel, and the member where it is one's fault.
        """
        self._source = source
        self._name = name
        self._location = location
        self._localizer = localizer
        try:
            entries = parse_zip_directory(source)
        except FormatError as error:
            source.close()
            raise error.within(name) from error
        self._entries = {entry.path: entry for entry in entries}
        self._members = tuple(Member(e.path, e.size_bytes, e.stored_bytes) for e in entries)

    @property
    def name(self) -> str:
        """File name of the wheel."""
        return self._name

    @property
    def location(self) -> ArtifactLocation | None:
        """As `Artifact.location`."""
        return self._location

    def members(self) -> tuple[Member, ...]:
        """As `Artifact.members`."""
        return self._members

    def unknowns(self) -> tuple[Unknown, ...]:
        """None: a wheel lists all it holds."""
        return ()

    def read(self, path: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """As `Artifact.read`."""
        refuse_larger(self._entries[path].size_bytes, limit_bytes, f"{self._name}!{path}")
        return b"".join(self.stream(path))

    def read_at(self, path: str, offset: int, length: int) -> bytes:
        """As `Artifact.read_at`."""
        entry = self._entries[path]
        if entry.method != STORED:
            return slice_of_stream(self.stream(path), offset, length)
        length = max(0, min(length, entry.size_bytes - offset))
        try:
            start = member_data_offset(self._source, entry)
        except FormatError as error:
            raise error.within(self._name) from error
        return self._source.read_at(start + offset, length) if length else b""

    def stream(self, path: str, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
        """As `Artifact.stream`."""
        return self._stream(self._entries[path], chunk_bytes)

    def _stream(self, entry: ZipEntry, chunk_bytes: int) -> Iterator[bytes]:
        try:
            yield from stream_member(self._source, entry, chunk_bytes)
        except FormatError as error:
            raise error.within(self._name) from error

    def localize(self) -> Artifact:
        """As `Artifact.localize`."""
        return self._localizer() if self._localizer else self

    def close(self) -> None:
        """Release the source."""
        self._source.close()


def slice_of_stream(chunks: Iterator[bytes], offset: int, length: int) -> bytes:
    """`length` bytes from `offset` on of something that can only be read front to back."""
    parts: list[bytes] = []
    at = 0
    end = offset + length
    for chunk in chunks:
        if at + len(chunk) > offset:
            parts.append(chunk[max(0, offset - at) : end - at])
        at += len(chunk)
        if at >= end:
            break
    return b"".join(parts)


def open_wheel(path: Path) -> ZipArtifact:
    """Open a wheel on this machine's disk.

    Raises:
        UnreachableError: missing or unreadable.
        FormatError: no zip archive, or a damaged one.
    """
    location = ArtifactLocation("wheel", str(path.resolve()), path.name)
    return ZipArtifact(FileSource(path), path.name, location=location)
