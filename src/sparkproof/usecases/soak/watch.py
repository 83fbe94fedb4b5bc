"""Looks at the server while it is asked: counters, health, its process, its log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from sparkproof.adapters.server_process import find_server, look_at, name_of
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.soak_run import WatchRecord
from sparkproof.core.results.soak import LogSeen, ProcessSeen
from sparkproof.core.server_port import Ask, ServerPort
from sparkproof.usecases.live import Session
from sparkproof.usecases.log.cause import cause_in, tail_of

_LONGEST_PAUSE_S = 5.0
_STRETCH = 60.0
_HEALTH_S = 20.0


class Watch:
    """One server's; `look` gives what is to be recorded."""

    def __init__(self, port: ServerPort, *, pid: int = 0, log: str = "") -> None:
        self._port = port
        self._session = Session(port)
        if pid and look_at(pid) is None:
            raise UsageError(f"no process {pid} here", hint="leave --pid out: it is found by port")
        self.pid = pid or find_server(port.name)
        self._name = name_of(self.pid)
        self._log = log
        self._tail = tail_of(log)
        self.gone = False

    async def look(self) -> WatchRecord:
        """One look."""
        counts, health = await asyncio.gather(
            self._session.counts(), self._port.send(Ask("health", "/health", timeout_s=_HEALTH_S))
        )
        family = look_at(self.pid) if self.pid else None
        self.gone = bool(self.pid) and family is None
        if self._tail is not None:
            self._tail.look()
        return WatchRecord(
            at=round(time.time(), 3),
            health=health.status,
            counts=msgspec.structs.replace(counts, cache={}) if counts else None,
            rss_bytes=family.rss_bytes if family else -1,
            processes=family.processes if family else 0,
            log_bytes=self._tail.new_bytes if self._tail else 0,
            log_errors=self._tail.errors if self._tail else 0,
        )

    async def go(self, take: Callable[[WatchRecord], None], pause_s: float) -> None:
        """Look again and again, more seldom as time goes by, until cancelled."""
        began = time.monotonic()
        while True:
            take(await self.look())
            grown = pause_s + (time.monotonic() - began) / _STRETCH
            await asyncio.sleep(min(grown, _LONGEST_PAUSE_S))

    def process(self, rss: tuple[int, int, int]) -> ProcessSeen | None:
        """The process, with its memory (first, last, peak) as recorded."""
        if not self.pid:
            return None
        first, last, peak = rss
        return ProcessSeen(
            pid=self.pid,
            name=self._name,
            first_rss_bytes=first,
            last_rss_bytes=last,
            peak_rss_bytes=peak,
            gone=self.gone,
        )

    def log(self, *, failed: bool) -> LogSeen | None:
        """What the log gained; where something failed, the cause that its new part names."""
        if not self._log:
            return None
        tail = self._tail
        name = tail.name if tail else self._log
        cause, saw = (
            cause_in(self._log, tail.line_at_start() if tail else 0) if failed else (None, "")
        )
        return LogSeen(
            name=name,
            new_bytes=tail.new_bytes if tail else 0,
            followed=tail is not None,
            errors=tail.errors if tail else 0,
            first_error=tail.first_error if tail else "",
            cause=cause,
            saw=saw,
        )
