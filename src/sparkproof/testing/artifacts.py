"""Artifacts without a disk, and builders of small wheels, sdists and trees."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from sparkproof.core.errors import FormatError
from sparkproof.core.ports import (
    CHUNK_BYTES,
    READ_LIMIT_BYTES,
    Artifact,
    ArtifactLocation,
    Member,
)
from sparkproof.core.unknown import Unknown

_EPOCH = (1980, 1, 1, 0, 0, 0)


class BytesSource:
    """A `ByteSource` over bytes in memory; it counts what is read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.read_bytes = 0
        self.closed = False

    @property
    def size_bytes(self) -> int:
        """Length of the data."""
        return len(self.data)

    def read_at(self, offset: int, length: int) -> bytes:
        """As `ByteSource.read_at`."""
        piece = self.data[offset : offset + length]
        self.read_bytes += len(piece)
        return piece

    def close(self) -> None:
        """Note that it was called."""
        self.closed = True


class MemoryArtifact:
    """The fake of `Artifact`: members from a mapping of path to bytes."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        name: str = "memory.whl",
        unknowns: tuple[Unknown, ...] = (),
        damaged: frozenset[str] = frozenset(),
    ) -> None:
        """Hold the files.

        Args:
            damaged: members whose bytes come, but whose checksum then proves wrong.
        """
        self._files = {path: files[path] for path in sorted(files)}
        self._name = name
        self._unknowns = unknowns
        self._damaged = damaged

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    @property
    def location(self) -> ArtifactLocation | None:
        """None: no other process can open it."""
        return None

    def members(self) -> tuple[Member, ...]:
        """As `Artifact.members`."""
        return tuple(Member(p, len(data), len(data)) for p, data in self._files.items())

    def unknowns(self) -> tuple[Unknown, ...]:
        """As given."""
        return self._unknowns

    def read(self, path: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """As `Artifact.read`."""
        if len(self._files[path]) > limit_bytes:
            raise FormatError("larger than what is read", where=f"{self._name}!{path}")
        return b"".join(self.stream(path))

    def read_at(self, path: str, offset: int, length: int) -> bytes:
        """As `Artifact.read_at`."""
        return self._files[path][offset : offset + length]

    def stream(self, path: str, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
        """As `Artifact.stream`."""
        return self._stream(path, self._files[path], chunk_bytes)

    def localize(self) -> Artifact:
        """Itself."""
        return self

    def close(self) -> None:
        """Nothing to do."""

    def _stream(self, path: str, data: bytes, chunk_bytes: int) -> Iterator[bytes]:
        for at in range(0, len(data), chunk_bytes):
            yield data[at : at + chunk_bytes]
        if path in self._damaged:
            raise FormatError("checksum is wrong: damaged", where=f"{self._name}!{path}", offset=0)


def wheel_filename(
    name: str, version: str, *, build: str = "", tag: str = "cp38-abi3-manylinux_2_28_aarch64"
) -> str:
    """``vllm-0.33.0-cp38-abi3-manylinux_2_28_aarch64.whl``."""
    parts = [name.replace("-", "_"), version, *([build] if build else []), tag]
    return "-".join(parts) + ".whl"


def wheel_files(
    name: str,
    version: str,
    files: Mapping[str, bytes],
    *,
    tag: str = "cp38-abi3-manylinux_2_28_aarch64",
    requires: tuple[str, ...] = (),
) -> dict[str, bytes]:
    """The files of an installable wheel: `files` and its dist-info."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {r}" for r in requires]
    every = dict(files)
    every[f"{info}/METADATA"] = ("\n".join(lines) + "\n").encode()
    every[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: sparkproof\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    record = [f"{path},{_record_hash(data)},{len(data)}" for path, data in every.items()]
    record.append(f"{info}/RECORD,,")
    every[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode()
    return every


def zip_bytes(
    files: Mapping[str, bytes], *, compress: bool = True, stored: frozenset[str] = frozenset()
) -> bytes:
    """A zip archive, the same bytes every time.

    Args:
        stored: members that are not compressed even where `compress` is set.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files.items():
            info = zipfile.ZipInfo(path, _EPOCH)
            deflate = compress and path not in stored
            info.compress_type = zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def write_wheel(
    folder: Path,
    name: str = "vllm",
    version: str = "0.33.0",
    files: Mapping[str, bytes] | None = None,
    *,
    build: str = "",
    tag: str = "cp38-abi3-manylinux_2_28_aarch64",
) -> Path:
    """Write a small installable wheel into `folder`; returns its path."""
    path = folder / wheel_filename(name, version, build=build, tag=tag)
    files = {f"{name}/__init__.py": b""} if files is None else files
    path.write_bytes(zip_bytes(wheel_files(name, version, files, tag=tag)))
    return path


def sdist_bytes(files: Mapping[str, bytes], top: str = "vllm-0.33.0") -> bytes:
    """A ``.tar.gz`` with all `files` below the folder `top`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            info = tarfile.TarInfo(f"{top}/{path}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def write_tree(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files below `folder`; returns it."""
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return folder


def _record_hash(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
