"""Whole files from HTTP into the cache: bounded, resumed, checked, and fetched once."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.http import HttpClient, Remote
from sparkproof.adapters.patience import DroppedError
from sparkproof.core.errors import UnreachableError
from sparkproof.core.ports import Progress
from sparkproof.core.units import format_bytes

MAX_SPOOL_BYTES = 16 << 30
MAX_UNANNOUNCED_BYTES = 2 << 30
"""Where nobody says how large a file is; the largest wheel seen has less than 1 GiB."""
_ROOM_STEP_BYTES = 64 << 20
_BY_OTHER_MEANS = "fetch it by other means and name the file"
_READ_BYTES = 1 << 20


class Spooler:
    """Fetches whole files into the cache."""

    def __init__(
        self,
        client: HttpClient,
        cache: ArtifactCache,
        progress: Progress,
        *,
        limit_bytes: int = MAX_SPOOL_BYTES,
    ) -> None:
        self._client = client
        self._cache = cache
        self._progress = progress
        self._limit_bytes = limit_bytes

    def spool(self, remote: Remote, address: str, filename: str, sha256: str) -> tuple[Path, str]:
        """The file in the cache, and its hash.

        Args:
            address: its URL without credentials.
            sha256: what the index promises ("" for no promise).

        Raises:
            UnreachableError: can't be fetched or stored, or is not what was promised.
        """
        path = self._cache.partial(address, filename)
        with self._cache.lock(path):
            if known := self._cache.find(sha256, filename):
                return known, sha256
            self._check_bound(filename, remote.size_bytes)
            self._cache.check_room(max(0, remote.size_bytes))
            total = remote.size_bytes if remote.size_bytes >= 0 else None
            self._progress.start(f"fetching {filename}", total)
            try:
                digest = self._fetch(remote, path, filename, sha256)
                return self._cache.keep(path, digest, filename), digest
            finally:
                self._progress.finish()
                if not (sha256 and remote.ranges):  # nothing could go on there
                    path.unlink(missing_ok=True)

    def _fetch(self, remote: Remote, path: Path, filename: str, sha256: str) -> str:
        if not sha256:
            path.unlink(missing_ok=True)
        resumed = path.exists()
        while True:
            part = _Part(path, self._cache, self._progress)
            if 0 <= remote.size_bytes < part.size_bytes:
                part.restart()
            self._complete(remote, part, filename)
            digest = part.digest.hexdigest()
            if not sha256 or digest == sha256:
                return digest
            part.remove()
            if not resumed:
                raise UnreachableError(
                    f"{filename} is not what the index promises: its sha256 is {digest[:12]}…, "
                    f"not {sha256[:12]}…",
                    hint="a proxy or mirror may have replaced it; nothing was kept",
                )
            resumed = False

    def _complete(self, remote: Remote, part: _Part, filename: str) -> None:
        patience = self._client.patience()
        while part.size_bytes != remote.size_bytes:
            before = part.size_bytes
            try:
                self._attempt(remote, part, filename)
            except DroppedError as error:
                patience.rest(error, part.size_bytes - before if remote.ranges else 0)
                if not remote.ranges:
                    part.restart()
            else:
                return

    def _attempt(self, remote: Remote, part: _Part, filename: str) -> None:
        with self._client.fetch(remote, part.size_bytes) as (offset, pieces):
            if offset != part.size_bytes:
                part.restart()
            for piece in pieces:
                try:
                    self._check(remote, filename, part.size_bytes, len(piece))
                except UnreachableError:
                    part.remove()
                    raise
                part.append(piece)
        if part.size_bytes < remote.size_bytes:
            raise DroppedError(
                f"only {format_bytes(part.size_bytes)} of {filename} came, not "
                f"{format_bytes(remote.size_bytes)}",
                hint="run it again: it goes on where it stopped",
            )

    def _check(self, remote: Remote, filename: str, had_bytes: int, more_bytes: int) -> None:
        size = had_bytes + more_bytes
        self._check_bound(filename, size)
        if remote.size_bytes < 0:
            self._check_unannounced(filename, had_bytes, size)
        elif size > remote.size_bytes:
            raise UnreachableError(
                f"the server sends more of {filename} than the "
                f"{format_bytes(remote.size_bytes)} that it announced",
                hint=_BY_OTHER_MEANS,
            )

    def _check_unannounced(self, filename: str, had_bytes: int, size_bytes: int) -> None:
        if size_bytes > MAX_UNANNOUNCED_BYTES:
            raise UnreachableError(
                f"the server does not say how large {filename} is, and sends more than "
                f"{format_bytes(MAX_UNANNOUNCED_BYTES)}",
                hint=_BY_OTHER_MEANS,
            )
        if had_bytes // _ROOM_STEP_BYTES != size_bytes // _ROOM_STEP_BYTES:
            self._cache.check_room(_ROOM_STEP_BYTES)

    def _check_bound(self, filename: str, size_bytes: int) -> None:
        if size_bytes > self._limit_bytes:
            raise UnreachableError(
                f"{filename} is larger than the {format_bytes(self._limit_bytes)} that are fetched",
                hint=_BY_OTHER_MEANS,
            )


class _Part:
    """A file that is not whole yet, with the hash of what there is."""

    def __init__(self, path: Path, cache: ArtifactCache, progress: Progress) -> None:
        self._path = path
        self._cache = cache
        self._progress = progress
        self.digest = hashlib.sha256()
        self.size_bytes = 0
        with cache.writing():
            path.touch(mode=0o600)
            with path.open("rb") as file:
                while data := file.read(_READ_BYTES):
                    self._count(data)

    def append(self, data: bytes) -> None:
        """Write it; a full disk leaves nothing behind.

        Raises:
            UnreachableError: it can't be written.
        """
        with self._cache.writing():
            try:
                with self._path.open("ab") as file:
                    file.write(data)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    self.remove()
                raise
        self._count(data)

    def restart(self) -> None:
        """Begin again with nothing."""
        with self._cache.writing():
            self._path.write_bytes(b"")
        self._progress.advance(-self.size_bytes)
        self.digest = hashlib.sha256()
        self.size_bytes = 0

    def remove(self) -> None:
        """Leave nothing behind."""
        self._path.unlink(missing_ok=True)

    def _count(self, data: bytes) -> None:
        self.digest.update(data)
        self.size_bytes += len(data)
        self._progress.advance(len(data))
