"""What one layer adds and removes, gathered in one pass: files that matter, links, whiteouts.

Whiteouts: OCI image specification 1.1, "Representing Changes" (``.wh.<name>`` and
``.wh..wh..opq``); checked 2026-11-29.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

from sparkproof.core.errors import FormatError
from sparkproof.core.unknown import Unknown
from sparkproof.facts.image_contents import ImageContents, image_contents
from sparkproof.formats.editable import FINDER
from sparkproof.formats.inflate import pack, unpack
from sparkproof.formats.safe_path import is_safe_path
from sparkproof.formats.tar_stream import EntryKind, TarMember, TarStream

TOPIC = "artifact"
MAX_FILES = 400_000
"""Files that matter, in one layer."""
MAX_LINKS = 400_000
_KEPT_FILE_BYTES = 4 << 20
_DATABASE_BYTES = 16 << 20
_MAX_UNKNOWNS = 200
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_PROGRAM = re.compile(r"(?:\A|/)(?:bin|sbin)/(?P<name>[^/]+)\Z")
_INTERPRETER = re.compile(r"python(?:3(?:\.\d+)?)?\Z")
_PATH_FILE = re.compile(rf"(?:site|dist)-packages/(?:[^/]+\.pth\Z|{FINDER.pattern})")
_DATABASE = "var/lib/dpkg/status"


class Interest(IntEnum):
    """What is wanted of a file, by its path alone."""

    NONE = 0
    LISTED = 1
    """Its path and size."""
    CODE = 2
    """As LISTED, and whoever looks for device code is offered its bytes."""
    KEPT = 3
    """Its bytes, if they are few."""


class LayerFile(NamedTuple):
    """A regular file of one layer.

    Attributes:
        text: the bytes, compressed, where they are kept.
        place: path under which the bytes stand in the layer: another one for a hard link.
    """

    size_bytes: int
    place: str
    text: bytes | None = None

    def read(self) -> bytes:
        """The kept bytes."""
        assert self.text is not None
        return unpack(self.text)


class LayerIndex:
    """What is known of one layer once it has passed."""

    def __init__(self) -> None:
        self.files: dict[str, LayerFile] = {}
        self.links: dict[str, str] = {}
        self.hard_links: dict[str, str] = {}
        """Those whose target is no file that matters in this layer."""
        self.removed: set[str] = set()
        self.opaque: set[str] = set()
        self.others: set[int] = set()
        """Hashes of paths of files that don't matter: they hide what lies below them."""
        self.folders: set[int] = set()
        self.unknowns: list[Unknown] = []
        self.size_bytes = 0
        self.kept_bytes = 0

    def note(self, path: str, why: str) -> None:
        """Keep what could not be taken; only so many."""
        if len(self.unknowns) < _MAX_UNKNOWNS:
            shown = path[:200].encode("unicode_escape").decode()
            self.unknowns.append(Unknown(where=shown, why=why, topic=TOPIC))


class PathBook:
    """Sorts paths by interest."""

    def __init__(self, contents: ImageContents | None = None) -> None:
        facts = contents or image_contents()
        self._folders = frozenset(facts.code_folders)
        self._kept_folders = frozenset(facts.kept_folders)
        self._kept_suffixes = facts.kept_suffixes
        self._endings = facts.kept_endings
        self._dist_info = frozenset(facts.kept_in_dist_info)
        self._programs = frozenset(tool.name for tool in facts.tools)
        words = sorted(
            {*(f"/{name}/" for name in self._folders), "-info/", "/bin/", "-packages/"}, key=len
        )
        self._hint = re.compile("|".join(map(re.escape, words)))

    def interest(self, path: str) -> Interest:
        """What is wanted of the file of that path."""
        if path.endswith(self._endings):
            return Interest.KEPT
        if not self._hint.search(f"/{path}"):
            return Interest.NONE
        parts = path.split("/")
        name, folder = parts[-1], parts[-2] if len(parts) > 1 else ""
        if folder.endswith((".dist-info", ".egg-info")):
            return Interest.KEPT if name in self._dist_info else Interest.NONE
        for part in _owners(parts[:-1]):
            if part in self._folders:
                kept = part in self._kept_folders and name.endswith(self._kept_suffixes)
                return Interest.KEPT if kept else Interest.CODE
        if _PATH_FILE.search(path):
            return Interest.KEPT
        if folder in ("site-packages", "dist-packages"):
            return Interest.LISTED
        if folder in ("bin", "sbin"):
            if name in self._folders:
                return Interest.KEPT
            if name in self._programs or _INTERPRETER.match(name):
                return Interest.LISTED
        return Interest.NONE


def _owners(folders: list[str]) -> list[str]:
    """The package that a file belongs to; any of its folders where it lies in no such place."""
    for number, folder in enumerate(folders):
        if folder in ("site-packages", "dist-packages"):
            return folders[number + 1 : number + 2]
    return folders


Offer = Callable[[str, int, Iterator[bytes]], None]
"""Given path, size and bytes of each file of interest `CODE`, while it passes."""


class LayerReader:
    """Reads layers into indexes.

    Args:
        hidden: says of a path whether a layer above removes or replaces it; always False where
            the layers above are not known yet.
    """

    def __init__(
        self,
        *,
        hidden: Callable[[str], bool] | None = None,
        room_bytes: int = 96 << 20,
    ) -> None:
        self._book = PathBook()
        self._hidden = hidden or (lambda _path: False)
        self._offer: Offer | None = None
        self._room = room_bytes

    def read(self, pieces: Iterator[bytes], offer: Offer | None = None) -> LayerIndex:
        """One layer from its uncompressed bytes.

        Args:
            offer: who is shown the files that may hold device code; without, they pass by.

        Raises:
            FormatError: no tar archive, damaged, or with more entries than any honest layer.
        """
        index = LayerIndex()
        self._offer = offer
        stream = TarStream(pieces)
        for entry in stream:
            if entry.path:
                self._take(index, stream, entry)
        index.size_bytes = stream.position
        self._room -= index.kept_bytes
        return index

    def _take(self, index: LayerIndex, stream: TarStream, entry: TarMember) -> None:
        path = entry.path
        if not is_safe_path(path):
            index.note(path, "name leads out of the image: passed over")
            return
        folder, _, name = path.rpartition("/")
        if name.startswith(_WHITEOUT):
            _white_out(index, folder, name)
        elif entry.kind is EntryKind.FOLDER:
            index.folders.add(hash(path))
        elif entry.kind is EntryKind.FILE:
            self._file(index, stream, entry)
        elif entry.kind is EntryKind.SYMBOLIC_LINK:
            if len(index.links) >= MAX_LINKS:
                raise FormatError(f"more than {MAX_LINKS} links", offset=entry.offset)
            index.files.pop(path, None)
            index.links[path] = entry.target
        elif entry.kind is EntryKind.HARD_LINK:
            self._hard_link(index, path, entry)
        else:
            index.others.add(hash(path))
            if self._book.interest(path):
                index.note(path, f"is a {entry.kind.value}: not read")

    def _file(self, index: LayerIndex, stream: TarStream, entry: TarMember) -> None:
        path, size = entry.path, entry.size_bytes
        interest = self._book.interest(path)
        index.links.pop(path, None)
        if not interest:
            index.others.add(hash(path))
            return
        if len(index.files) >= MAX_FILES:
            raise FormatError(f"more than {MAX_FILES} files that matter", offset=entry.offset)
        text = None
        if interest is Interest.KEPT and self._fits(index, path, size):
            text = pack(stream.read())
            index.kept_bytes += len(text)
        elif interest is Interest.CODE and self._offer and not self._hidden(path):
            self._offer(path, size, stream.chunks())
        index.files[path] = LayerFile(size, path, text)

    def _fits(self, index: LayerIndex, path: str, size: int) -> bool:
        limit = _DATABASE_BYTES if path.endswith(_DATABASE) else _KEPT_FILE_BYTES
        return size <= limit and index.kept_bytes < self._room

    def _hard_link(self, index: LayerIndex, path: str, entry: TarMember) -> None:
        if not self._book.interest(path):
            index.others.add(hash(path))
            return
        target = posixpath.normpath("/" + entry.target).lstrip("/")
        index.links.pop(path, None)
        if target in index.files:
            index.files[path] = index.files[target]
        else:
            index.hard_links[path] = target


def _white_out(index: LayerIndex, folder: str, name: str) -> None:
    if name == _OPAQUE:
        index.opaque.add(folder)
    elif not name.startswith(_WHITEOUT + _WHITEOUT):
        removed = name.removeprefix(_WHITEOUT)
        index.removed.add(f"{folder}/{removed}" if folder else removed)
