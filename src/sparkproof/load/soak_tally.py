"""Totals of a soak from its records, one by one, in memory that does not grow with them.

A run that is resumed puts its old records through here first, so that totals never depend on how
often it was interrupted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.server_snapshot import EngineCounts, between
from sparkproof.core.observations.soak_run import (
    Ending,
    Kind,
    Outcome,
    Record,
    SessionRecord,
    SoakPlan,
    SoakRecord,
    WatchRecord,
)
from sparkproof.core.results.soak import FailureSeen, KindCount, Pressure, SessionSeen
from sparkproof.load.done import Done
from sparkproof.load.sketch import Sketch
from sparkproof.load.soak_timeline import Timeline

_COUNTED = (
    "preemptions",
    "prefix_queries",
    "prefix_hits",
    "drafts",
    "drafted",
    "accepted",
    "finished",
    "generated_tokens",
)
_FINE = frozenset({Outcome.OK, Outcome.NOT_TAKEN})
_NEVER_THERE = frozenset({Outcome.REFUSED, Outcome.HTTP_ERROR, Outcome.NOT_TAKEN})
_FEW = 3
"""Requests of others that may be ours, counted late."""


class _OfKind:
    def __init__(self) -> None:
        self.requests = self.failed = 0
        self.seconds, self.ttft = Sketch(), Sketch()


class Tally:
    """Takes records in their order."""

    def __init__(self, plan: SoakPlan) -> None:
        self._plan = plan
        self.done = Done()
        self.outcomes: Counter[Outcome] = Counter()
        self.probes = self.held = self.ties = 0
        self.sound_alone: list[str] = []
        self.held_alone: dict[str, SoakRecord] = {}
        self.not_taken: dict[str, str] = {}
        self.timeline = Timeline()
        self.sessions: list[SessionSeen] = []
        self.health = 0
        self.others = 0.0
        self._crowded = False
        self.rss: tuple[int, int, int] = (-1, -1, -1)
        self._first: dict[Outcome, FailureSeen] = {}
        self._kinds: dict[Kind, _OfKind] = {}
        self._peaks: dict[str, float] = {}
        self._sums: dict[str, float] = {}
        self._scrapes = self._longest = self._in_flight = 0
        self._in_session = _Session(0.0)
        self._open = False

    def take(self, record: Record) -> None:
        """One record."""
        if isinstance(record, SoakRecord):
            self._request(record)
        elif isinstance(record, WatchRecord):
            self._watch(record)
        elif isinstance(record, SessionRecord):
            self._end(Ending.KILLED)
            self._begin(record)
        else:
            self._moment(record.at)
            self._end(record.ending)

    def take_all(self, records: Iterable[Record]) -> None:
        """Many, as they were written down; a request that stands there twice counts once.

        Raises:
            FormatError: one is of a request that was never planned.
        """
        for record in records:
            if isinstance(record, SoakRecord):
                if record.n < 0 or (self._plan.last and record.n >= self._plan.last):
                    message = f"request {record.n} was never planned"
                    raise FormatError(message, where="the records", hint="begin a new soak")
                if record.n in self.done:
                    continue
            self.take(record)

    @property
    def seconds(self) -> float:
        """Of asking, breaks left out."""
        return sum(session.seconds for session in self.sessions) + self._in_session.seconds

    @property
    def requests(self) -> int:
        """Finished, whatever came of them."""
        return self.outcomes.total()

    @property
    def failed(self) -> int:
        """Of those, the ones that should not have ended so."""
        return self.requests - sum(self.outcomes[fine] for fine in _FINE)

    @property
    def loaded(self) -> bool:
        """Others were served beside us."""
        return self._crowded or self.others >= _FEW

    @property
    def preemptions(self) -> float:
        """Seen so far."""
        return self._sums.get("preemptions", 0.0)

    @property
    def kv_usage(self) -> float | None:
        """The peak so far."""
        return self._peaks.get("kv_usage")

    def _begin(self, record: SessionRecord) -> None:
        earlier = [s.start_s for s in self.sessions if s.start_s is not None]
        known = record.start_s is not None and bool(earlier)
        self._in_session = _Session(record.at, record)
        self._in_session.anew = known and earlier[-1] != record.start_s
        self._crowded = self._crowded or bool(record.others)
        self._open = True

    def _end(self, ending: Ending) -> None:
        if not self._open:
            return
        session = self._in_session
        begun = session.record
        assert begun is not None
        if session.finished is not None and not session.restarted:
            self.others += max(0.0, session.finished - session.arrived)
        self.sessions.append(
            SessionSeen(
                done=begun.done,
                seconds=round(session.seconds, 3),
                ending=ending,
                start_s=session.last.start_s if session.last else begun.start_s,
                anew=session.anew,
                restarted=session.restarted,
                others=begun.others,
            )
        )
        self._in_session, self._open = _Session(0.0), False

    def _moment(self, at: float) -> float:
        """Seconds of asking at a moment of this session."""
        session = self._in_session
        into = max(0.0, at - session.began) if self._open else 0.0
        session.seconds = max(session.seconds, into)
        return sum(s.seconds for s in self.sessions) + into

    def _request(self, record: SoakRecord) -> None:
        at = self._moment(record.at)
        ended = self._moment(record.at + record.seconds)
        failed = record.outcome not in _FINE
        self.done.add(record.n)
        self.outcomes[record.outcome] += 1
        self._in_session.arrived += record.outcome not in _NEVER_THERE
        self._compare(record)
        self._longest = max(self._longest, record.prompt_tokens + max(0, record.completion_tokens))
        kind = self._kinds.setdefault(record.kind, _OfKind())
        kind.requests += 1
        kind.failed += failed
        if failed:
            self._failure(record, ended)
        else:
            kind.seconds.add(record.seconds)
            if record.ttft_s >= 0:
                kind.ttft.add(record.ttft_s)
        self.timeline.request(at, record.seconds, failed=failed)

    def _compare(self, record: SoakRecord) -> None:
        """With what the server does when nothing else runs."""
        if record.n >= self._plan.alone:
            if record.held is not None and record.name in self.held_alone:
                self.probes += 1
                self.held += record.held
                self.ties += record.tie
            return
        if record.outcome is Outcome.NOT_TAKEN:
            self.not_taken[record.name] = record.detail
        elif record.outcome is Outcome.OK and record.sound:
            self.sound_alone.append(record.name)
        if record.held:
            self.held_alone[record.name] = record

    def _failure(self, record: SoakRecord, at: float) -> None:
        """Records come in the order in which requests ended: the first of a kind began it."""
        if record.outcome not in self._first:
            self._first[record.outcome] = FailureSeen(
                outcome=record.outcome,
                count=0,
                n=record.n,
                kind=record.kind,
                into_s=round(at, 3),
                detail=record.detail,
            )

    def _watch(self, record: WatchRecord) -> None:
        at = self._moment(record.at)
        self.health = record.health
        self._in_flight = max(self._in_flight, record.in_flight)
        if record.rss_bytes >= 0:
            first, _, peak = self.rss
            now = record.rss_bytes
            self.rss = (first if first >= 0 else now, now, max(peak, now))
        preempted = self._count(record.counts) if record.counts else 0.0
        self.timeline.watch(at, record, preempted)

    def _count(self, counts: EngineCounts) -> float:
        """Add what was counted since the last look; the preemptions of it."""
        self._scrapes += 1
        for name in ("kv_usage", "running", "waiting"):
            value = getattr(counts, name)
            if value is not None:
                self._peaks[name] = max(value, self._peaks.get(name, 0.0))
        in_flight = (counts.running or 0.0) + (counts.waiting or 0.0)
        if in_flight > self._plan.concurrency and not self.failed:
            self._crowded = True  # what timed out here may still run there
        session = self._in_session
        last, session.last = session.last, counts
        if last is None:
            for name in _COUNTED:
                if getattr(counts, name) is not None:
                    self._sums.setdefault(name, 0.0)
            return 0.0
        window = between(last, counts)
        if window.restarted:
            session.restarted = True
            return 0.0
        for name in _COUNTED:
            change = getattr(window, name)
            if change is not None:
                self._sums[name] = self._sums.get(name, 0.0) + change
        if window.finished is not None:
            session.finished = (session.finished or 0.0) + window.finished
        return window.preemptions or 0.0

    def pressure(self) -> Pressure:
        """All that was seen of the server's load."""
        values: dict[str, Any] = {name: self._sums.get(name) for name in _COUNTED}
        return Pressure(
            scrapes=self._scrapes,
            kv_peak=self._peaks.get("kv_usage"),
            running_peak=self._peaks.get("running"),
            waiting_peak=self._peaks.get("waiting"),
            longest_tokens=self._longest,
            in_flight_peak=self._in_flight,
            **values,
        )

    def failures(self) -> tuple[FailureSeen, ...]:
        """Each way of failing, the earliest first."""
        rows = [
            msgspec.structs.replace(first, count=self.outcomes[outcome])
            for outcome, first in self._first.items()
        ]
        return tuple(rows)

    def kinds(self) -> tuple[KindCount, ...]:
        """Each kind that was asked."""
        return tuple(
            KindCount(
                kind=kind,
                requests=one.requests,
                failed=one.failed,
                p50_s=one.seconds.quantile(0.5),
                p99_s=one.seconds.quantile(0.99),
                longest_s=one.seconds.longest,
                ttft_p50_s=one.ttft.quantile(0.5),
                ttft_p99_s=one.ttft.quantile(0.99),
            )
            for kind, one in sorted(self._kinds.items())
        )


class _Session:
    """The stretch that is going on."""

    def __init__(self, began: float, record: SessionRecord | None = None) -> None:
        self.began = began
        self.record = record
        self.seconds = 0.0
        self.last: EngineCounts | None = None
        self.finished: float | None = None
        self.arrived = 0
        self.anew = self.restarted = False
