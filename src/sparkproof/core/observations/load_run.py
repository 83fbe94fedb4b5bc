"""A load run: what was planned, and every request's own record."""

from __future__ import annotations

import msgspec

from sparkproof.core.observations.exchange import StreamReading
from sparkproof.core.observations.server_snapshot import Window
from sparkproof.core.server_port import Failure


class Cell(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One point of the grid.

    Attributes:
        mode: ``answer``, ``thinking`` (both chats) or ``raw``.
        depth: prompt tokens.
        output: tokens to be generated, forced.
        concurrency: requests in flight, closed loop; 0 in an open one.
        rate_per_s: arrivals a second, open loop; 0 in a closed one.
        requests: per repeat.
    """

    mode: str
    depth: int
    output: int
    concurrency: int = 0
    rate_per_s: float = 0.0
    requests: int = 1

    @property
    def load(self) -> str:
        """``8 at once``, or ``2.5 a second``."""
        return f"{self.rate_per_s:g} a second" if self.rate_per_s else f"{self.concurrency} at once"


class LoadPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cells, and how often each is run; whole rounds, so that time spreads over all of them."""

    cells: tuple[Cell, ...]
    repeats: int


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request. `sent_s` is since the cell's run began; `reading` holds no text."""

    sent_s: float
    status: int
    failure: Failure = Failure.NONE
    detail: str = ""
    reading: StreamReading = StreamReading()

    @property
    def ok(self) -> bool:
        """Whole, and ended as it should."""
        fine = self.status == 200 and not self.failure and self.reading.done
        return fine and not self.reading.error


class ClientHealth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the client itself fared.

    Attributes:
        lag_p50_ms, lag_p95_ms, lag_max_ms: by how much timers of the event loop were late.
        cpu_share: processor time by wall time; the client has one thread, so 1 is its end.
        clock_jump_s: by how much the wall clock moved against the monotonic one.
    """

    wall_s: float
    cpu_share: float
    lag_p50_ms: float
    lag_p95_ms: float
    lag_max_ms: float
    clock_jump_s: float = 0.0


class CellRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One repeat of one cell.

    Attributes:
        cell: index into the plan's cells.
        repeat: from 0.
        window: what the server counted; None where it does not tell.
    """

    cell: int
    repeat: int
    started_at: str
    requests: tuple[RequestRecord, ...]
    health: ClientHealth
    window: Window | None = None
