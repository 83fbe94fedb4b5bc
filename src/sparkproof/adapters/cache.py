"""Fetched artifacts by hash, and what a requirement resolved to, in the user's cache folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import platformdirs

from sparkproof.adapters.pip import Resolution
from sparkproof.core.errors import UnreachableError
from sparkproof.core.redaction import redact_text
from sparkproof.core.target import Target
from sparkproof.core.units import format_bytes

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_FULL = (errno.ENOSPC, errno.EDQUOT)
SPARE_BYTES = 256 << 20
"""What is left free on the disk."""


def default_cache_folder() -> Path:
    """``$SPARKPROOF_CACHE``, else the platform's place for a user's caches."""
    return Path(os.environ.get("SPARKPROOF_CACHE") or platformdirs.user_cache_dir("sparkproof"))


class ArtifactCache:
    """``artifacts/<key>/<filename>`` and ``resolutions/<key>.json``.

    A key is the file's SHA-256. A file is moved into its place when it is whole and checked,
    so what stands there can be used without asking again.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_cache_folder()

    @property
    def name(self) -> str:
        """What messages call it."""
        return redact_text(str(self.folder))

    def find(self, sha256: str, filename: str) -> Path | None:
        """A whole file of that hash and name, if it is here."""
        if not _SHA256.match(sha256):
            return None
        path = self.place(sha256, filename)
        return path if path.is_file() and not path.is_symlink() else None

    def place(self, key: str, filename: str) -> Path:
        """Where a file belongs."""
        return self.folder / "artifacts" / key / _plain(filename)

    def partial(self, url: str, filename: str) -> Path:
        """Where a file lies while it is fetched from `url` (which is without credentials)."""
        key = hashlib.sha256(url.encode()).hexdigest()[:32]
        return self.folder / "partial" / key / (_plain(filename) + ".part")

    @contextlib.contextmanager
    def lock(self, part: Path) -> Iterator[None]:
        """Only one process fetches a file; the others wait and then find it.

        Raises:
            UnreachableError: the cache can't be written.
        """
        with self.writing():
            part.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(part.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Turn a full or unwritable disk into one line."""
        try:
            yield
        except OSError as error:
            if error.errno in _FULL:
                raise UnreachableError(
                    f"the disk of the cache {self.name} is full", hint=self._elsewhere()
                ) from error
            reason = (error.strerror or "error").lower()
            raise UnreachableError(
                f"the cache {self.name} can't be written: {reason}", hint=self._elsewhere()
            ) from error

    def check_room(self, size_bytes: int) -> None:
        """Refuse what will not fit.

        Raises:
            UnreachableError: says how much is missing.
        """
        with self.writing():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            free = shutil.disk_usage(self.folder).free
        if size_bytes + SPARE_BYTES > free:
            raise UnreachableError(
                f"{format_bytes(size_bytes)} do not fit into the {format_bytes(free)} that the "
                f"disk of the cache {self.name} has left",
                hint=self._elsewhere(),
            )

    def keep(self, part: Path, sha256: str, filename: str) -> Path:
        """Move a whole, checked file into its place."""
        target = self.place(sha256, filename)
        with self.writing():
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            part.replace(target)
        return target

    def remember(self, requirement: str, target: Target | None, resolution: Resolution) -> None:
        """Note what a requirement (or an address, for any target) is, for use offline."""
        path = self._resolution(requirement, target)
        with self.writing():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as scratch:
                scratch.write(msgspec.json.encode(resolution))
            Path(scratch.name).replace(path)

    def recall(self, requirement: str, target: Target | None) -> Resolution | None:
        """What it resolved to when last asked online, if ever."""
        try:
            data = self._resolution(requirement, target).read_bytes()
            return msgspec.json.decode(data, type=Resolution)
        except (OSError, msgspec.MsgspecError):
            return None

    def _resolution(self, requirement: str, target: Target | None) -> Path:
        box = f"{target}\n{target.glibc_minor}" if target else ""
        key = hashlib.sha256(f"{requirement}\n{box}".encode()).hexdigest()
        return self.folder / "resolutions" / f"{key}.json"

    def _elsewhere(self) -> str:
        return "make room, or set SPARKPROOF_CACHE to a folder on another disk"


def _plain(filename: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+!-]", "_", filename).lstrip(".")[-200:] or "artifact"
