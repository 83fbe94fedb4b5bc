"""Trees: an installed site-packages, a folder, a checkout. Links never lead outside."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from sparkproof.adapters.sources import FileSource
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.ports import (
    CHUNK_BYTES,
    READ_LIMIT_BYTES,
    Artifact,
    ArtifactLocation,
    Member,
    refuse_larger,
)
from sparkproof.core.unknown import Unknown
from sparkproof.formats.safe_path import is_safe_path

_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "__pycache__"})
_EDITABLE = re.compile(r"(?:__editable__[^/]*\.pth|[^/]+\.egg-link)\Z")
MAX_FILES = 1_000_000
MAX_DEPTH = 64
_MAX_UNKNOWNS = 1000
_FOLDER = "name a folder: site-packages, a virtual environment, or a checkout"
_AGAIN = "run it again when nothing is being installed there"


class TreeArtifact:
    """An `Artifact` over a folder. Version control's own folders and bytecode are left out."""

    def __init__(self, root: Path, name: str = "") -> None:
        """List the folder.

        Args:
            name: what errors call it; the folder's own name by default.

        Raises:
            UnreachableError: no folder, or unreadable.
            FormatError: more files than any installation has.
        """
        try:
            self._root = root.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise UnreachableError(f"{root.name or root} can't be found", hint=_FOLDER) from error
        if not self._root.is_dir():
            raise UnreachableError(f"{root.name} is no folder", hint=_FOLDER)
        self._name = name or self._root.name
        self._unknowns: list[Unknown] = []
        self._files: dict[str, tuple[Path, int]] = {}
        self._list()
        self._members = tuple(Member(p, size, size) for p, (_, size) in sorted(self._files.items()))

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self._name

    @property
    def root(self) -> Path:
        """The folder, links resolved."""
        return self._root

    @property
    def location(self) -> ArtifactLocation:
        """As `Artifact.location`."""
        return ArtifactLocation("tree", str(self._root), self._name)

    def members(self) -> tuple[Member, ...]:
        """As `Artifact.members`."""
        return self._members

    def unknowns(self) -> tuple[Unknown, ...]:
        """As `Artifact.unknowns`."""
        return tuple(self._unknowns)

    def read(self, path: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """As `Artifact.read`."""
        _, size = self._files[path]
        refuse_larger(size, limit_bytes, f"{self._name}!{path}")
        return b"".join(self.stream(path))

    def read_at(self, path: str, offset: int, length: int) -> bytes:
        """As `Artifact.read_at`."""
        real, size = self._files[path]
        source = self._open(path, real, size)
        try:
            return source.read_at(offset, max(0, min(length, size - offset)))
        finally:
            source.close()

    def stream(self, path: str, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
        """As `Artifact.stream`; there is no CRC, but the size must stay as listed."""
        real, size = self._files[path]
        return self._stream(path, real, size, chunk_bytes)

    def localize(self) -> Artifact:
        """Itself."""
        return self

    def close(self) -> None:
        """Nothing stays open between calls."""

    def _stream(self, path: str, real: Path, size: int, chunk_bytes: int) -> Iterator[bytes]:
        source = self._open(path, real, size)
        try:
            at = 0
            while at < size:
                data = source.read_at(at, min(chunk_bytes, size - at))
                if not data:
                    raise FormatError(
                        "shrank while it was read", where=f"{self._name}!{path}", hint=_AGAIN
                    )
                at += len(data)
                yield data
        finally:
            source.close()

    def _open(self, path: str, real: Path, size: int) -> FileSource:
        source = FileSource(real, follow=False)
        if source.size_bytes != size:
            source.close()
            raise FormatError(
                "changed since it was listed", where=f"{self._name}!{path}", hint=_AGAIN
            )
        return source

    def _list(self) -> None:
        pending = [(self._root, "", 0)]
        while pending:
            folder, prefix, depth = pending.pop()
            if depth > MAX_DEPTH:
                self._unknown(prefix.rstrip("/"), "folders are nested too deep")
                continue
            try:
                entries = sorted(os.scandir(folder), key=lambda e: e.name)
            except OSError as error:
                reason = (error.strerror or "error").lower()
                self._unknown(prefix.rstrip("/"), f"folder can't be listed: {reason}")
                continue
            for entry in entries:
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED_FOLDERS:
                        pending.append((Path(entry.path), path + "/", depth + 1))
                else:
                    self._add(entry, path)

    def _add(self, entry: os.DirEntry[str], path: str) -> None:
        if not is_safe_path(path) or not path.isprintable():
            self._unknown(path.encode("unicode_escape").decode(), "name can't be shown")
            return
        real = Path(entry.path)
        try:
            if entry.is_symlink():
                real = real.resolve(strict=True)
                if not real.is_relative_to(self._root):
                    self._unknown(
                        path, "is a link that leads outside", hint="name the place it leads to"
                    )
                    return
            info = real.lstat()
        except (OSError, RuntimeError):
            self._unknown(path, "is a link that leads nowhere, or can't be looked at")
            return
        if stat.S_ISDIR(info.st_mode):
            self._unknown(path, "is a link to a folder; listed where it really lies")
        elif not stat.S_ISREG(info.st_mode):
            self._unknown(path, "is no regular file")
        else:
            self._files[path] = (real, info.st_size)
            if _EDITABLE.match(path):
                why = "stands for an editable install, whose files lie elsewhere"
                self._unknown(path, why, hint="name that folder with tree:")
        if len(self._files) > MAX_FILES:
            raise FormatError(f"holds more than {MAX_FILES} files", where=self._name, hint=_FOLDER)

    def _unknown(self, path: str, why: str, hint: str = "") -> None:
        if len(self._unknowns) < _MAX_UNKNOWNS:
            where = f"{self._name}/{path}" if path else self._name
            self._unknowns.append(Unknown(where=where, why=why, topic="artifact", hint=hint))
