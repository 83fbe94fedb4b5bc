"""Receipts on disk: one JSON file each, written once, in the user's data folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import platformdirs

from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.receipt import Receipt
from sparkproof.core.redaction import redact_text
from sparkproof.formats.receipt_json import MAX_RECEIPT_BYTES, parse_receipt

_HEAD = "HEAD"
_MIN_PREFIX = 6


def default_folder() -> Path:
    """``$SPARKPROOF_DATA/receipts``, else the platform's place for user data."""
    base = os.environ.get("SPARKPROOF_DATA") or platformdirs.user_data_dir("sparkproof")
    return Path(base) / "receipts"


class ReceiptStore:
    """A folder of receipts and the digest of the newest one.

    File names are ``<sequence>-<command>-<hash>.json``; the sequence gives the order in which
    they were written, the head file the newest digest.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """What messages call it."""
        return redact_text(str(self.folder))

    def append(self, seal: Callable[[str], Receipt]) -> tuple[Receipt, Path]:
        """Seal a receipt on top of the present head and write it, once.

        Args:
            seal: makes the receipt from the digest of the one before it.

        Raises:
            UnreachableError: the folder can't be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._lock():
                files = self._files()
                receipt = seal(self.head())
                sequence = int(files[-1].name.split("-", 1)[0]) + 1 if files else 1
                short = receipt.hash.removeprefix("sha256:")[:12]
                path = self.folder / f"{sequence:06d}-{receipt.command}-{short}.json"
                self._write_once(path, msgspec.json.format(msgspec.json.encode(receipt)))
                self._replace(self.folder / _HEAD, receipt.hash.encode() + b"\n")
        except OSError as error:
            raise UnreachableError(
                f"can't write a receipt in {self.name}: {error.strerror or error}",
                hint="set SPARKPROOF_DATA to a writable folder, or pass --no-receipt",
            ) from error
        return receipt, path

    def head(self) -> str:
        """Digest of the newest receipt as the store noted it ("" for none)."""
        try:
            return (self.folder / _HEAD).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise UnreachableError(f"can't read {self.name}/{_HEAD}: {error}") from error

    def read_all(self) -> Iterator[tuple[str, Receipt | FormatError]]:
        """Every receipt, oldest first; an unreadable one comes as its error."""
        for path in self._files():
            try:
                yield path.name, self._read(path)
            except FormatError as error:
                yield path.name, error

    def find(self, reference: str) -> tuple[str, Receipt]:
        """One receipt: a path, the beginning of a digest, a sequence number, or ``latest``.

        Raises:
            UsageError: none or several match.
            FormatError: the file is no receipt.
        """
        if "/" in reference or reference.endswith(".json"):
            path = Path(reference)
            if not path.is_file():
                raise UsageError(f"no receipt at {redact_text(reference)}")
            return path.name, self._read(path)
        path = self._match(reference)
        return path.name, self._read(path)

    def _match(self, reference: str) -> Path:
        files = self._files()
        hint = "`sparkproof receipt list` shows what there is"
        if reference == "latest" and files:
            return files[-1]
        wanted = reference.removeprefix("sha256:")
        if wanted.isdecimal() and len(wanted) < _MIN_PREFIX:
            matches = [p for p in files if int(p.name.split("-", 1)[0]) == int(wanted)]
        elif len(wanted) >= _MIN_PREFIX:
            matches = [p for p in files if _short(p).startswith(wanted[:12])]
        else:
            matches = []
        if len(matches) != 1:
            word = "several receipts match" if matches else "no receipt matches"
            raise UsageError(f"{word} `{reference}` in {self.name}", hint=hint)
        return matches[0]

    def _read(self, path: Path) -> Receipt:
        name = redact_text(str(path))
        try:
            if path.stat().st_size > MAX_RECEIPT_BYTES:
                raise FormatError("larger than any receipt", where=name)
            return parse_receipt(path.read_bytes(), name)
        except OSError as error:
            raise FormatError(f"unreadable: {error.strerror}", where=name) from error

    def _files(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        files = [p for p in self.folder.glob("*.json") if p.name.split("-", 1)[0].isdecimal()]
        return sorted(files, key=lambda p: (int(p.name.split("-", 1)[0]), p.name))

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with (self.folder / ".lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _write_once(self, path: Path, data: bytes) -> None:
        temporary = self._temporary(data)
        try:
            os.link(temporary, path)
        finally:
            temporary.unlink()

    def _replace(self, path: Path, data: bytes) -> None:
        self._temporary(data).replace(path)

    def _temporary(self, data: bytes) -> Path:
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
        return Path(name)


def _short(path: Path) -> str:
    return path.stem.rsplit("-", 1)[-1]
