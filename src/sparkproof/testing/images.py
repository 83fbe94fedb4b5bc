"""Builders of container images: layers from files and real wheels, layouts, archives.

Nothing is held in memory but the documents, so that images of any size can be made.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

import zstandard

from sparkproof.adapters.zip_artifact import open_wheel
from sparkproof.core.ports import Artifact

OCI = "application/vnd.oci.image."
_PIECE = 1 << 20


class Entry(NamedTuple):
    """One tar entry; `data` in pieces, for a regular file."""

    path: str
    size_bytes: int = 0
    data: Iterable[bytes] = ()
    kind: bytes = tarfile.REGTYPE
    target: str = ""


class Layer(NamedTuple):
    """A layer that was written."""

    digest: str
    diff_id: str
    size_bytes: int
    media_type: str
    command: str


class Image(NamedTuple):
    """An image that was written: digests of its documents, and its layers."""

    manifest: str
    config: str
    layers: tuple[Layer, ...]


def files(contents: Mapping[str, bytes], prefix: str = "") -> list[Entry]:
    """Entries of regular files."""
    return [Entry(prefix + path, len(data), (data,)) for path, data in contents.items()]


def link(path: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(path, kind=tarfile.SYMTYPE, target=target)


def hard_link(path: str, target: str) -> Entry:
    """A hard link."""
    return Entry(path, kind=tarfile.LNKTYPE, target=target)


def removed(path: str) -> Entry:
    """A whiteout."""
    folder, _, name = path.rpartition("/")
    return Entry(f"{folder}/.wh.{name}" if folder else f".wh.{name}")


def opaque(folder: str) -> Entry:
    """An opaque folder."""
    return Entry(f"{folder}/.wh..wh..opq")


def wheel_entries(artifact: Artifact, site: str, *, only: str = "") -> Iterator[Entry]:
    """What installing a wheel leaves in a folder of packages.

    Args:
        only: take members whose path begins so.
    """
    for member in artifact.members():
        if member.path.startswith(only):
            pieces = artifact.stream(member.path, chunk_bytes=_PIECE)
            yield Entry(f"{site}/{member.path}", member.size_bytes, pieces)


def wheel_at(path: Path, site: str) -> Iterator[Entry]:
    """As `wheel_entries`, from a file."""
    return wheel_entries(open_wheel(path), site)


class ImageFolder:
    """An OCI layout on the disk, built up layer by layer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._blobs = folder / "blobs" / "sha256"
        self._blobs.mkdir(parents=True, exist_ok=True)
        self._index: list[dict[str, Any]] = []
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')

    def layer(
        self,
        entries: Iterable[Entry],
        command: str = "",
        *,
        compression: str = "gzip",
        level: int = 1,
    ) -> Layer:
        """Write a layer: ``gzip``, ``zstd`` or ``tar``."""
        scratch = self._blobs / ".new"
        with scratch.open("wb") as file:
            stored = _Hashing(file)
            packer = _packer(compression, level, stored)
            plain = _Hashing(packer)
            write_tar(plain, entries)
            packer.close()
        digest = stored.digest.hexdigest()
        size = scratch.stat().st_size
        scratch.replace(self._blobs / digest)
        suffix = {"gzip": "+gzip", "zstd": "+zstd", "tar": ""}[compression]
        return Layer(
            f"sha256:{digest}",
            f"sha256:{plain.digest.hexdigest()}",
            size,
            f"{OCI}layer.v1.tar{suffix}",
            command,
        )

    def blob(self, data: bytes) -> str:
        """Write a document; its digest."""
        digest = hashlib.sha256(data).hexdigest()
        (self._blobs / digest).write_bytes(data)
        return f"sha256:{digest}"

    def read(self, digest: str) -> bytes:
        """A blob's bytes."""
        return self.path(digest).read_bytes()

    def path(self, digest: str) -> Path:
        """Where a blob lies."""
        return self._blobs / digest.removeprefix("sha256:")

    def image(
        self,
        layers: Iterable[Layer],
        *,
        name: str = "",
        architecture: str = "arm64",
        created: str = "2026-11-20T08:00:00Z",
        listed: bool = True,
        **config: Any,
    ) -> Image:
        """Write config and manifest.

        Args:
            name: tag in the layout's index.
            listed: put it into that index.
            config: ``Env``, ``Labels``, ``Entrypoint`` … as the config spells them.
        """
        chosen = tuple(layers)
        document = {
            "architecture": architecture,
            "os": "linux",
            "created": created,
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in chosen]},
            "history": [{"created": created, "created_by": layer.command} for layer in chosen],
        }
        data = json.dumps(document).encode()
        config_digest = self.blob(data)
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}manifest.v1+json",
            "config": _descriptor(f"{OCI}config.v1+json", config_digest, len(data)),
            "layers": [_descriptor(x.media_type, x.digest, x.size_bytes) for x in chosen],
        }
        written = json.dumps(manifest).encode()
        digest = self.blob(written)
        entry = _descriptor(f"{OCI}manifest.v1+json", digest, len(written))
        entry["platform"] = {"os": "linux", "architecture": architecture}
        if name:
            entry["annotations"] = {"org.opencontainers.image.ref.name": name}
        if listed:
            self.list(entry)
        return Image(digest, config_digest, chosen)

    def list(self, entry: dict[str, Any]) -> None:
        """Add a descriptor to the layout's index."""
        self._index.append(entry)
        index = {"schemaVersion": 2, "manifests": self._index}
        (self.folder / "index.json").write_text(json.dumps(index))

    def index_of(self, images: Mapping[str, Image]) -> str:
        """Write an index of images by architecture, with an attestation; its digest."""
        manifests = []
        for architecture, image in images.items():
            size = self.path(image.manifest).stat().st_size
            entry = _descriptor(f"{OCI}manifest.v1+json", image.manifest, size)
            entry["platform"] = {"os": "linux", "architecture": architecture}
            manifests.append(entry)
        attestation = dict(manifests[0])
        attestation["platform"] = {"os": "unknown", "architecture": "unknown"}
        attestation["annotations"] = {"vnd.docker.reference.type": "attestation-manifest"}
        document = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}index.v1+json",
            "manifests": [attestation, *manifests],
        }
        return self.blob(json.dumps(document).encode())

    def write_oci_archive(self, target: Path) -> Path:
        """The layout as a tar archive."""
        with target.open("wb") as file:
            names = sorted(p for p in self.folder.rglob("*") if p.is_file())
            write_tar(file, (_from_disk(p, str(p.relative_to(self.folder))) for p in names))
        return target

    def write_saved(self, image: Image, target: Path, tag: str = "vllm:test") -> Path:
        """What older engines' ``save`` writes: plain layers first, their list last."""
        with target.open("wb") as file:
            write_tar(file, self.saved_entries(image, tag))
        return target

    def saved_entries(self, image: Image, tag: str) -> Iterator[Entry]:
        """Entries of such an archive; a layer that stands twice is a link the second time."""
        names: dict[str, str] = {}
        listed = []
        for number, layer in enumerate(image.layers):
            folder = hashlib.sha256(f"{number}{layer.diff_id}".encode()).hexdigest()
            listed.append(f"{folder}/layer.tar")
            if layer.diff_id in names:
                yield link(listed[-1], f"../{names[layer.diff_id]}")
                continue
            names[layer.diff_id] = listed[-1]
            size = sum(map(len, self.plain(layer)))
            yield Entry(listed[-1], size, self.plain(layer))
        config = self.read(image.config)
        name = f"{image.config.removeprefix('sha256:')}.json"
        yield Entry(name, len(config), (config,))
        document = [{"Config": name, "RepoTags": [tag], "Layers": listed}]
        data = json.dumps(document).encode()
        yield Entry("manifest.json", len(data), (data,))

    def plain(self, layer: Layer) -> Iterator[bytes]:
        """A layer's uncompressed bytes."""
        with self.path(layer.digest).open("rb") as file:
            if layer.media_type.endswith("+gzip"):
                unpacked = gzip.GzipFile(fileobj=file)
                yield from iter(lambda: unpacked.read(_PIECE), b"")
            elif layer.media_type.endswith("+zstd"):
                reader = zstandard.ZstdDecompressor().stream_reader(file)
                yield from iter(lambda: reader.read(_PIECE), b"")
            else:
                yield from iter(lambda: file.read(_PIECE), b"")


class _Writable(Protocol):
    def write(self, data: bytes, /) -> object: ...


class _Hashing:
    """Passes bytes on and keeps their digest."""

    def __init__(self, file: _Writable) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self._file.write(data)
        return len(data)


class _Packer:
    """A compressor as a file."""

    def __init__(self, pack: Any, target: _Writable) -> None:
        self._pack = pack
        self._target = target

    def write(self, data: bytes) -> int:
        self._target.write(self._pack.compress(data))
        return len(data)

    def close(self) -> None:
        self._target.write(self._pack.flush())


class _Plain:
    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def _packer(compression: str, level: int, target: _Writable) -> _Packer:
    if compression == "gzip":
        return _Packer(zlib.compressobj(level, wbits=31), target)
    if compression == "zstd":
        return _Packer(zstandard.ZstdCompressor(level=level).compressobj(), target)
    return _Packer(_Plain(), target)


def write_tar(target: _Writable, entries: Iterable[Entry]) -> None:
    """Write entries as a tar archive, the same bytes every time."""
    with tarfile.open(
        fileobj=cast("BinaryIO", target), mode="w|", format=tarfile.PAX_FORMAT
    ) as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.type, info.linkname, info.mode = entry.kind, entry.target, 0o755
            info.size = entry.size_bytes if entry.kind == tarfile.REGTYPE else 0
            archive.addfile(info, cast("BinaryIO", _Pieces(entry.data)) if info.size else None)


def tar_bytes(entries: Iterable[Entry]) -> bytes:
    """As `write_tar`, in memory."""
    buffer = io.BytesIO()
    write_tar(buffer, entries)
    return buffer.getvalue()


class _Pieces:
    """Pieces as a readable file."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = b""

    def read(self, size: int = -1) -> bytes:
        parts = []
        while size:
            if not self._left:
                self._left = next(self._pieces, b"")
                if not self._left:
                    break
            piece, self._left = self._left[:size], self._left[size:]
            parts.append(piece)
            size -= len(piece)
        return b"".join(parts)


def _from_disk(path: Path, name: str) -> Entry:
    def pieces() -> Iterator[bytes]:
        with path.open("rb") as file:
            yield from iter(lambda: file.read(_PIECE), b"")

    return Entry(name, path.stat().st_size, pieces())


def _descriptor(media_type: str, digest: str, size: int) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest, "size": size}
