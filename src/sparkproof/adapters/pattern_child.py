"""Searches patterns of the user's in texts of a server's, in a process of its own.

A pattern may backtrack for longer than anybody lives, and which text brings that out is the
server's choice. So each search has so much processor time, whatever else the machine does, and the
process that searches has none of our state to hold up.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import BinaryIO

import msgspec

from sparkproof.adapters.child import Done, run_bounded
from sparkproof.adapters.interpreter import own_environment, own_python
from sparkproof.core.errors import UnreachableError
from sparkproof.core.redaction import redact_text
from sparkproof.core.text import shorten

SEARCH_S = 1.0
"""Processor time of one search."""
_LATER_S = 0.05
_PATIENT = 20
"""Searches that may take all of it; those after them get a little."""
_LINE_BYTES = 8
_SAID = 300
_KEPT = "the answers are kept: --resume latest scores them"


class _Row(msgspec.Struct, array_like=True):
    pattern: str
    text: str


def search_all(rows: Sequence[tuple[str, str]], timeout_s: float) -> list[bool | None]:
    """For each (pattern, text), whether it is found; None where that took too long.

    Raises:
        UnreachableError: the process can't be run, or all of it took longer than `timeout_s`.
    """
    import tempfile  # noqa: PLC0415 - the child needs none of it

    limit = _LINE_BYTES * (len(rows) + 1)
    try:
        with tempfile.TemporaryFile() as asked:
            for row in rows:
                asked.write(msgspec.json.encode(row) + b"\n")
            asked.seek(0)
            done = run_bounded(
                own_python(["-m", __name__]),
                limit_bytes=limit,
                timeout_s=timeout_s,
                stdin=asked,
                environment=own_environment(),
            )
    except OSError as error:
        raise UnreachableError(
            f"no process can be started to search the answers: {error.strerror or error}",
            hint=_KEPT,
        ) from error
    return _told(done, len(rows), timeout_s)


def _told(done: Done, count: int, timeout_s: float) -> list[bool | None]:
    if done.late:
        raise UnreachableError(
            f"searching the answers for patterns took longer than {timeout_s:g} s",
            hint="the answers are kept: write plainer patterns in --tasks",
        )
    told = done.out.split()
    if done.code or len(told) != count:
        lines = redact_text(done.last.decode("utf-8", "replace")).split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        why = shorten(said, _SAID) or f"exit {done.code}, {len(told)} of {count} answers"
        raise UnreachableError(
            f"the process that searches the answers for patterns failed: {why}", hint=_KEPT
        )
    return [{b"1": True, b"0": False}.get(word) for word in told]


class _LateError(Exception):
    """The processor time of a search is used up."""


def _ring(_: int, __: FrameType | None) -> None:
    raise _LateError


def search_lines(lines: BinaryIO, out: BinaryIO) -> None:
    """One answer a line: ``1``, ``0``, or ``-`` for a search that took too long."""
    decoder = msgspec.json.Decoder(_Row)
    signal.signal(signal.SIGPROF, _ring)
    late = 0
    for line in lines:
        row = decoder.decode(line)
        limit_s = SEARCH_S if late < _PATIENT else _LATER_S
        try:
            signal.setitimer(signal.ITIMER_PROF, limit_s)
            found = re.search(row.pattern, row.text) is not None
            signal.setitimer(signal.ITIMER_PROF, 0)
        except (_LateError, RecursionError):
            late += 1
            out.write(b"-\n")
            continue
        out.write(b"1\n" if found else b"0\n")
    out.flush()


if __name__ == "__main__":
    search_lines(sys.stdin.buffer, sys.stdout.buffer)
