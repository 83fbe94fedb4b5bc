"""Asks so many at a time until the plan is done, and keeps every record as it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

import msgspec

from sparkproof.adapters.journal import Journal
from sparkproof.core.observations.soak_run import (
    WRONG_TEXT,
    Ending,
    EndRecord,
    Outcome,
    Record,
    SessionRecord,
    SoakPlan,
    SoakRecord,
    WatchRecord,
)
from sparkproof.core.server_port import ServerPort
from sparkproof.gates.soak_mix import Mix
from sparkproof.gates.soak_read import read_reply
from sparkproof.load.soak_tally import Tally
from sparkproof.usecases.soak.watch import Watch

_GONE = frozenset({Outcome.REFUSED, Outcome.ENGINE_DEAD, Outcome.ILLEGAL_ACCESS})
_ANSWERS = WRONG_TEXT | {Outcome.OK, Outcome.NOT_TAKEN}
_GONE_AFTER = 5
_GRACE_S = 30.0
Say = Callable[[str], None]


class Pace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pauses in seconds.

    Attributes:
        idle_s: watched for other traffic before anything is asked.
        look_s: between two looks at the beginning; they grow further apart.
        settle_s: waited for the last requests to be counted, or for a dying server to say why.
    """

    idle_s: float = 1.5
    look_s: float = 0.5
    settle_s: float = 2.0


class SoakRun:
    """One session of a soak."""

    def __init__(
        self,
        plan: SoakPlan,
        journal: Journal,
        tally: Tally,
        port: ServerPort,
        watch: Watch,
        pace: Pace,
        show: Say = lambda _: None,
    ) -> None:
        self._plan, self._journal, self.tally = plan, journal, tally
        self._port, self._watch, self._pace = port, watch, pace
        self._mix = Mix(plan)
        self._show = show
        self._next = 0
        self._in_flight = self._in_flight_peak = 0
        self._failed_in_a_row = 0
        self._stop = asyncio.Event()
        self._ending = Ending.DONE
        self._open = False

    async def go(self, session: SessionRecord) -> None:
        """Ask all that is left of the plan."""
        left_s = self._plan.duration_s - self.tally.seconds
        self._take(session)
        self._open = True
        self._looked(await self._watch.look())
        self._until = time.monotonic() + left_s if self._plan.duration_s else float("inf")
        watching = asyncio.create_task(self._watch.go(self._looked, self._pace.look_s))
        watching.add_done_callback(lambda _: self._stop.set())  # blind, nothing is shown
        try:
            await self._alone()
            await self._together()
        finally:
            watching.cancel()
            ended = await asyncio.gather(watching, return_exceptions=True)
        _raise_any(ended)
        await self._last_look()
        self.end(self._ending)

    def end(self, ending: Ending) -> None:
        """Close the session's records, once."""
        if self._open:
            self._open = False
            self._take(EndRecord(at=round(time.time(), 3), ending=ending))
            self._journal.sync()

    async def _alone(self) -> None:
        while not self._stop.is_set() and (n := self._number(self._plan.alone)) is not None:
            await self._one(n)

    async def _together(self) -> None:
        streams = [asyncio.create_task(self._stream()) for _ in range(self._plan.concurrency)]
        pending = set(streams)
        try:
            while pending and not self._stop.is_set():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                _raise_from(done)
            if pending:  # what is still in flight may be answered yet
                done, _ = await asyncio.wait(pending, timeout=_GRACE_S)
                _raise_from(done)
        finally:
            for stream in streams:
                stream.cancel()
            await asyncio.gather(*streams, return_exceptions=True)

    async def _stream(self) -> None:
        while not self._stop.is_set() and (n := self._number(self._plan.last)) is not None:
            await self._one(n)

    def _number(self, end: int) -> int | None:
        """The next request to be asked; None where none is left, or the time is over."""
        while self._next in self.tally.done:
            self._next += 1
        over = time.monotonic() >= self._until
        if (end and self._next >= end) or (over and self._next >= self._plan.alone):
            return None
        self._next += 1
        return self._next - 1

    async def _one(self, n: int) -> None:
        request = self._mix.request(n, self.tally.not_taken)
        self._in_flight += 1
        self._in_flight_peak = max(self._in_flight_peak, self._in_flight)
        at = time.time()
        try:
            reply = await self._port.send(request.ask)
        finally:
            self._in_flight -= 1
        record = read_reply(
            request, reply, at, self._plan, self.tally.sound_alone, self.tally.held_alone
        )
        self._take(record)
        self._judge_row(record)

    def _judge_row(self, record: SoakRecord) -> None:
        """Stop where nothing comes back any more."""
        if record.outcome in _ANSWERS:
            self._failed_in_a_row = 0
            return
        self._failed_in_a_row += 1
        if record.outcome in _GONE and self._failed_in_a_row >= _GONE_AFTER:
            self._ending = Ending.GONE
            self._stop.set()
        elif self._failed_in_a_row >= 3 * self._plan.concurrency + _GONE_AFTER:
            self._ending = Ending.STUCK
            self._stop.set()

    async def _last_look(self) -> None:
        """Once more when the counters have taken in the last request, or the server is down."""
        end = time.monotonic() + self._pace.settle_s
        while True:
            record = await self._watch.look()
            busy = record.counts is not None and (record.counts.running or 0) > 0
            quiet = record.health == 200 and not busy
            if time.monotonic() >= end or (quiet and self._ending is Ending.DONE):
                break
            await asyncio.sleep(min(0.2, self._pace.settle_s))
        self._looked(record)

    def _looked(self, record: WatchRecord) -> None:
        self._take(msgspec.structs.replace(record, in_flight=self._in_flight_peak))
        self._in_flight_peak = self._in_flight
        self._show(self._status())

    def _take(self, record: Record) -> None:
        self._journal.append(record)
        self.tally.take(record)

    def _status(self) -> str:
        tally, plan = self.tally, self._plan
        whole = f" of {plan.last}" if plan.last else ""
        over = f" of {plan.duration_s:.0f}" if plan.duration_s else ""
        kv = "" if tally.kv_usage is None else f", KV peak {tally.kv_usage:.0%}"
        return (
            f"{tally.requests}{whole} requests, {self._in_flight} in flight, "
            f"{tally.preemptions:.0f} preemptions{kv}, {tally.failed} failed, "
            f"{tally.seconds:.0f}{over} s"
        )


def _raise_any(ended: Iterable[object]) -> None:
    """What ended the watching, unless we did: a look that can't be written down is an error too."""
    for outcome in ended:
        if isinstance(outcome, Exception):
            raise outcome


def _raise_from(tasks: Iterable[asyncio.Task[None]]) -> None:
    """The first error of a stream: records that can't be written end the run."""
    for task in tasks:
        task.result()
