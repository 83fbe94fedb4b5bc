"""A checkpoint on this machine's disk: a folder, or a config.json alone."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from sparkproof.adapters.sources import FileSource
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.ports import READ_LIMIT_BYTES
from sparkproof.core.refs import Ref, RefKind
from sparkproof.core.subject import Subject

CONFIG = "config.json"
_CONFIGS = (CONFIG, "hf_quant_config.json", "params.json")
_NO_NAMES = ("checkpoint", "model")
_SNAPSHOT = re.compile(r"models--(?P<repo>[^/]+)/snapshots/(?P<commit>[0-9a-f]{40})\Z")
_HINT = "name a folder with config.json, the file itself, or a repository as ORG/NAME"


class LocalCheckpoint:
    """A `CheckpointSource` over a folder; `only` names the one file that was asked for."""

    def __init__(self, ref: Ref, folder: Path, only: str = "", *, identity: str = "") -> None:
        """List the folder.

        Raises:
            UnreachableError: it can't be listed, or there is no such file.
        """
        self._folder = folder
        names = [only] if only else self._names()
        self._files = {name: _size(folder / name) for name in names}
        self._subject = Subject(
            kind=RefKind.CHECKPOINT,
            ref=ref.display,
            identity=identity or _of_snapshot(folder) or self._identity(),
            name=only or _name_of(folder.resolve()),
            notes=() if identity else _noted(folder, only),
        )

    def _names(self) -> list[str]:
        try:
            return sorted(entry.name for entry in self._folder.iterdir() if entry.is_file())
        except OSError as error:
            reason = (error.strerror or "error").lower()
            message = f"{self._folder.name} can't be listed: {reason}"
            raise UnreachableError(message, hint=_HINT) from error

    def _identity(self) -> str:
        digest = hashlib.sha256()
        for name in _CONFIGS:
            if name in self._files:
                digest.update(f"{name}\n".encode() + self.read(name))
        for name, size in self._files.items():
            if name.endswith(".safetensors"):
                digest.update(f"\n{name} {size}".encode())
        return f"metadata:{digest.hexdigest()}"

    @property
    def subject(self) -> Subject:
        """As `CheckpointSource.subject`."""
        return self._subject

    def files(self) -> dict[str, int]:
        """As `CheckpointSource.files`."""
        return dict(self._files)

    def read(self, name: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """As `CheckpointSource.read`."""
        source = self.open(name)
        try:
            if source.size_bytes > limit_bytes:
                raise FormatError(f"larger than {limit_bytes} bytes", where=name)
            return source.read_at(0, source.size_bytes)
        finally:
            source.close()

    def open(self, name: str) -> FileSource:
        """As `CheckpointSource.open`."""
        if name not in self._files:
            raise KeyError(name)
        return FileSource(self._folder / name)

    def close(self) -> None:
        """Nothing stays open."""


def find_local(ref: Ref) -> LocalCheckpoint | None:
    """The folder or config of that name here; None where there is neither."""
    try:
        path = Path(ref.value).expanduser()
        if path.is_dir():
            return LocalCheckpoint(ref, path)
        if path.is_file():
            return LocalCheckpoint(ref, path.parent, path.name)
    except (OSError, RuntimeError, ValueError):  # a name that no disk can hold, or no such home
        return None
    return None


def _name_of(folder: Path) -> str:
    """The folder's own name, or its parent's where its own says only what it is."""
    own, parent = folder.name, folder.parent.name
    return parent if own in _NO_NAMES and parent else own


def _of_snapshot(folder: Path) -> str:
    """A folder of the hub's own cache knows its repository and commit."""
    found = _SNAPSHOT.search(folder.resolve().as_posix())
    return f"hub:{found['repo'].replace('--', '/')}@{found['commit']}" if found else ""


def _noted(folder: Path, only: str) -> tuple[str, ...]:
    if _of_snapshot(folder) and not only:
        return ()
    return ("its identity is of configs and of shards' names and sizes, not of the weights",)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        reason = (error.strerror or "error").lower()
        raise UnreachableError(f"{path.name} can't be read: {reason}", hint=_HINT) from error
