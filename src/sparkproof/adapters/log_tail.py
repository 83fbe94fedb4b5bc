"""Follows a log from its present end: how much came, and which of it are errors."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sparkproof.adapters.files import is_file
from sparkproof.core.errors import UnreachableError

_ERROR = re.compile(rb"\b(?:ERROR|CRITICAL|FATAL)\b|Traceback \(most recent call last\)|CUDA error")
_CHUNK_BYTES = 256 << 10
_MOST_BYTES = 64 << 20
"""Of one look, which holds up the requests that are in flight."""
_LINE_BYTES = 8 << 10
_KEPT = 240


class LogTail:
    """One file; `look` takes what is new, in pieces, and keeps one line of it.

    Attributes:
        start_bytes: where the file ended when this began; 0 once it was begun anew.
        new_bytes: since then.
        errors: lines that tell of one.
        first_error: the first of them.
    """

    def __init__(self, path: Path) -> None:
        if not is_file(path):
            raise UnreachableError(
                f"{path.name[:200]}: no such file", hint="name the file the server logs to"
            )
        self.path = path
        self.name = path.name
        self._inode, self.start_bytes = self._state()
        self.new_bytes = 0
        self.errors = 0
        self.first_error = ""
        self._place = self.start_bytes
        self._rest = b""

    def look(self) -> None:
        """Take what came since the last look, up to the file's present end: what writes faster
        than we read must not hold us up. One that became shorter, or another file under the same
        name, was begun anew.
        """
        if not is_file(self.path):
            return  # moved away for a moment: the next look may find it
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                if found.st_ino != self._inode or found.st_size < self._place:
                    self._inode = found.st_ino
                    self._place = self.start_bytes = 0
                    self._rest = b""
                file.seek(self._place)
                end = min(found.st_size, self._place + _MOST_BYTES)
                while data := file.read(min(_CHUNK_BYTES, end - self._place)):
                    self._place += len(data)
                    self.new_bytes += len(data)
                    self._take(data)
        except OSError:
            return

    def _take(self, data: bytes) -> None:
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()[-_LINE_BYTES:]
        for line in lines:
            if _ERROR.search(line, 0, _LINE_BYTES):
                self.errors += 1
                if not self.first_error:
                    text = line[:_LINE_BYTES].decode("utf-8", "replace")
                    self.first_error = " ".join(text.split())[:_KEPT]

    def line_at_start(self) -> int:
        """Lines in the file before this began."""
        left, lines = self.start_bytes, 0
        try:
            with self.path.open("rb") as file:
                while left > 0 and (data := file.read(min(_CHUNK_BYTES, left))):
                    left -= len(data)
                    lines += data.count(b"\n")
        except OSError:
            return 0
        return lines

    def _state(self) -> tuple[int, int]:
        """Inode and size."""
        try:
            found = self.path.stat()
        except OSError:
            return 0, 0
        return found.st_ino, found.st_size
