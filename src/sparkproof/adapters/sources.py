"""Random access to the bytes of a local file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sparkproof.core.errors import UnreachableError

_HINT = "name a file that is there and that you may read; save what a pipe says first"


class FileSource:
    """A regular file, read by position, so that several readers may share it."""

    def __init__(self, path: Path, *, follow: bool = True) -> None:
        """Open it.

        Args:
            follow: whether the last part of the path may be a symbolic link.

        Raises:
            UnreachableError: missing, unreadable, or no regular file.
        """
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
        try:
            self._fd = os.open(path, flags)
        except OSError as error:
            reason = (error.strerror or "error").lower()
            raise UnreachableError(
                f"{path.name[:200]} can't be read: {reason}", hint=_HINT
            ) from error
        info = os.fstat(self._fd)
        if not stat.S_ISREG(info.st_mode):
            self.close()
            raise UnreachableError(f"{path.name} is no regular file", hint=_HINT)
        self._name = path.name
        self._size = info.st_size

    @property
    def size_bytes(self) -> int:
        """Length at the time it was opened."""
        return self._size

    def read_at(self, offset: int, length: int) -> bytes:
        """As `ByteSource.read_at`."""
        try:
            data = os.pread(self._fd, length, offset)
            while len(data) < length and (
                more := os.pread(self._fd, length - len(data), offset + len(data))
            ):
                data += more
        except OSError as error:
            reason = (error.strerror or "error").lower()
            raise UnreachableError(
                f"{self._name} can't be read: {reason}", hint="check the disk, or copy it elsewhere"
            ) from error
        return data

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
