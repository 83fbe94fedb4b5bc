"""Container images: the folders that Python imports from, read in one pass over their layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TypeVar

from sparkproof.adapters.beside import HashBeside, Lookout
from sparkproof.adapters.image_source import ImageSource
from sparkproof.adapters.progress import NoProgress
from sparkproof.adapters.zip_artifact import slice_of_stream
from sparkproof.core.errors import FormatError
from sparkproof.core.ports import (
    CHUNK_BYTES,
    READ_LIMIT_BYTES,
    Artifact,
    ArtifactLocation,
    Member,
    Progress,
    refuse_larger,
)
from sparkproof.core.unknown import Unknown
from sparkproof.formats.image_parts import ImageContents, ImageParts, LayerFate
from sparkproof.formats.layer_index import LayerIndex, LayerReader
from sparkproof.formats.layer_merge import LayerStack, Placed
from sparkproof.formats.layer_plan import reason_to_skip
from sparkproof.formats.layer_stream import PACKED, open_layer
from sparkproof.formats.python_sites import find_python
from sparkproof.formats.site_view import view_sites
from sparkproof.formats.tar_stream import EntryKind, TarStream

T = TypeVar("T")
Look = Callable[[str, int, Iterator[bytes]], T]
KeyedOffer = Callable[[str, str, int, Iterator[bytes]], None]
"""Given the layer's key, path, size and bytes of a file that may hold device code."""


class ImageArtifact:
    """An `Artifact` whose members are those of the folders of packages, as Python sees them.

    Layers are streams, so the first question that needs them reads each once, from the top down,
    keeps small texts, and passes over the rest. `walk` makes use of that pass.
    """

    def __init__(
        self, source: ImageSource, *, progress: Progress | None = None, all_layers: bool = False
    ) -> None:
        """Nothing is read before it is asked for.

        Args:
            all_layers: read those too whose build step tells what they hold.
        """
        self._source = source
        self._progress = progress or NoProgress()
        self._all_layers = all_layers
        self._contents: ImageContents | None = None

    @property
    def name(self) -> str:
        """As the source calls it."""
        return self._source.name.replace("/", "_")

    @property
    def location(self) -> ArtifactLocation | None:
        """None: layers are read once, by whoever opened them."""
        return None

    @property
    def source(self) -> ImageSource:
        """Where it comes from."""
        return self._source

    def contents(self) -> ImageContents:
        """The merged layers, the interpreter, and what became of each layer."""
        if self._contents is None:
            self._contents = self._pass_over(None)
        return self._contents

    def members(self) -> tuple[Member, ...]:
        """As `Artifact.members`."""
        sizes = ((p, item.placed.file.size_bytes) for p, item in self.contents().site.items())
        return tuple(Member(path, size, size) for path, size in sizes)

    def unknowns(self) -> tuple[Unknown, ...]:
        """As `Artifact.unknowns`."""
        return tuple(self.contents().stack.unknowns)

    def walk(self, wanted: Callable[[Member], bool], look: Look[T]) -> dict[str, tuple[str, T]]:
        """Show members to `look` as they pass, in whatever order they lie in the layers.

        `look` runs in a second thread. In the first pass it also sees some that turn out to be
        hidden; they are left out of the answer.

        Args:
            wanted: is given the path from the image's root in the first pass.

        Returns:
            By member path: the path under which it was shown, and what `look` said.
        """
        with Lookout(look) as lookout:

            def offer(key: str, path: str, size: int, chunks: Iterator[bytes]) -> None:
                if wanted(Member(path, size, size)):
                    lookout.offer(key, path, size, chunks)

            if self._contents is None:
                self._contents = self._pass_over(offer)
            else:
                self._again(offer)
        contents = self.contents()
        keys = contents.parts.keys
        shown: dict[str, tuple[str, T]] = {}
        for path, item in contents.site.items():
            place = item.placed.file.place
            if (keys[item.placed.layer], place) in lookout.found:
                shown[path] = (place, lookout.found[keys[item.placed.layer], place])
        return shown

    def read(self, path: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """As `Artifact.read`; what was not kept costs another pass over its layer."""
        file = self.contents().site[path].placed.file
        refuse_larger(file.size_bytes, limit_bytes, f"{self.name}!{path}")
        return file.read() if file.text is not None else b"".join(self.stream(path))

    def read_at(self, path: str, offset: int, length: int) -> bytes:
        """As `Artifact.read_at`."""
        file = self.contents().site[path].placed.file
        if file.text is not None:
            return file.read()[offset : offset + length]
        return slice_of_stream(self.stream(path), offset, length)

    def stream(self, path: str, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
        """As `Artifact.stream`; there is no checksum of its own, but the layer has one."""
        return self._stream(path, self.contents().site[path].placed, chunk_bytes)

    def localize(self) -> Artifact:
        """Itself: nothing of an image goes to disk."""
        return self

    def close(self) -> None:
        """Release the source."""
        self._source.close()

    def _stream(self, path: str, placed: Placed, chunk_bytes: int) -> Iterator[bytes]:
        if placed.file.text is not None:
            pieces: Iterator[bytes] = iter((placed.file.read(),))
        else:
            pieces = self._from_layer(path, placed)
        for piece in pieces:
            for at in range(0, len(piece), chunk_bytes):
                yield piece if len(piece) <= chunk_bytes else piece[at : at + chunk_bytes]

    def _from_layer(self, path: str, placed: Placed) -> Iterator[bytes]:
        key = self.contents().parts.keys[placed.layer]
        for _, chunks in self._source.layers(lambda other: other == key):
            stream = TarStream(open_layer(chunks))
            for entry in stream:
                if entry.path == placed.file.place and entry.kind is EntryKind.FILE:
                    yield from stream.chunks()
                    return
        raise FormatError("is gone from its layer", where=f"{self.name}!{path}")

    def _pass_over(self, offer: KeyedOffer | None) -> ImageContents:
        run = _Pass(self._source, self._progress, offer, all_layers=self._all_layers)
        return run.in_order() if self._source.ordered else run.as_they_come()

    def _again(self, offer: KeyedOffer) -> None:
        """Another pass, for members only."""
        contents = self.contents()
        keys = contents.parts.keys
        wanted: dict[str, dict[str, Placed]] = {}
        for item in contents.site.values():
            layer = wanted.setdefault(keys[item.placed.layer], {})
            layer[item.placed.file.place] = item.placed
        for key, chunks in self._source.layers(lambda other: other in wanted):
            stream = TarStream(open_layer(chunks))
            for entry in stream:
                placed = wanted[key].get(entry.path)
                if placed and entry.kind is EntryKind.FILE:
                    offer(key, entry.path, entry.size_bytes, stream.chunks())


class _Pass:
    """One pass over the layers of a source."""

    def __init__(
        self,
        source: ImageSource,
        progress: Progress,
        offer: KeyedOffer | None,
        *,
        all_layers: bool,
    ) -> None:
        self._source = source
        self._progress = progress
        self._offer = offer
        self._all_layers = all_layers
        self._skipped: dict[str, str] = {}
        self._digests: dict[str, str] = {}

    def in_order(self) -> ImageContents:
        """From the top down: what is hidden is passed over, and what is told is left out."""
        parts = self._source.parts()
        stack = LayerStack()
        numbers = {key: number for number, key in enumerate(parts.keys)}
        reader = LayerReader(hidden=stack.hides)
        sizes: dict[int, int] = {}

        def wanted(key: str) -> bool:
            number = numbers[key]
            reason = self._reason(parts, number, stack)
            if reason:
                self._skipped[key] = reason
            return not reason

        self._progress.start("layers", sum(parts.stored_bytes) or None)
        try:
            for key, chunks in self._source.layers(wanted):
                index = self._read(reader, key, chunks)
                stack.add(numbers[key], index)
                sizes[numbers[key]] = index.size_bytes
        finally:
            self._progress.finish()
        return self._finish(parts, stack, sizes)

    def as_they_come(self) -> ImageContents:
        """In any order: all are read, and merged when all have passed."""
        reader = LayerReader()
        found: dict[str, LayerIndex] = {}
        self._progress.start("layers")
        try:
            for key, chunks in self._source.layers(lambda _key: True):
                found[key] = self._read(reader, key, chunks)
        finally:
            self._progress.finish()
        parts = self._source.parts()
        stack = LayerStack()
        sizes: dict[int, int] = {}
        for number in reversed(range(len(parts.keys))):
            index = found.get(parts.keys[number])
            if index is None:
                raise FormatError(
                    "layer is missing", where=f"{self._source.name}!{parts.keys[number]}"
                )
            stack.add(number, index)
            sizes[number] = index.size_bytes
        return self._finish(parts, stack, sizes)

    def _finish(self, parts: ImageParts, stack: LayerStack, sizes: dict[int, int]) -> ImageContents:
        self._check_digests(parts)
        stack.finish()
        fates = tuple(
            LayerFate(sizes.get(number, 0), self._skipped.get(key, ""))
            for number, key in enumerate(parts.keys)
        )
        python = find_python(stack, parts.config)
        return ImageContents(parts, stack, python, fates, *view_sites(stack, python))

    def _check_digests(self, parts: ImageParts) -> None:
        """What was unpacked is what the config names; an engine refuses anything else, too."""
        for key, diff_id in zip(parts.keys, parts.config.diff_ids, strict=True):
            found = self._digests.get(key)
            if found and diff_id != f"sha256:{found}":
                raise FormatError(
                    f"unpacks to sha256:{found[:12]}…, where its config names {diff_id[:19]}…",
                    where=f"{self._source.name}!{_short(key)}",
                    hint="no engine unpacks it: build or fetch the image again",
                )

    def _reason(self, parts: ImageParts, number: int, stack: LayerStack) -> str:
        if self._all_layers or not self._source.remote:
            return ""
        return reason_to_skip(parts.config, number, parts.stored_bytes[number], stack)

    def _read(self, reader: LayerReader, key: str, chunks: Iterator[bytes]) -> LayerIndex:
        offer = partial(self._offer, key) if self._offer else None
        try:
            head = next(chunks, b"")
            pieces = open_layer(self._counted(chain((head,), chunks)))
            if not head.startswith(PACKED):  # its digest is its name, or nobody's
                return reader.read(pieces, offer)
            with HashBeside() as digest:
                passed = digest.watch(pieces)
                index = reader.read(passed, offer)
                for _ in passed:
                    pass
        except FormatError as error:
            where = f"{self._source.name}!{_short(key)}"
            raise (error if error.where else error.within(where)) from error
        self._digests[key] = digest.hexdigest
        return index

    def _counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._progress.advance(len(chunk))
            yield chunk


def _short(key: str) -> str:
    return key.removeprefix("blobs/sha256/")[:19]
