"""A soak in at most so many stretches of time; they grow longer when it does."""

from __future__ import annotations

from typing import Any

import msgspec

from sparkproof.core.observations.soak_run import WatchRecord
from sparkproof.core.results.soak import TimeBin

_MOST = 120
_FIRST_S = 5.0
_HIGHEST = ("kv_usage", "running", "waiting", "rss_bytes")
_SUMMED = ("requests", "failed", "busy_s", "preemptions")


class Timeline:
    """Bins over the seconds of asking."""

    def __init__(self) -> None:
        self._width = _FIRST_S
        self._bins: dict[int, TimeBin] = {}

    def request(self, at: float, seconds: float, *, failed: bool) -> None:
        """A request that was sent then."""
        self._add(at, TimeBin(start_s=0.0, requests=1, failed=int(failed), busy_s=seconds))

    def watch(self, at: float, record: WatchRecord, preempted: float) -> None:
        """A look at the server; preemptions since the look before."""
        seen: dict[str, Any] = {"rss_bytes": record.rss_bytes}
        counts = record.counts
        for name in ("kv_usage", "running", "waiting"):
            value = getattr(counts, name) if counts else None
            seen[name] = -1.0 if value is None else value
        self._add(at, TimeBin(start_s=0.0, preemptions=preempted, **seen))

    def bins(self) -> tuple[TimeBin, ...]:
        """Those in which something happened, in order."""
        return tuple(
            msgspec.structs.replace(self._bins[n], start_s=n * self._width, busy_s=round(b, 3))
            for n, b in sorted((n, found.busy_s) for n, found in self._bins.items())
        )

    def _add(self, at: float, new: TimeBin) -> None:
        while at >= self._width * _MOST:
            self._width *= 2
            old, self._bins = self._bins, {}
            for n, found in old.items():
                self._put(n // 2, found)
        self._put(int(at // self._width), new)

    def _put(self, n: int, new: TimeBin) -> None:
        old = self._bins.get(n)
        self._bins[n] = new if old is None else _both(old, new)


def _both(one: TimeBin, other: TimeBin) -> TimeBin:
    values: dict[str, Any] = {name: getattr(one, name) + getattr(other, name) for name in _SUMMED}
    values |= {name: max(getattr(one, name), getattr(other, name)) for name in _HIGHEST}
    return TimeBin(start_s=one.start_s, **values)
