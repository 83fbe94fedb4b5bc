"""What was read of a repository on a hub, kept by commit, so that the second look is quick."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import msgspec

from sparkproof.adapters.cache import ArtifactCache


class Pinned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A repository at one commit: its files with their sizes."""

    repository: str
    commit: str
    files: dict[str, int]
    gated: bool = False


class CheckpointCache:
    """Listings by repository and revision; pieces of files by commit, name and place."""

    def __init__(self, cache: ArtifactCache | None = None) -> None:
        self._cache = cache or ArtifactCache()
        self._folder = self._cache.folder / "checkpoints"

    def remember(self, endpoint: str, revision: str, pinned: Pinned) -> None:
        """Note what a revision was when it was last asked for.

        Raises:
            UnreachableError: the cache can't be written.
        """
        path = self._path("listing", endpoint, pinned.repository, revision)
        self._write(path, msgspec.json.encode(pinned))

    def recall(self, endpoint: str, repository: str, revision: str) -> Pinned | None:
        """The last listing, if there is one."""
        try:
            data = self._path("listing", endpoint, repository, revision).read_bytes()
            return msgspec.json.decode(data, type=Pinned)
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, endpoint: str, pinned: Pinned, name: str, offset: int, data: bytes) -> None:
        """Keep a piece of a file.

        Raises:
            UnreachableError: as `remember`.
        """
        self._write(self._piece(endpoint, pinned, name, offset, len(data)), data)

    def get(
        self, endpoint: str, pinned: Pinned, name: str, offset: int, length: int
    ) -> bytes | None:
        """A piece as it was kept, None where it was not."""
        try:
            data = self._piece(endpoint, pinned, name, offset, length).read_bytes()
        except OSError:
            return None
        return data if len(data) == length else None

    def _piece(self, endpoint: str, pinned: Pinned, name: str, offset: int, length: int) -> Path:
        return self._path("piece", endpoint, pinned.repository, pinned.commit, name, offset, length)

    def _path(self, *words: object) -> Path:
        key = hashlib.sha256("\n".join(map(str, words)).encode()).hexdigest()
        return self._folder / key[:2] / key[2:42]

    def _write(self, path: Path, data: bytes) -> None:
        with self._cache.writing():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as scratch:
                scratch.write(data)
            Path(scratch.name).replace(path)
