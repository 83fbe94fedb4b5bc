"""How long a line that brings nothing is waited for, the same for whatever is fetched."""

from __future__ import annotations

import time
from collections.abc import Callable

from sparkproof.core.errors import UnreachableError

STALL_S = 30.0
"""Silence, or a drip, on the line after which it counts as dropped."""
PROGRESS_BYTES = 64 * 1024
"""An attempt, or a stall's time, that brings less is fruitless: a server may drip for ever."""
_FRUITLESS = 4
_ATTEMPTS = 64
_PAUSE_S = 0.5
_AGAIN = "run it again; if it stays so, fetch it by other means and name the file"


class FetchError(UnreachableError):
    """A fetch that failed; `barred` says that pip, with its own settings, may do better.

    `refused` says that the server asked for another user, `status` is that of its answer (0 for
    none), and `reason` its own word for it.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = _AGAIN,
        barred: bool = False,
        refused: bool = False,
        status: int = 0,
    ) -> None:
        super().__init__(message, hint=hint)
        self.barred = barred
        self.refused = refused
        self.status = status
        self.reason = ""


class DroppedError(FetchError):
    """The line broke or stalled; asking again may help."""


class Patience:
    """Decides whether a fetch that broke is taken up again.

    It is where the last attempt brought something; else a few times, as long as all of them
    together took less than one stall.
    """

    def __init__(
        self,
        stall_s: float = STALL_S,
        *,
        pause: Callable[[float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to wait now."""
        self._stall_s = stall_s
        self._pause = pause
        self._clock = clock
        self._since = clock()
        self._fruitless = self._attempts = 0

    def rest(self, error: DroppedError, gained_bytes: int = 0) -> None:
        """Pause before the next attempt.

        Args:
            gained_bytes: what the attempt that ended in `error` brought and need not be
                fetched again.

        Raises:
            DroppedError: there should be none; it is `error`.
        """
        self._attempts += 1
        if gained_bytes >= PROGRESS_BYTES:
            self._fruitless, self._since = 0, self._clock()
        else:
            self._fruitless += 1
            waited = self._clock() - self._since
            if self._fruitless >= _FRUITLESS or waited >= self._stall_s:
                raise error
        if self._attempts >= _ATTEMPTS:
            raise error
        (self._pause or time.sleep)(_PAUSE_S * 2**self._fruitless)


class Pace:
    """Watches one answer: each stall's time has to bring something that counts."""

    def __init__(self, stall_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to watch now."""
        self._stall_s = stall_s
        self._clock = clock
        self._since = clock()
        self._size_bytes = 0

    def dripping(self, size_bytes: int) -> bool:
        """Note that so many bytes came; true where they come too slowly to go on."""
        self._size_bytes += size_bytes
        now = self._clock()
        if self._size_bytes >= PROGRESS_BYTES:
            self._since, self._size_bytes = now, 0
        return now - self._since > self._stall_s
