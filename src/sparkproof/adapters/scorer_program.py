"""A user's own scorer: a program that reads answers and writes scores, one JSON object a line.

In: ``{"id": …, "kind": …, "expected": …, "text": …}``. Out, in the same order:
``{"exact": true, "detail": ""}``. It runs once, without a shell, when all answers are in.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO

import msgspec

from sparkproof.adapters.restart import words_of
from sparkproof.core.ab import Score, Task
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.redaction import redact_text

_LAST = 300
_LINE_BYTES = 16 << 10
_SAID_BYTES = 64 << 10
_LOOK_S = 0.05
_DRAIN_S = 5.0
_CHUNK_BYTES = 64 << 10
_HINT = "the answers are kept: mend the scorer, then go on with --resume latest"


def refuse_scorer(command: str) -> None:
    """Raise where there is no such program, before hours go into the answers that it is to score.

    Raises:
        UsageError: no command.
        UnreachableError: no such program, or none that may be run.
    """
    words = words_of(command)
    if shutil.which(words[0]) is None:
        raise UnreachableError(
            f"can't run scorer `{redact_text(words[0])}`: no such program",
            hint="the command runs without a shell; `sh -c '…'` gives it one",
        )


def score_with(command: str, answers: Sequence[tuple[Task, str]], timeout_s: float) -> list[Score]:
    """The score of each answer.

    Raises:
        UnreachableError: there is no such program, or it takes too long.
        FormatError: it failed, or wrote something else; the message names the task.
    """
    words = words_of(command)
    name = redact_text(words[0])
    rows = [
        msgspec.json.encode({"id": t.id, "kind": t.kind, "expected": t.expected, "text": text})
        for t, text in answers
    ]
    try:
        with tempfile.TemporaryFile() as questions:
            questions.write(b"\n".join(rows) + b"\n")
            questions.seek(0)
            # In a group of its own, so that what it leaves behind can be ended with it.
            process = subprocess.Popen(  # noqa: S603 - the user's own program
                words,
                stdin=questions,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
    except OSError as error:
        raise UnreachableError(
            f"can't run scorer `{name}`: {error.strerror or error}", hint=_HINT
        ) from error
    limit = _SAID_BYTES + _LINE_BYTES * len(rows)
    out, told = _Taken(process.stdout, limit), _Taken(process.stderr, _SAID_BYTES)
    try:
        _await(process, out, name, timeout_s)
    finally:
        _end(process)
        out.join(_DRAIN_S)
        told.join(_DRAIN_S)
    return _scores(name, answers, process.returncode, out.data, told.last)


class _Taken(threading.Thread):
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


def _await(process: subprocess.Popen[bytes], out: _Taken, name: str, timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while process.poll() is None:
        if out.over:
            raise FormatError(f"scorer `{name}` writes more than scores", hint=_HINT)
        if time.monotonic() >= end:
            raise UnreachableError(f"scorer `{name}` took longer than {timeout_s:g} s", hint=_HINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it, and what it started and left behind, which would hold the pipes open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _scores(
    name: str, answers: Sequence[tuple[Task, str]], code: int, out: bytes, told: bytes
) -> list[Score]:
    scores: list[Score] = []
    for (task, _), line in zip(answers, out.splitlines(), strict=False):
        try:
            scores.append(msgspec.json.decode(line, type=Score))
        except (msgspec.DecodeError, RecursionError) as error:
            message = f"scorer `{name}` gave no score for task {task.id}: {error}"
            raise FormatError(message, hint=_HINT) from error
    if code or len(scores) < len(answers):
        task = answers[min(len(scores), len(answers) - 1)][0]
        said = redact_text(told.decode("utf-8", "replace").strip()[-_LAST:])
        silent = f"exit {code}" if code else "no score, though it says that all is well"
        last = said.splitlines()[-1] if said else silent
        raise FormatError(f"scorer `{name}` failed at task {task.id}: {last}", hint=_HINT)
    return scores
