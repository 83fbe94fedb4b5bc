"""What was read of an artifact, kept by its digest, so that the second look is quick.

Only of artifacts whose every byte their identity stands for: a file by its SHA-256, an image by
the digest of its config. An entry carries its own digest, and belongs to the reader that wrote it:
another version of the tool, or an edited one, finds nothing. The folder may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec
import zstandard

import sparkproof
from sparkproof.adapters.cache import ArtifactCache
from sparkproof.core.digest import digest
from sparkproof.core.subject import Subject

T = TypeVar("T")

MAX_ENTRIES = 200
"""A whole release takes half a megabyte, an image's inventory somewhat more."""
EVERYTHING = "everything"
"""What is asked where a reading depends on nothing but the bytes."""
_MAX_DECODED_BYTES = 256 << 20
_DIGEST_BYTES = 32
_OFF = "SPARKPROOF_NO_MEMORY"
_BY_CONTENT = ("sha256:", "image:")


class ObservationCache:
    """``observations/<reader>/<key>.mp.zst``, a key being the digest of what was asked."""

    def __init__(self, files: ArtifactCache | None, subject: Subject) -> None:
        self._folder = (files or ArtifactCache()).folder / "observations" / reader_digest()
        stable = subject.verified and subject.identity.startswith(_BY_CONTENT)
        self._identity = subject.identity if stable and not os.environ.get(_OFF) else ""

    def recall(self, kind: type[T], asked: object, read: Callable[[], T]) -> T:
        """What was read before, or what `read` finds now.

        Args:
            asked: whatever else the reading depends on, as JSON values.
        """
        if not self._identity:
            return read()
        path = self._folder / f"{self._key(kind, asked)}.mp.zst"
        known = _load(path, kind)
        if known is not None:
            return known
        found = read()
        with contextlib.suppress(OSError):  # an unwritable cache costs time, no answer
            _store(path, msgspec.msgpack.encode(found))
        return found

    def _key(self, kind: type, asked: object) -> str:
        return digest([self._identity, kind.__name__, asked]).removeprefix("sha256:")


@cache
def reader_digest() -> str:
    """Of the version and of every file of this package by path, size and time."""
    root = Path(sparkproof.__file__).parent
    lines = [sparkproof.__version__]
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name != "__pycache__")
        for name in sorted(files):
            stat = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - 1,500 of them
            lines.append(f"{folder}/{name} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _load(path: Path, kind: type[T]) -> T | None:
    try:
        data = path.read_bytes()
        packed = data[_DIGEST_BYTES:]
        if hashlib.sha256(packed).digest() != data[:_DIGEST_BYTES]:
            return None
        plain = zstandard.decompress(packed, max_output_size=_MAX_DECODED_BYTES)
        return msgspec.msgpack.decode(plain, type=kind)
    except (OSError, zstandard.ZstdError, msgspec.MsgspecError):
        return None


def _store(path: Path, plain: bytes) -> None:
    packed = zstandard.compress(plain)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as scratch:
        scratch.write(hashlib.sha256(packed).digest() + packed)
    Path(scratch.name).replace(path)
    _prune(path.parent.parent)


def _prune(root: Path) -> None:
    """Keep the newest entries, of whatever reader."""
    entries = sorted(root.glob("*/*"), key=lambda item: item.stat().st_mtime_ns, reverse=True)
    for entry in entries[MAX_ENTRIES:]:
        entry.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder still holds others
            entry.parent.rmdir()
