"""The log of a server that is being asked: followed meanwhile, read for a cause when it failed."""

from __future__ import annotations

from pathlib import Path

from sparkproof.adapters.log_sources import open_log
from sparkproof.adapters.log_tail import LogTail
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.results.log import Cause
from sparkproof.usecases.log.command import read_last_boot, view_boot


def tail_of(log: str) -> LogTail | None:
    """A file is followed; a container's or unit's log is read once, if anything fails.

    Raises:
        UsageError, UnreachableError: there is no such log, which is told before anything is asked.
    """
    kind, colon, _ = log.partition(":")
    if not log:
        return None
    if colon and kind in ("container", "unit"):
        open_log(log)
        return None
    if log == "-":
        raise UsageError("standard input can't be followed beside a gate", hint="name a file")
    return LogTail(Path(log))


def cause_in(log: str, after_line: int) -> tuple[Cause | None, str]:
    """The cause that the last boot's log names in lines after one, and its first error."""
    try:
        reading, boot = read_last_boot(open_log(log))
    except (FormatError, UnreachableError):
        return None, ""
    diagnosis = view_boot(boot, reading.where).diagnosis
    named = ([diagnosis.cause] if diagnosis.cause else []) + list(diagnosis.kinds)
    new = (c for c in named if any(e.line > after_line for e in c.evidence))
    saw = diagnosis.saw if diagnosis.saw_line > after_line else ""
    return next(new, None), saw[:240]
