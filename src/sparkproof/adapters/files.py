"""Small files of the user's, read and written whole, or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from sparkproof.adapters.sources import FileSource
from sparkproof.core.errors import FormatError, UnreachableError

_HINT = "name a file that is there and that you may read"


def refuse_unwritable(path: Path) -> None:
    """Make its folder, and try whether a file can be made there.

    Raises:
        UnreachableError: none can.
    """
    try:
        if _is_special(path):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-"):
            pass
    except OSError as error:
        raise _unwritable(path, error) from error


def write_file(path: Path, text: str) -> None:
    """Write text as UTF-8; what stood there before stays until the new is whole.

    A device or a pipe is written to, never replaced by a file.

    Raises:
        UnreachableError: it can't be written.
    """
    try:
        if _is_special(path):
            path.write_text(text, encoding="utf-8")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _unwritable(path, error) from error


def _is_special(path: Path) -> bool:
    """Whether something stands there that is neither a file nor a folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _unwritable(path: Path, error: OSError) -> UnreachableError:
    return UnreachableError(
        f"can't write {path}: {error.strerror or error}", hint="name another place"
    )


def read_file(path: Path, limit_bytes: int, *, hint: str = _HINT) -> bytes:
    """The whole of one regular file; a pipe or a device, which may never end, is none.

    Raises:
        UnreachableError: missing, unreadable, or no regular file.
        FormatError: larger than `limit_bytes`.
    """
    try:
        source = FileSource(path)
    except UnreachableError as error:
        raise UnreachableError(error.message, hint=hint) from error
    try:
        data = source.read_at(0, limit_bytes + 1)
    finally:
        source.close()
    if len(data) > limit_bytes:
        raise FormatError(f"larger than {limit_bytes} bytes", where=path.name)
    return data


def is_there(path: Path) -> bool:
    """As `Path.exists`, which raises where a name is too long or a folder barred."""
    return _mode(path) is not None


def is_file(path: Path) -> bool:
    """As `Path.is_file`, which raises where a name is too long or a folder barred."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def _mode(path: Path) -> int | None:
    try:
        return path.expanduser().stat().st_mode
    except (OSError, RuntimeError, ValueError):  # RuntimeError: ~NAME of nobody here
        return None
