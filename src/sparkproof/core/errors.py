"""The few errors that reach a user, each with the exit code it ends in and a hint.

A message is one line in lower case without a full stop; it names the file or
endpoint. The hint says the way out.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller (DESIGN section 6)."""

    PASS = 0
    FAIL = 1
    USAGE = 2
    INCONCLUSIVE = 3
    COULD_NOT_LOOK = 4
    BUG = 70
    INTERRUPTED = 130


class SparkproofError(Exception):
    """Base of every error meant for the user's eyes."""

    code = "error"
    exit_code = ExitCode.COULD_NOT_LOOK

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SparkproofError):
    """The command, deployment or reference is wrong as written."""

    code = "usage"
    exit_code = ExitCode.USAGE


class RefusedFlagError(UsageError):
    """A flag with which vLLM itself ends before it serves anything."""


class UnknownLayoutError(UsageError):
    """A model whose state is not modelled here: nothing is wrong with what was typed."""

    code = "layout"
    exit_code = ExitCode.COULD_NOT_LOOK


class UnreachableError(SparkproofError):
    """The artifact, index, server or file can't be reached or stored."""

    code = "unreachable"


class FormatError(SparkproofError):
    """Bytes or text that are not what they claim to be; `where` locates the fault.

    Args:
        message: what is wrong, without the place.
        where: file, member or symbol the bytes came from ("" while unknown; the
            caller that knows adds it with `within`).
        offset: byte offset, or -1 for text formats.
        line: 1-based line, or 0 for binary formats.
        hint: "" for the usual one, which the command line adds: look at the thing itself.
    """

    code = "format"

    def __init__(
        self, message: str, *, where: str = "", offset: int = -1, line: int = 0, hint: str = ""
    ) -> None:
        place = where
        if offset >= 0:
            place += f"@{offset:#x}"
        if line:
            place += f":{line}"
        super().__init__(f"{place}: {message}" if place else message, hint=hint)
        self.reason = message
        self.where = where
        self.offset = offset
        self.line = line

    def within(self, where: str) -> FormatError:
        """The same fault, told from the containing file's point of view."""
        inner = f"{where}!{self.where}" if self.where else where
        return FormatError(
            self.reason, where=inner, offset=self.offset, line=self.line, hint=self.hint
        )
