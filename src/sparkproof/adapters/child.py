"""Other programs, bounded in time and in what they may write, and ended with all that they started.

Each runs without a shell and leads a group of its own, so that what it leaves behind can be ended
with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

_SAID_BYTES = 64 << 10
_CHUNK_BYTES = 64 << 10
_LOOK_S = 0.05
_DRAIN_S = 5.0
_KEPT_FILE_BYTES = 4 << 20


class Done(NamedTuple):
    """How a program ended.

    Attributes:
        code: its exit code, negative for a signal.
        out: what it wrote; not all of it where `over`.
        last: the end of its error stream.
        over: it wrote more than it might.
        late: it took longer than it might.
    """

    code: int
    out: bytes
    last: bytes
    over: bool = False
    late: bool = False


def run_bounded(
    argv: Sequence[str],
    *,
    limit_bytes: int,
    timeout_s: float,
    stdin: IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run a program to its end, or end it where it writes or takes too much.

    Args:
        limit_bytes: of its output; of its error stream the end is kept.
        stdin: what it reads; nothing unless given.
        environment: its variables; ours unless given.

    Raises:
        OSError: there is no such program, or it can't be run.
    """
    process = subprocess.Popen(  # noqa: S603 - what to run is the user's or ours
        argv,
        stdin=stdin or subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=environment,
    )
    out, told = Taken(process.stdout, limit_bytes), Taken(process.stderr, _SAID_BYTES)
    end = time.monotonic() + timeout_s
    late = False
    try:
        while process.poll() is None and not out.over and not late:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
            late = process.poll() is None and time.monotonic() >= end
    finally:
        end_group(process)
        out.join(_DRAIN_S)
        told.join(_DRAIN_S)
    return Done(process.returncode, out.data, told.last, out.over, late)


class Taken(threading.Thread):
    """Takes what comes through a pipe; keeps its beginning and its end, and lets the rest go."""

    def __init__(self, pipe: IO[bytes] | None, limit_bytes: int) -> None:
        super().__init__(daemon=True)
        self._pipe, self._limit = pipe, limit_bytes
        self.data = self.last = b""
        self.over = False
        self.start()

    def run(self) -> None:
        """Until it is closed at the other end."""
        assert self._pipe is not None
        pieces: list[bytes] = []
        size = 0
        with self._pipe:
            while piece := os.read(self._pipe.fileno(), _CHUNK_BYTES):
                self.last = (self.last + piece)[-_SAID_BYTES:]
                size += len(piece)
                self.over = self.over or size > self._limit
                if not self.over:
                    pieces.append(piece)
        self.data = b"".join(pieces)


def end_group(process: subprocess.Popen[bytes], grace_s: float = 0.0) -> None:
    """End a program that leads a group, and what it started and left behind.

    Args:
        grace_s: it is asked first, and has so long to go by itself.
    """
    if grace_s and process.poll() is None:
        signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
    signal_group(process, signal.SIGKILL)
    process.wait()


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a program's whole group, if there is still somebody in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


class OutputFile:
    """What a program writes that goes on for hours: a file that is cut to its end now and then.

    A pipe would take the program along when its reader goes.
    """

    def __init__(self, prefix: str, limit_bytes: int = 4 * _KEPT_FILE_BYTES) -> None:
        self._limit = limit_bytes
        handle, name = tempfile.mkstemp(prefix=prefix)
        os.close(handle)
        self.path = Path(name)

    def open(self) -> IO[bytes]:
        """For the program; it appends, so that it goes on behind a cut."""
        return self.path.open("ab")

    def last(self, size: int) -> bytes:
        """The end of it."""
        with self.path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read(size)

    def cut(self) -> None:
        """Keep its end alone where it has grown too large; a line written meanwhile may be lost."""
        if self.path.stat().st_size > self._limit:
            kept = self.last(self._limit // 4)
            os.truncate(self.path, 0)
            with self.open() as file:
                file.write(kept)

    def forget(self) -> None:
        """Remove it."""
        self.path.unlink(missing_ok=True)
