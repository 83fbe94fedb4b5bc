"""Records of a long run: one JSON line each, appended as they come, read again as a stream.

What was written survives the end of our process, however it comes; `sync_every` records or
`sync_s` seconds are what a machine that loses its power may lose. A last line that was cut short
is dropped when the file is opened again. Nothing here holds more than one record in memory.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from sparkproof.adapters.clock import SystemClock, timestamp
from sparkproof.adapters.files import is_file
from sparkproof.adapters.store import default_folder
from sparkproof.core.digest import digest
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.redaction import redact_text
from sparkproof.core.text import encodable, map_text

SCHEMA = "sparkproof/journal/1"
_AFRESH = "begin a new run, without --resume"
MAX_LINE_BYTES = 16 << 20
_LIST_HINT = "name the file that the interrupted run told, or `latest`"
_FULL_HINT = "free some space, or pass --records FOLDER, then go on with --resume"


class JournalHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A journal's first line.

    Attributes:
        plan_digest: of `plan`; a run goes on only with the plan that it began with.
        plan: the command's own, as JSON.
        created_at: RFC 3339, UTC.
    """

    schema: str
    command: str
    plan_digest: str
    plan: msgspec.Raw
    created_at: str


def records_folder() -> Path:
    """Where journals lie unless told otherwise: beside the receipts."""
    return default_folder().with_name("records")


def find_journal(folder: Path, command: str, reference: str) -> Path:
    """A journal by its path, its name in the folder, or ``latest``.

    Raises:
        UsageError: there is none.
    """
    if reference == "latest":
        files = sorted(p for p in folder.glob(f"{command}-*.jsonl") if is_file(p))
        if files:
            return files[-1]
    for path in (Path(reference), folder / reference):
        if reference and is_file(path):
            return path.expanduser()
    raise UsageError(f"no records at {redact_text(reference[:200])}", hint=_LIST_HINT)


class Journal:
    """One run's records, open to be appended to; ``with``, or `close` at the end."""

    def __init__(
        self,
        path: Path,
        head: JournalHead,
        file: BinaryIO,
        *,
        sync_every: int = 64,
        sync_s: float = 2.0,
    ) -> None:
        self.path = path
        self.head = head
        self._file = file
        self._every, self._after_s = sync_every, sync_s
        self._unsynced, self._synced_s = 0, time.monotonic()

    @classmethod
    def create(cls, folder: Path, command: str, plan: msgspec.Struct) -> Journal:
        """A new file ``<command>-<moment>-<digest>.jsonl`` that holds nothing but its first line.

        Raises:
            UnreachableError: it can't be written.
        """
        head = JournalHead(
            schema=SCHEMA,
            command=command,
            plan_digest=digest(plan),
            plan=msgspec.Raw(msgspec.json.encode(plan)),
            created_at=timestamp(SystemClock().now()),
        )
        short = head.plan_digest.removeprefix("sha256:")[:8]
        path = folder / f"{command}-{time.time_ns() // 1_000_000:014d}-{short}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            journal = cls(path, head, _locked(path, os.O_CREAT | os.O_EXCL))
        except OSError as error:
            raise _unwritable(path, error) from error
        journal.append(head)
        journal.sync()
        return journal

    @classmethod
    def resume(cls, path: Path, command: str) -> Journal:
        """Open one that is there, without its last line where that was cut short.

        Raises:
            UsageError: another command's, or another process is writing it.
            FormatError: no journal.
            UnreachableError: it can't be read or written.
        """
        head = read_head(path)
        if head.command != command:
            raise UsageError(
                f"{path.name} holds records of {head.command}, not of {command}",
                hint=f"`sparkproof {head.command}` goes on with them",
            )
        try:
            file = _locked(path, 0)
            file.truncate(_whole_bytes(path))
            file.seek(0, os.SEEK_END)
        except OSError as error:
            raise _unwritable(path, error) from error
        return cls(path, head, file)

    def append(self, record: Any) -> None:
        """Add one record.

        Raises:
            UnreachableError: the disk is full, or gone.
        """
        line = memoryview(_encoded(record) + b"\n")
        try:
            while line:  # a disk that is full takes a part before it says so
                line = line[self._file.write(line) :]
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self._unsynced += 1
        if self._unsynced >= self._every or time.monotonic() - self._synced_s >= self._after_s:
            self.sync()

    def sync(self) -> None:
        """Have the disk hold what was appended.

        Raises:
            UnreachableError: it does not.
        """
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self._unsynced, self._synced_s = 0, time.monotonic()

    def records(self, kind: Any) -> Iterator[Any]:
        """As `read_records`, of what is there by now."""
        return read_records(self.path, kind)

    def close(self) -> None:
        """Sync and let go of the file; again is harmless."""
        if not self._file.closed:
            try:
                self.sync()
            finally:
                self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_head(path: Path) -> JournalHead:
    """The first line.

    Raises:
        FormatError: no journal, or one whose plan is not the one that it was begun with.
        UnreachableError: it can't be read.
    """
    line = next(_lines(path), b"")
    try:
        head = msgspec.json.decode(line, type=JournalHead)
        plan = msgspec.json.decode(head.plan)
    except (msgspec.DecodeError, RecursionError) as error:
        raise FormatError(f"no records of ours: {error}", where=path.name, line=1) from error
    if head.schema != SCHEMA:
        message = f"written by another version, as {redact_text(head.schema[:60])}"
        raise FormatError(message, where=path.name, line=1, hint=_AFRESH)
    if digest(plan) != head.plan_digest:
        raise FormatError(
            "its plan is not the one it was begun with", where=path.name, line=1, hint=_AFRESH
        )
    return head


def read_records(path: Path, kind: Any) -> Iterator[Any]:
    """The records in order, one at a time; a last line that was cut short is left out.

    Args:
        kind: a struct, or a union of tagged ones.

    Raises:
        FormatError: a line before the last is no record.
        UnreachableError: it can't be read.
    """
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
    broken: FormatError | None = None
    for number, line in enumerate(_lines(path), 1):
        if broken is not None:
            raise broken
        if number == 1:
            continue
        try:
            yield decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            broken = FormatError(f"no record: {error}", where=path.name, line=number, hint=_AFRESH)
    # Only the last line was broken: that is how a crash leaves it.


def _encoded(record: Any) -> bytes:
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:  # half a surrogate pair in what a server said
        return msgspec.json.encode(map_text(msgspec.to_builtins(record), encodable))


def _lines(path: Path) -> Iterator[bytes]:
    """Whole lines; an end without a line feed is none."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES):
                number += 1
                if line.endswith(b"\n"):
                    yield line
                elif len(line) >= MAX_LINE_BYTES:
                    raise FormatError(
                        "longer than any record", where=path.name, line=number, hint=_AFRESH
                    )
    except OSError as error:
        raise UnreachableError(
            f"can't read {path.name}: {error.strerror or error}", hint="check its permissions"
        ) from error


def _whole_bytes(path: Path) -> int:
    """Where the last line ends that is JSON."""
    end = size = 0
    for line in _lines(path):
        size += len(line)
        try:
            msgspec.json.decode(line, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            continue
        end = size
    return end


def _locked(path: Path, flags: int) -> BinaryIO:
    """The file, unbuffered, for this process alone."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | flags, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise UsageError(
            f"another run is writing {path.name}", hint="wait for it, or begin a new one"
        ) from error
    return os.fdopen(handle, "r+b", buffering=0)


def _unwritable(path: Path, error: OSError) -> UnreachableError:
    folder = redact_text(str(path.parent))
    return UnreachableError(
        f"can't write records in {folder}: {error.strerror or error}", hint=_FULL_HINT
    )
