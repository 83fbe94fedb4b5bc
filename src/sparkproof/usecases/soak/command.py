"""A soak that proves its own pressure: run it, keep it, go on with it, judge it."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from sparkproof.adapters.journal import Journal, find_journal, records_folder
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import digest
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.observations.soak_run import Ending, Record, SessionRecord, SoakPlan
from sparkproof.core.report import Report
from sparkproof.core.results.soak import ClientCost, SoakResult
from sparkproof.core.server_port import ServerPort
from sparkproof.gates.soak_plan import Wishes, check_wishes
from sparkproof.load.soak_tally import Tally
from sparkproof.usecases.expectations import refuse_model
from sparkproof.usecases.keep import keep, read_kept
from sparkproof.usecases.live import Ports, Session, take_snapshot
from sparkproof.usecases.soak.begin import (
    begin_plan,
    others_at,
    refuse_other_server,
    refuse_others,
)
from sparkproof.usecases.soak.report import report_soak
from sparkproof.usecases.soak.run import Pace, SoakRun
from sparkproof.usecases.soak.watch import Watch

Say = Callable[[str], None]


class Surroundings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What else is known of the server, and where records go.

    Attributes:
        log: file, ``container:NAME`` or ``unit:NAME`` that the server logs to.
        pid: of the server; found by its port where it is local.
        yes: drive a server to preemption that others use.
        resume: records, or a receipt, of a soak to go on with.
        records: folder of the records; beside the receipts unless given.
    """

    deployment: Deployment | None = None
    log: str = ""
    pid: int = 0
    yes: bool = False
    resume: str = ""
    records: Path | None = None


def soak(
    address: str,
    wishes: Wishes,
    around: Surroundings = Surroundings(),  # noqa: B008 - frozen
    *,
    model: str = "",
    seed: str = "",
    store: ReceiptStore | None = None,
    find_in: ReceiptStore | None = None,
    port: ServerPort | None = None,
    pace: Pace = Pace(),  # noqa: B008 - frozen
    say: Say = lambda _: None,
    show: Say = lambda _: None,
) -> Report[SoakResult]:
    """Soak a server.

    Args:
        find_in: where a receipt to go on with is looked for.
        port: asked in place of the address.
        say: told once where the records lie.
        show: told how far it is, every few seconds.

    Raises:
        UsageError, UnreachableError, FormatError: it can't be asked at all, or records that can't
            be gone on with.
    """
    check_wishes(wishes)
    began = _Cost()
    soaking = _Soak(wishes, around, model, seed or f"{time.time_ns():x}", pace, say, show)
    with soaking:
        soaking.open(find_in)
        try:
            asyncio.run(soaking.go(Ports(address, port=port)))
        except KeyboardInterrupt:
            if soaking.run is None:
                raise
            soaking.run.end(Ending.INTERRUPTED)
        result = soaking.finished(began)
    stated = {} if around.deployment is None else {"deployment": digest(around.deployment)}
    inputs = {"server": digest(result.snapshot), "load": digest(result.plan), **stated}
    return keep(report_soak(result), store, inputs)


class _Soak:
    """From opening the records to the result."""

    def __init__(
        self,
        wishes: Wishes,
        around: Surroundings,
        model: str,
        seed: str,
        pace: Pace,
        say: Say,
        show: Say,
    ) -> None:
        self._wishes, self._around = wishes, around
        self._model, self._seed, self._pace = model, seed, pace
        self._say, self._show = say, show
        self._journal: Journal | None = None
        self._snapshot: ServerSnapshot | None = None
        self._watch: Watch | None = None
        self._plan: SoakPlan | None = None
        self.run: SoakRun | None = None

    @property
    def folder(self) -> Path:
        """Of the records."""
        return self._around.records or records_folder()

    def open(self, receipts: ReceiptStore | None) -> None:
        """The records of the soak to go on with, if there is one.

        Raises:
            UsageError, FormatError, UnreachableError: there is none that can be gone on with.
        """
        if self._around.resume:
            path = _records_of(self._around.resume, self.folder, receipts)
            self._journal = Journal.resume(path, "soak")
            self._plan = plan_of(self._journal)

    def __enter__(self) -> _Soak:
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()

    async def go(self, ports: Ports) -> None:
        """One session."""
        async with ports as (port, _):
            self._snapshot = snapshot = await take_snapshot(port)
            if self._plan is None:
                served = [m.name for m in snapshot.models]
                stated = self._around.deployment
                names = [n for n in stated.served_names if n in served] if stated else []
                name = refuse_model(names or served, self._model, snapshot.unknowns)
                self._plan = await begin_plan(port, snapshot, name, self._wishes, self._seed)
            else:
                refuse_other_server(self._plan, snapshot)
            others = await others_at(Session(port), self._pace.idle_s)
            refuse_others(others, self._plan, yes=self._around.yes)
            watch = Watch(port, pid=self._around.pid, log=self._around.log)
            tally = Tally(self._plan)
            if self._journal is None:
                self._journal = Journal.create(self.folder, "soak", self._plan)
            tally.take_all(self._journal.records(Record))
            self._say(_words_of(self._plan, len(tally.done)))
            self._say(f"records in {self._journal.path}")
            self._watch = watch
            self.run = SoakRun(
                self._plan, self._journal, tally, port, watch, self._pace, self._show
            )
            await self.run.go(
                SessionRecord(
                    at=round(time.time(), 3),
                    version=snapshot.version,
                    start_s=snapshot.counts.start_s if snapshot.counts else None,
                    done=len(tally.done),
                    others=others,
                )
            )

    def finished(self, began: _Cost) -> SoakResult:
        """The result as far as it came."""
        run, plan, journal, watch = self.run, self._plan, self._journal, self._watch
        assert run is not None
        assert plan is not None
        assert journal is not None
        assert watch is not None
        assert self._snapshot is not None
        tally = run.tally
        sessions = tuple(tally.sessions)
        return SoakResult(
            snapshot=self._snapshot,
            plan=plan,
            records=str(journal.path.absolute()) if self._around.records else journal.path.name,
            requests=tally.requests,
            ok=tally.requests - tally.failed,
            seconds=round(tally.seconds, 3),
            health=tally.health,
            kinds=tally.kinds(),
            failures=tally.failures(),
            pressure=tally.pressure(),
            timeline=tally.timeline.bins(),
            sessions=sessions,
            probes=tally.probes,
            held=tally.held,
            ties=tally.ties,
            held_alone=tuple(tally.held_alone),
            sound_alone=tuple(tally.sound_alone),
            not_taken=tally.not_taken,
            process=watch.process(tally.rss),
            log=watch.log(failed=bool(tally.failed)),
            client=began.until_now(),
            others=tally.others,
            loaded=tally.loaded,
            interrupted=bool(sessions) and sessions[-1].ending is Ending.INTERRUPTED,
        )


class _Cost:
    """What this process has used since the beginning."""

    def __init__(self) -> None:
        self._cpu_s = time.process_time()

    def until_now(self) -> ClientCost:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return ClientCost(cpu_s=round(time.process_time() - self._cpu_s, 3), peak_rss_bytes=peak)


def plan_of(journal: Journal) -> SoakPlan:
    """The plan that records were begun with.

    Raises:
        FormatError: it is no plan of a soak, or another version's.
    """
    try:
        return msgspec.json.decode(journal.head.plan, type=SoakPlan)
    except msgspec.DecodeError as error:
        raise FormatError(
            f"no plan of a soak in it: {error}", where=journal.path.name, line=1
        ) from error


def _records_of(reference: str, folder: Path, receipts: ReceiptStore | None) -> Path:
    """Records by their file, by ``latest``, or by a receipt that names them."""
    try:
        return find_journal(folder, "soak", reference)
    except UsageError:
        if receipts is None or reference == "latest":
            raise
    _, result = read_kept(receipts, reference, "soak", SoakResult)
    return find_journal(folder, "soak", result.records if result else "")


def _words_of(plan: SoakPlan, done: int) -> str:
    much = f"{plan.last} requests" if plan.last else f"{plan.duration_s:.0f} s of requests"
    gone_on = f", {done} of them done" if done else ""
    return (
        f"{much}{gone_on}, {plan.concurrency} at once, {plan.prompt_low} to {plan.longest} tokens; "
        "`--resume latest` goes on after a break"
    )
