"""Source distributions: a ``.tar.gz``, indexed once and read in place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

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
from sparkproof.formats.gzip_source import GzipSource
from sparkproof.formats.tar_directory import TarEntry, parse_tar_directory


class SdistArtifact:
    """An `Artifact` over a ``.tar.gz``; paths are relative to the one folder it holds."""

    def __init__(
        self, source: ByteSource, name: str, location: ArtifactLocation | None = None
    ) -> None:
        """Inflate it once, for the list of members and all checksums.

        Raises:
            FormatError: names the file, and the member where it is one's fault.
        """
        self._name = name
        self._location = location
        self._source = GzipSource(source)
        try:
            directory = parse_tar_directory(self._source)
        except FormatError as error:
            source.close()
            raise error.within(name) from error
        self._entries = {entry.path: entry for entry in directory.entries}
        self._unknowns = tuple(
            msgspec.structs.replace(unknown, where=f"{name}!{unknown.where}")
            for unknown in directory.unknowns
        )

    @property
    def name(self) -> str:
        """File name of the sdist."""
        return self._name

    @property
    def location(self) -> ArtifactLocation | None:
        """As `Artifact.location`."""
        return self._location

    def members(self) -> tuple[Member, ...]:
        """As `Artifact.members`; what one member takes in the compressed file can't be told."""
        return tuple(Member(e.path, e.size_bytes, e.size_bytes) for e in self._entries.values())

    def unknowns(self) -> tuple[Unknown, ...]:
        """As `Artifact.unknowns`."""
        return self._unknowns

    def read(self, path: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """As `Artifact.read`."""
        refuse_larger(self._entries[path].size_bytes, limit_bytes, f"{self._name}!{path}")
        return b"".join(self.stream(path))

    def read_at(self, path: str, offset: int, length: int) -> bytes:
        """As `Artifact.read_at`."""
        entry = self._entries[path]
        length = max(0, min(length, entry.size_bytes - offset))
        try:
            return self._source.read_at(entry.offset + offset, length)
        except FormatError as error:
            raise error.within(f"{self._name}!{path}") from error

    def stream(self, path: str, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
        """As `Artifact.stream`."""
        return self._stream(self._entries[path], chunk_bytes)

    def localize(self) -> Artifact:
        """Itself."""
        return self

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _stream(self, entry: TarEntry, chunk_bytes: int) -> Iterator[bytes]:
        at = 0
        while at < entry.size_bytes:
            data = self.read_at(entry.path, at, min(chunk_bytes, entry.size_bytes - at))
            if not data:
                raise FormatError(
                    "is cut off", where=f"{self._name}!{entry.path}", offset=entry.offset + at
                )
            at += len(data)
            yield data


def open_sdist(path: Path) -> SdistArtifact:
    """Open a source distribution on this machine's disk.

    Raises:
        UnreachableError: missing or unreadable.
        FormatError: no ``.tar.gz``, or a damaged one.
    """
    location = ArtifactLocation("sdist", str(path.resolve()), path.name)
    return SdistArtifact(FileSource(path), path.name, location)
