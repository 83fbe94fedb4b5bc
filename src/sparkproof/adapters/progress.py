"""How far long work is, on a terminal; nothing anywhere else."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress as RichBar
    from rich.progress import TaskID


class NoProgress:
    """Says nothing."""

    def start(self, label: str, total: int | None = None) -> None:
        """As `Progress.start`."""

    def advance(self, amount: int) -> None:
        """As `Progress.advance`."""

    def finish(self) -> None:
        """As `Progress.finish`."""


class TerminalProgress:
    """A bar on standard error, gone when the phase is over."""

    def __init__(self) -> None:
        self._bar: RichBar | None = None
        self._task: TaskID | None = None

    def start(self, label: str, total: int | None = None) -> None:
        """As `Progress.start`; `total` in bytes."""
        from rich.console import Console  # noqa: PLC0415 - only a terminal pays for it
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self.finish()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(label, total=total)

    def advance(self, amount: int) -> None:
        """As `Progress.advance`."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, amount)

    def finish(self) -> None:
        """As `Progress.finish`."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None


class StatusLine:
    """One line on standard error that is written over; nothing where that is no terminal."""

    def __init__(self) -> None:
        self._live: Live | None = None

    def start(self) -> None:
        """Begin, on a terminal."""
        with contextlib.suppress(ValueError, AttributeError):
            if not sys.stderr.isatty():
                return
            from rich.console import Console  # noqa: PLC0415 - only a terminal pays for it
            from rich.live import Live  # noqa: PLC0415

            self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()

    def show(self, text: str) -> None:
        """Write the line anew."""
        if self._live is not None:
            from rich.text import Text  # noqa: PLC0415

            line = Text(text, no_wrap=True, overflow="ellipsis")
            self._live.update(line, refresh=True)

    def finish(self) -> None:
        """Take the line away."""
        if self._live is not None:
            self._live.stop()
        self._live = None


def make_progress(*, quiet: bool = False) -> NoProgress | TerminalProgress:
    """A bar if standard error is a terminal and nobody asked for silence."""
    with contextlib.suppress(ValueError, AttributeError):
        if not quiet and sys.stderr.isatty():
            return TerminalProgress()
    return NoProgress()
