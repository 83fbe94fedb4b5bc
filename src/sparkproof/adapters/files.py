"""Writes a file whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sparkproof.core.errors import UnreachableError


def write_file(path: Path, text: str) -> None:
    """Write text as UTF-8; what stood there before stays until the new is whole.

    Raises:
        UnreachableError: it can't be written.
    """
    try:
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
        raise UnreachableError(f"can't write {path}: {error.strerror or error}") from error
