"""Layers laid over each other: what is visible in the end, and what lies hidden below it."""

from __future__ import annotations

import posixpath
from typing import NamedTuple

from sparkproof.core.unknown import Unknown
from sparkproof.formats.layer_index import TOPIC, LayerFile, LayerIndex

_MAX_HOPS = 40


class Placed(NamedTuple):
    """A visible file and the layer that brought it (its number, lowest first)."""

    layer: int
    file: LayerFile


class LayerStack:
    """Layers taken from the top down; what is hidden can be asked at any time."""

    def __init__(self) -> None:
        self.files: dict[str, Placed] = {}
        self.links: dict[str, str] = {}
        self.replaced: dict[str, list[int]] = {}
        """Visible files, each with the lower layers that had another one in its place."""
        self.unknowns: list[Unknown] = []
        self._removed: set[str] = set()
        self._opaque: set[str] = set()
        self._others: set[int] = set()
        self._folders: set[int] = set()
        self._pending: list[tuple[str, str]] = []
        self._cache: dict[str, bool] = {}

    def add(self, number: int, index: LayerIndex) -> None:
        """Put a layer below those that were added before."""
        visible = {p: f for p, f in index.files.items() if self._counts(number, p)}
        links = {p: t for p, t in index.links.items() if not self.hides(p)}
        hard = [(p, t) for p, t in index.hard_links.items() if not self.hides(p)]
        self.files.update((path, Placed(number, file)) for path, file in visible.items())
        self.links.update(links)
        self._pending += hard
        self._removed |= index.removed
        self._opaque |= index.opaque
        self._others |= index.others
        self._folders |= index.folders
        self.unknowns += index.unknowns
        self._cache.clear()

    def finish(self) -> None:
        """Resolve hard links whose target stands in another layer or was met later."""
        for path, target in self._pending:
            placed = self.files.get(target)
            if placed:
                self.files[path] = placed
            else:
                why = "is a hard link to a file that was passed over"
                self.unknowns.append(Unknown(where=path, why=why, topic=TOPIC))
        self._pending.clear()

    def hides(self, path: str) -> bool:
        """Whether the layers added so far remove or replace the path in any lower one."""
        key = hash(path)
        return (
            path in self.files
            or path in self.links
            or key in self._others
            or key in self._folders
            or path in self._removed
            or self._hides_below(posixpath.dirname(path))
        )

    def resolve(self, path: str) -> str:
        """The path with every link in it followed; "" where they lead in circles."""
        todo = [part for part in path.split("/") if part][::-1]
        done: list[str] = []
        hops = 0
        while todo:
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":
                done = done[:-1]
                continue
            target = self.links.get("/".join([*done, part]))
            if target is None:
                done.append(part)
                continue
            hops += 1
            if hops > _MAX_HOPS:
                return ""
            if target.startswith("/"):
                done = []
            todo += target.split("/")[::-1]
        return "/".join(done)

    def find(self, path: str) -> str:
        """Where the file of that path really lies; "" if there is none that matters."""
        real = self.resolve(path)
        return real if real in self.files else ""

    def _counts(self, number: int, path: str) -> bool:
        if not self.hides(path):
            return True
        if path in self.files:
            self.replaced.setdefault(path, []).append(number)
        return False

    def _hides_below(self, folder: str) -> bool:
        """Whether nothing of lower layers shows in that folder."""
        known = self._cache.get(folder)
        if known is None:
            known = folder in self._opaque
            if folder:
                known = (
                    known
                    or folder in self._removed
                    or folder in self.links
                    or folder in self.files
                    or hash(folder) in self._others
                    or self._hides_below(posixpath.dirname(folder))
                )
            self._cache[folder] = known
        return known
