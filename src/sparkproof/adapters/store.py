"""Receipts on disk: one JSON file each, written once, in the user's data folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import platformdirs

from sparkproof.adapters.files import is_file, is_there, read_file
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.receipt import Receipt, content_hash
from sparkproof.core.redaction import redact_text
from sparkproof.formats.receipt_json import MAX_RECEIPT_BYTES, parse_receipt

_HEAD = "HEAD"
_MAX_HEAD_BYTES = 4096
_MIN_PREFIX = 6
_SHORT = 12
_DIGITS = 18
_FILE_NAME = re.compile(rf"[0-9]{{1,{_DIGITS}}}-[!-.0-~]*\.json\Z")
"""In ASCII: a name of other bytes is none that was written here, and may be no text at all."""
LOCK_S = 30.0
_LOCK_PAUSE_S = 0.02
_LIST_HINT = "`sparkproof receipt list` shows what there is"
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})


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
                files = self.files()
                receipt = seal(self._tip(files))
                sequence = self._next(files)
                short = receipt.hash.removeprefix("sha256:")[:_SHORT]
                command = receipt.command.replace(" ", "-")
                path = self.folder / f"{sequence:06d}-{command}-{short}.json"
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
        path = self.folder / _HEAD
        if not is_there(path):
            return ""
        try:
            return read_file(path, _MAX_HEAD_BYTES).decode("ascii").strip()
        except (UnreachableError, FormatError, UnicodeDecodeError) as error:
            raise UnreachableError(
                f"can't read {self.name}/{_HEAD}: {error}",
                hint="put back the digest of the newest receipt, or pass another --store",
            ) from error

    def read_all(self) -> Iterator[tuple[str, Receipt | FormatError]]:
        """Every receipt, oldest first; an unreadable one comes as its error."""
        for path in self.files():
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
            for path in (Path(reference), self.folder / reference):
                if is_file(path):
                    return path.name, self._read(path)
            raise UsageError(f"no receipt at {redact_text(reference)}", hint=_LIST_HINT)
        path = self._match(reference)
        receipt = self._read(path)
        wanted = reference.removeprefix("sha256:")
        if len(wanted) > _SHORT and not receipt.hash.startswith(f"sha256:{wanted}"):
            raise UsageError(f"no receipt matches `{reference}` in {self.name}", hint=_LIST_HINT)
        return path.name, receipt

    def _match(self, reference: str) -> Path:
        files = self.files()
        if reference == "latest" and files:
            return files[-1]
        wanted = reference.removeprefix("sha256:")
        if wanted.isdecimal() and len(wanted) < _MIN_PREFIX:
            matches = [p for p in files if _sequence(p) == int(wanted)]
        elif len(wanted) >= _MIN_PREFIX:
            matches = [p for p in files if _short(p).startswith(wanted[:_SHORT])]
            if not matches and wanted.isdecimal() and len(wanted) <= _DIGITS:
                matches = [p for p in files if _sequence(p) == int(wanted)]
        else:
            matches = []
        if len(matches) != 1:
            word = "several receipts match" if matches else "no receipt matches"
            raise UsageError(f"{word} `{reference}` in {self.name}", hint=_LIST_HINT)
        return matches[0]

    def _next(self, files: list[Path]) -> int:
        sequence = _sequence(files[-1]) + 1 if files else 1
        if len(str(sequence)) > _DIGITS:
            raise UnreachableError(
                f"no number follows that of {self.name}/{files[-1].name}",
                hint="rename it to the number that it was written under, or pass another --store",
            )
        return sequence

    def _tip(self, files: list[Path]) -> str:
        """The head, or the last receipt where a crash came between writing it and the head."""
        head = self.head()
        if files:
            with contextlib.suppress(FormatError):
                last = self._read(files[-1])
                if last.previous == head and content_hash(last) == last.hash:
                    return last.hash
        return head

    def _read(self, path: Path) -> Receipt:
        name = redact_text(str(path))
        try:
            if path.stat().st_size > MAX_RECEIPT_BYTES:
                raise FormatError("larger than any receipt", where=name)
            return parse_receipt(path.read_bytes(), name)
        except OSError as error:
            raise UnreachableError(
                f"can't read {name}: {error.strerror or error}", hint="check its permissions"
            ) from error

    def files(self) -> list[Path]:
        """The receipts in the order they were written; none where there is no store yet.

        Raises:
            UnreachableError: the folder can't be listed.
        """
        try:
            with os.scandir(self.folder) as entries:
                names = [e.name for e in entries if _FILE_NAME.match(e.name) and e.is_file()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnreachableError(
                f"can't list {self.name}: {error.strerror or error}",
                hint="set SPARKPROOF_DATA to a readable folder, or pass --store",
            ) from error
        return sorted(map(self.folder.joinpath, names), key=lambda p: (_sequence(p), p.name))

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Alone in the folder; whoever holds it for long (a stopped process does) is not waited
        for, since an answer would wait with us."""
        # Without waiting for a reader, should it be a pipe.
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600)
        try:
            end = time.monotonic() + LOCK_S
            while not _locked(handle):
                if time.monotonic() >= end:
                    raise UnreachableError(
                        f"another process holds {self.name}/.lock",
                        hint="end it, or pass another --store",
                    )
                time.sleep(_LOCK_PAUSE_S)
            yield
        finally:
            os.close(handle)

    def _write_once(self, path: Path, data: bytes) -> None:
        temporary = self._temporary(data)
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _NO_LINKS or path.exists():
                raise
            temporary.rename(path)  # a file system without hard links; the lock is ours
        finally:
            temporary.unlink(missing_ok=True)

    def _replace(self, path: Path, data: bytes) -> None:
        temporary = self._temporary(data)
        try:
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

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


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _short(path: Path) -> str:
    return path.stem.rsplit("-", 1)[-1]


def _sequence(path: Path) -> int:
    return int(path.name.split("-", 1)[0])
