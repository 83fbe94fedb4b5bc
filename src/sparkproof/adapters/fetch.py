"""Artifacts behind HTTP, by our own client or, where that is barred, by pip."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.credentials import Credentials
from sparkproof.adapters.http import HttpClient, Remote
from sparkproof.adapters.identity import hash_file
from sparkproof.adapters.patience import FetchError
from sparkproof.adapters.pip import PipRunner, Resolution, download
from sparkproof.adapters.remote import RangeSource
from sparkproof.adapters.spool import Spooler
from sparkproof.adapters.zip_artifact import ZipArtifact, open_wheel
from sparkproof.core.errors import SparkproofError, UnreachableError
from sparkproof.core.ports import Artifact, Progress
from sparkproof.core.target import Target


class Fetched(msgspec.Struct, frozen=True):
    """Either a file in the cache or a wheel to be read by range.

    Attributes:
        resolution: with the hash that the file really has, or that the index promises.
    """

    resolution: Resolution
    path: Path | None = None
    remote: ZipArtifact | None = None
    size_bytes: int = 0


class Fetcher:
    """Gets one resolved file at a time."""

    def __init__(self, cache: ArtifactCache, progress: Progress, run: PipRunner) -> None:
        self._cache = cache
        self._progress = progress
        self._run = run

    def fetch(
        self, resolution: Resolution, url: str, target: Target, *, whole: bool, pip_may: bool
    ) -> Fetched:
        """Open by range, or spool.

        Args:
            url: the resolution's address, with credentials if the user typed some.
            whole: most of it will be read.
            pip_may: pip knows the way to it, too.

        Raises:
            UnreachableError: it can't be fetched or stored.
        """
        try:
            return self._fetch(resolution, url, whole=whole)
        except FetchError as error:
            if not (error.barred and pip_may):
                raise
            return self._by_pip(resolution, target)

    def _fetch(self, resolution: Resolution, url: str, *, whole: bool) -> Fetched:
        client = HttpClient(Credentials(self._run))
        try:
            remote = client.probe(url)
            promised = bool(resolution.sha256) and resolution.filename.endswith(".whl")
            if remote.ranges and promised and not whole:
                return self._by_range(client, remote, resolution)
            return self._spooled(client, remote, resolution)
        except SparkproofError:
            client.close()
            raise

    def _by_range(self, client: HttpClient, remote: Remote, resolution: Resolution) -> Fetched:
        def localize() -> Artifact:
            done = self._spooled(HttpClient(Credentials(self._run)), remote, resolution)
            assert done.path is not None
            return open_wheel(done.path)

        source = RangeSource(client, remote)
        wheel = ZipArtifact(source, resolution.filename, localizer=localize)
        return Fetched(resolution, remote=wheel, size_bytes=remote.size_bytes)

    def _spooled(self, client: HttpClient, remote: Remote, resolution: Resolution) -> Fetched:
        try:
            known = self._unchanged(remote, resolution)
            if known:
                return known
            path, sha256 = Spooler(client, self._cache, self._progress).spool(
                remote, resolution.url, resolution.filename, resolution.sha256
            )
        finally:
            client.close()
        done = msgspec.structs.replace(resolution, sha256=sha256, etag=remote.etag)
        return Fetched(done, path, size_bytes=path.stat().st_size)

    def _unchanged(self, remote: Remote, resolution: Resolution) -> Fetched | None:
        """What is cached of an address without a promised hash, if its tag is the same."""
        before = self._cache.recall(resolution.url, None)
        if resolution.sha256 or before is None or not remote.etag or before.etag != remote.etag:
            return None
        path = self._cache.find(before.sha256, before.filename)
        if path is None or path.stat().st_size != remote.size_bytes:
            return None
        return Fetched(before, path, size_bytes=remote.size_bytes)

    def _by_pip(self, resolution: Resolution, target: Target) -> Fetched:
        self._progress.start(f"pip fetches {resolution.filename}")
        try:
            with self._cache.writing():
                self._cache.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                scratch = tempfile.TemporaryDirectory(dir=self._cache.folder)
            with scratch as folder:
                path = download(resolution.url, resolution.sha256, target, Path(folder), self._run)
                sha256 = hash_file(path)
                if resolution.sha256 not in ("", sha256):
                    raise UnreachableError(
                        f"{resolution.filename} is not what the index promises",
                        hint="a proxy or mirror may have replaced it; nothing was kept",
                    )
                path = self._cache.keep(path, sha256, resolution.filename)
        finally:
            self._progress.finish()
        done = msgspec.structs.replace(resolution, sha256=sha256)
        return Fetched(done, path, size_bytes=path.stat().st_size)
