"""Run a command that brings a server up: the user's own, without a shell, never for long unheard.

A command may return when the server is on its way (``systemctl restart``, ``docker compose up
-d``) or be the server itself and stay; one that stays is ended with its whole group by `stop`.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import signal
import subprocess

from sparkproof.adapters.child import OutputFile, end_group, signal_group
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.redaction import redact_text

_END_S = 60.0
_CUT_S = 2.0
_KEPT_BYTES = 2000


def words_of(command: str) -> tuple[str, ...]:
    """The command's words.

    Raises:
        UsageError: none, or an open quote.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(
            f"`{redact_text(command)}` is no command: {error}", hint="quote it as for a shell"
        ) from error
    if not words:
        raise UsageError("an empty command restarts nothing", hint="e.g. 'vllm serve MODEL'")
    return words


class Restart:
    """One command; `start` it, ask `refuse_failed` meanwhile, `stop` it in the end.

    Attributes:
        stayed: it was still there when the server answered, and so is the server.
    """

    def __init__(self, command: str) -> None:
        self._words = words_of(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._said: OutputFile | None = None
        self.stayed = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return redact_text(self._words[0])

    def start(self) -> None:
        """Start it.

        Raises:
            UnreachableError: there is no such program, or it can't be run.
        """
        self._said = OutputFile("sparkproof-restart-")
        try:
            with self._said.open() as out:
                self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                    self._words,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            self._forget()
            raise UnreachableError(
                f"can't run `{self.name}`: {error.strerror or error}",
                hint="the command runs without a shell; `sh -c '…'` gives it one",
            ) from error

    @property
    def returned(self) -> bool:
        """It is done; whether well, `refuse_failed` tells."""
        return self._process is not None and self._process.poll() is not None

    def refuse_failed(self) -> None:
        """Raise where it ended badly.

        Raises:
            UnreachableError: with the last of what it said.
        """
        if self._process is None or not self._process.poll():
            return
        said = self._said.last(_KEPT_BYTES) if self._said else b""
        lines = said.decode("utf-8", "replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        raise UnreachableError(
            f"`{self.name}` ended with {self._process.returncode}: {redact_text(last[:300])}",
            hint="run it by hand; the server is not up",
        )

    @property
    def code(self) -> int | None:
        """Its exit code; None while it is there."""
        return self._process.poll() if self._process else None

    @property
    def output(self) -> str:
        """Path of the file that holds what it said; "" once it is stopped."""
        return str(self._said.path) if self._said else ""

    async def keep_small(self) -> None:
        """Keep the file of what it says within bounds, until cancelled."""
        while self._said is not None:
            with contextlib.suppress(OSError):  # somebody tidied up the folder of such files
                self._said.cut()
            await asyncio.sleep(_CUT_S)

    async def stop(self) -> None:
        """End it and what it started, where it is still there; at once where the wait for that is
        cancelled (somebody pressed Ctrl-C again)."""
        process = self._process
        if process is None or process.poll() is not None:
            self._forget()
            return
        try:
            signal_group(process, signal.SIGTERM)
            end = asyncio.get_running_loop().time() + _END_S
            while process.poll() is None and asyncio.get_running_loop().time() < end:
                await asyncio.sleep(0.1)
        finally:
            end_group(process)
            self._forget()

    def _forget(self) -> None:
        self._process = None
        if self._said is not None:
            self._said.forget()
            self._said = None
