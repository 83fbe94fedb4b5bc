"""Images saved in files: `docker save` and OCI archives, OCI layout folders, streams of either."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from sparkproof.adapters.archive_documents import BLOBS, parts_of
from sparkproof.adapters.beside import verified
from sparkproof.adapters.image_source import READ_BYTES
from sparkproof.adapters.sources import FileSource
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.ports import ByteSource
from sparkproof.formats.image_parts import ImageParts
from sparkproof.formats.layer_stream import PACKED, open_layer
from sparkproof.formats.oci import DOCUMENT_LIMIT_BYTES
from sparkproof.formats.safe_path import is_safe_path
from sparkproof.formats.tar_directory import TarEntry, parse_tar_directory
from sparkproof.formats.tar_stream import EntryKind, TarStream

_MAX_DOCUMENTS = 4096


class FolderBlobs:
    """A layout folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def document(self, name: str) -> bytes | None:
        """As `Blobs.document`."""
        opened = self.open(name)
        return None if opened is None else _small(opened, name)

    def open(self, name: str) -> ByteSource | None:
        """The piece as a source."""
        path = self._folder / name
        if not is_safe_path(name) or not path.is_file():
            return None
        return FileSource(path, follow=False)

    def close(self) -> None:
        """Nothing stays open."""


class TarBlobs:
    """A tar archive on the disk, its members found by their headers."""

    def __init__(self, source: FileSource) -> None:
        self._source = source
        self._entries = {entry.path: entry for entry in parse_tar_directory(source).entries}

    def document(self, name: str) -> bytes | None:
        """As `Blobs.document`."""
        opened = self.open(name)
        return None if opened is None else _small(opened, name)

    def open(self, name: str) -> ByteSource | None:
        """The piece as a source."""
        entry = self._entries.get(name)
        return None if entry is None else _Slice(self._source, entry)

    def close(self) -> None:
        """Close the file."""
        self._source.close()


class _Slice:
    """One member of a tar archive."""

    def __init__(self, source: ByteSource, entry: TarEntry) -> None:
        self._source = source
        self._entry = entry

    @property
    def size_bytes(self) -> int:
        return self._entry.size_bytes

    def read_at(self, offset: int, length: int) -> bytes:
        length = max(0, min(length, self.size_bytes - offset))
        return self._source.read_at(self._entry.offset + offset, length)

    def close(self) -> None:
        """The archive stays open."""


class SavedImage:
    """An `ImageSource` over a folder or a seekable archive."""

    ordered = True
    remote = False

    def __init__(
        self, blobs: FolderBlobs | TarBlobs, name: str, *, architecture: str, wanted: str = ""
    ) -> None:
        self.name = name
        self._blobs = blobs
        self._parts = parts_of(blobs, name, architecture, wanted)

    def parts(self) -> ImageParts:
        """As `ImageSource.parts`."""
        return self._parts

    def layers(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Iterator[bytes]]]:
        """As `ImageSource.layers`."""
        for key in dict.fromkeys(reversed(self._parts.keys)):
            if wanted(key):
                source = self._open(key)
                if source is None:
                    raise FormatError("layer is missing", where=f"{self.name}!{key}")
                try:
                    yield key, checked(read_all(source), key, source.size_bytes, self.name)
                finally:
                    source.close()

    def close(self) -> None:
        """As `ImageSource.close`."""
        self._blobs.close()

    def _open(self, key: str) -> ByteSource | None:
        """A layer; older engines save one that stands twice as a link to its twin."""
        source = self._blobs.open(key)
        if source is not None:
            return source
        twins = dict(zip(self._parts.keys, self._parts.config.diff_ids, strict=True))
        others = [k for k, diff_id in twins.items() if diff_id == twins[key] and k != key]
        return next(filter(None, map(self._blobs.open, others)), None)


class StreamedImage:
    """An `ImageSource` over an archive that comes front to back: layers before their list.

    Args:
        opener: starts the archive's bytes anew.
    """

    ordered = False
    remote = False

    def __init__(
        self,
        opener: Callable[[], Iterator[bytes]],
        name: str,
        *,
        architecture: str,
        wanted: str = "",
    ) -> None:
        self.name = name
        self._opener = opener
        self._architecture = architecture
        self._wanted = wanted
        self._documents: dict[str, bytes] = {}
        self._links: dict[str, str] = {}

    def document(self, name: str) -> bytes | None:
        """As `Blobs.document`, for what has passed."""
        return self._documents.get(name)

    def parts(self) -> ImageParts:
        """As `ImageSource.parts`."""
        found = parts_of(self, self.name, self._architecture, self._wanted)
        keys = tuple(self._links.get(key, key) for key in found.keys)
        return ImageParts(
            found.config,
            found.config_digest,
            keys,
            found.stored_bytes,
            found.manifest_digest,
            found.index_digest,
            found.tags,
        )

    def layers(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Iterator[bytes]]]:
        """As `ImageSource.layers`; every layer of every image in the archive passes."""
        stream = TarStream(open_layer(self._opener()))
        try:
            for entry in stream:
                if entry.kind is EntryKind.SYMBOLIC_LINK:
                    self._links[entry.path] = entry.target.removeprefix("../")
                elif entry.kind is EntryKind.FILE and is_safe_path(entry.path):
                    yield from self._member(stream, entry.path, entry.size_bytes, wanted)
        except FormatError as error:
            raise (error if error.where else error.within(self.name)) from error

    def close(self) -> None:
        """Nothing stays open."""

    def _member(
        self, stream: TarStream, path: str, size: int, wanted: Callable[[str], bool]
    ) -> Iterator[tuple[str, Iterator[bytes]]]:
        chunks = stream.chunks()
        head = next(chunks, b"")
        if head[:1] in (b"{", b"["):
            if size <= DOCUMENT_LIMIT_BYTES and len(self._documents) < _MAX_DOCUMENTS:
                self._documents[path] = head + b"".join(chunks)
        elif wanted(path) and (head.startswith(PACKED) or head[257:262] == b"ustar"):
            yield path, checked(_with(head, chunks), path, size, self.name)


def _with(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from rest


def open_saved(path: Path, *, architecture: str, wanted: str = "") -> SavedImage | StreamedImage:
    """Open an archive or a layout folder.

    Args:
        architecture: as OCI names it, ``arm64``.
        wanted: tag or digest of one image among several ("" for the only one).

    Raises:
        UnreachableError: missing or unreadable.
        FormatError: holds no image.
    """
    if path.is_dir():
        return SavedImage(FolderBlobs(path), path.name, architecture=architecture, wanted=wanted)
    source = FileSource(path)
    if source.read_at(0, 4).startswith(PACKED):

        def start() -> Iterator[bytes]:
            return read_all(source)

        return StreamedImage(start, path.name, architecture=architecture, wanted=wanted)
    try:
        return SavedImage(TarBlobs(source), path.name, architecture=architecture, wanted=wanted)
    except FormatError as error:
        source.close()
        raise (error if path.name in error.where else error.within(path.name)) from error


def read_all(source: ByteSource) -> Iterator[bytes]:
    """A source front to back."""
    at = 0
    while at < source.size_bytes:
        data = source.read_at(at, READ_BYTES)
        if not data:
            raise UnreachableError(
                "the file shrank while it was read", hint="run it again when it is whole"
            )
        at += len(data)
        yield data


def checked(chunks: Iterator[bytes], key: str, size: int, name: str) -> Iterator[bytes]:
    """Checked against the digest in its name, where it has one and is compressed.

    A plain tar on this disk is not hashed: that would take longer than all the rest.
    """
    sha256 = key.removeprefix(BLOBS)
    head = next(chunks, b"")
    whole = _with(head, chunks)
    if key.startswith(BLOBS) and head.startswith(PACKED):
        return verified(whole, sha256, size, f"{name}!{key}")
    return whole


def _small(source: ByteSource, name: str) -> bytes:
    try:
        if source.size_bytes > DOCUMENT_LIMIT_BYTES:
            raise FormatError(f"{source.size_bytes} bytes are no document", where=name)
        return source.read_at(0, source.size_bytes)
    finally:
        source.close()
