"""Files, pipes, container engines and journald as sources of a server's output."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from sparkproof.adapters.child import end_group, run_bounded
from sparkproof.adapters.files import is_file, read_file
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.ports import CHUNK_BYTES, LogSource

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@:-]{0,254}\Z")
_ENGINES = ("docker", "podman")
_POLL_S = 0.5
_TIMEOUT_S = 30.0
_END_S = 2.0
_ANSWER_BYTES = 16 << 20
_SAVED = "check the name and your rights, or give a saved log file instead"
_BOTH = "save `docker logs NAME` and `docker inspect NAME` there, and give the files"
_INSPECTED = "where it runs, `docker inspect NAME > NAME.json`, and give that file"


class FileLog:
    """A file, read front to back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name

    def chunks(self, *, follow: bool = False) -> Iterator[bytes]:
        """The file's bytes; with `follow`, polled for more."""
        try:
            with self._path.open("rb") as stream:
                yield from _read(stream, follow=follow)
        except OSError as error:
            raise UnreachableError(
                f"{self.name}: {error.strerror or error}", hint="is it there, and yours to read?"
            ) from error


class PipeLog:
    """Standard input."""

    name = "-"

    def chunks(self, *, follow: bool = False) -> Iterator[bytes]:
        """Whatever comes, until it ends; a pipe is always followed."""
        stream = cast("BufferedReader", sys.stdin.buffer)
        while data := stream.read1(CHUNK_BYTES):
            yield data


class CommandLog:
    """A program's output, both streams; ended when the reader stops."""

    def __init__(self, name: str, argv: list[str], follow_flag: str) -> None:
        self.name = name
        self._argv = argv
        self._follow_flag = follow_flag

    def chunks(self, *, follow: bool = False) -> Iterator[bytes]:
        """Run it and hand on what it prints."""
        argv = [*self._argv[:2], *([self._follow_flag] if follow else []), *self._argv[2:]]
        last = b""
        with subprocess.Popen(  # noqa: S603
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            try:
                stream = cast("BufferedReader", process.stdout)
                while data := stream.read1(CHUNK_BYTES):
                    last = data
                    yield data
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_END_S)  # it says how it ended shortly after its last words
            finally:
                end_group(process, _END_S)
        if process.returncode > 0:
            said = last.decode("utf-8", "replace").strip().splitlines() or [f"{argv[0]} failed"]
            raise UnreachableError(f"{self.name}: {said[-1][:200]}", hint=_SAVED)


def _read(stream: BinaryIO, *, follow: bool) -> Iterator[bytes]:
    while True:
        data = stream.read(CHUNK_BYTES)
        if data:
            yield data
        elif follow:
            time.sleep(_POLL_S)
        else:
            return


def open_log(text: str) -> LogSource:
    """``FILE``, ``-``, ``container:NAME`` or ``unit:NAME``.

    Raises:
        UsageError: a name that no engine would take.
        UnreachableError: no such file, or no engine on this machine.
    """
    if text == "-":
        return PipeLog()
    kind, colon, name = text.partition(":")
    if colon and kind in ("container", "unit"):
        if not _NAME.match(name):
            raise UsageError(f"`{name}` is no {kind} name", hint=f"write {kind}:NAME")
        if kind == "container":
            return CommandLog(text, [container_engine(), "logs", "--timestamps", name], "--follow")
        journal = _program("journalctl", "give a saved log file instead")
        return CommandLog(text, [journal, "--no-pager", "-o", "short-iso", "-u", name], "--follow")
    path = Path(text)
    if not is_file(path):
        raise UnreachableError(
            f"{path.name[:200]}: no such file", hint="or container:NAME, unit:NAME, -"
        )
    return FileLog(path)


def container_engine(hint: str = _BOTH) -> str:
    """Path of docker or podman.

    Args:
        hint: what to do where neither is here.

    Raises:
        UnreachableError: neither is here.
    """
    for name in _ENGINES:
        found = shutil.which(name)
        if found:
            return found
    raise UnreachableError(
        "neither docker nor podman is on this machine",
        hint=hint,
    )


def inspect_container(name: str) -> bytes:
    """The engine's JSON about a container.

    Raises:
        UsageError, UnreachableError: as `open_log`, or there is no such container.
    """
    if not _NAME.match(name):
        raise UsageError(f"`{name}` is no container name", hint="write container:NAME")
    argv = [container_engine(_INSPECTED), "inspect", "--type", "container", name]
    try:
        done = run_bounded(argv, limit_bytes=_ANSWER_BYTES, timeout_s=_TIMEOUT_S)
    except OSError as error:
        raise UnreachableError(
            f"container:{name}: {error.strerror or error}", hint=_INSPECTED
        ) from error
    if done.late or done.over:
        why = "answers without end" if done.over else "does not answer"
        raise UnreachableError(f"container:{name}: the engine {why}", hint=_INSPECTED)
    if done.code:
        message = done.last.decode("utf-8", "replace").strip().splitlines()
        said = message[-1][:200] if message else "not found"
        raise UnreachableError(f"container:{name}: {said}", hint=_INSPECTED)
    return done.out


def read_small(path: Path, limit_bytes: int) -> bytes:
    """A whole small file.

    Raises:
        UnreachableError: it can't be read, or is larger than `limit_bytes`.
    """
    try:
        return read_file(path, limit_bytes)
    except FormatError as error:
        raise UnreachableError(str(error), hint="name the right file") from error


def _program(name: str, hint: str) -> str:
    found = shutil.which(name)
    if not found:
        raise UnreachableError(f"{name} is not on this machine", hint=hint)
    return found
