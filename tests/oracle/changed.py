"""A real wheel that is not quite what it was."""

from __future__ import annotations

from sparkproof.core.ports import Artifact, Member


class Changed:
    """A wheel with one file replaced, or taken out."""

    def __init__(self, inner: Artifact, path: str, data: bytes | None) -> None:
        self._inner, self._path, self._data = inner, path, data
        self.name = inner.name

    def members(self) -> tuple[Member, ...]:
        gone = self._path if self._data is None else ""
        return tuple(item for item in self._inner.members() if item.path != gone)

    def read(self, path: str, *, limit_bytes: int = 1 << 26) -> bytes:
        if path == self._path and self._data is not None:
            return self._data
        return self._inner.read(path, limit_bytes=limit_bytes)
