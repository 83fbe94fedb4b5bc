"""Watches the client itself while it measures: late timers, processor time, a jumping clock."""

from __future__ import annotations

import asyncio
import gc
import time

from sparkproof.core.observations.load_run import ClientHealth

_TICK_S = 0.05


class HealthWatch:
    """``async with HealthWatch() as watch`` around a stretch; `watch.health()` afterwards.

    Garbage is collected before and after it, not in between.
    """

    def __init__(self) -> None:
        self._lags: list[float] = []
        self._task: asyncio.Task[None] | None = None
        self._health: ClientHealth | None = None

    async def __aenter__(self) -> HealthWatch:
        gc.collect()
        gc.disable()
        self._wall, self._cpu, self._date = time.perf_counter(), time.process_time(), time.time()
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        wall = max(time.perf_counter() - self._wall, 1e-9)
        cpu, date = time.process_time() - self._cpu, time.time() - self._date
        gc.enable()
        if self._task is not None:
            self._task.cancel()
        lags = sorted(self._lags) or [0.0]
        self._health = ClientHealth(
            wall_s=round(wall, 4),
            cpu_share=round(cpu / wall, 4),
            lag_p50_ms=round(lags[len(lags) // 2], 3),
            lag_p95_ms=round(lags[int(0.95 * (len(lags) - 1))], 3),
            lag_max_ms=round(lags[-1], 3),
            clock_jump_s=round(date - wall, 3),
        )

    async def _tick(self) -> None:
        while True:
            due = time.perf_counter() + _TICK_S
            await asyncio.sleep(_TICK_S)
            self._lags.append(max(0.0, (time.perf_counter() - due) * 1000))

    def health(self) -> ClientHealth:
        """How it went."""
        if self._health is None:
            raise RuntimeError("asked before the stretch was over")
        return self._health
