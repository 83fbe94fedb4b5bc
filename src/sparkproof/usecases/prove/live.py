"""Prove a deployment on the server that runs it: every gate in turn, one verdict over all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.server import server_address
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import digest
from sparkproof.core.errors import SparkproofError
from sparkproof.core.finding import Finding
from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.observations.soak_run import Ending
from sparkproof.core.ports import Progress
from sparkproof.core.report import Report
from sparkproof.core.results.live_proof import LiveProof, Match, Part, PartName
from sparkproof.core.results.proof import ProofResult
from sparkproof.core.server_port import Ask, ServerPort
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict, fold
from sparkproof.gates.pages import make_finding
from sparkproof.usecases.ab.arms import ArmRef
from sparkproof.usecases.ab.command import ab
from sparkproof.usecases.bench.command import Arm, bench
from sparkproof.usecases.expectations import expected_of, refuse_model
from sparkproof.usecases.keep import keep
from sparkproof.usecases.live import Ports, take_snapshot
from sparkproof.usecases.prove.command import prove
from sparkproof.usecases.prove.live_match import (
    judge_match,
    match_log,
    match_server,
    read_plans,
)
from sparkproof.usecases.prove.live_parts import (
    LiveRequest,
    Say,
    Wiring,
    refuse_addresses,
    static_parts,
)
from sparkproof.usecases.prove.live_plan import plan_bench, wish_ab, wish_soak
from sparkproof.usecases.prove.live_summary import report_live
from sparkproof.usecases.smoke import smoke
from sparkproof.usecases.soak.command import Surroundings, soak

_HARD = frozenset({"smoke/garbage"})
"""Rules after which nothing that follows would say anything."""
_HEALTH_S = 20.0


def prove_live(
    deployment: Deployment,
    request: LiveRequest,
    *,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
    store: ReceiptStore | None = None,
    port: ServerPort | None = None,
    control_port: ServerPort | None = None,
    say: Say = lambda _: None,
    show: Say = lambda _: None,
) -> Report[ProofResult]:
    """Prove it, then hold the running server against the proof and every gate.

    A server that is not there, or goes away, costs the parts that need it and no more.

    Args:
        store: where the receipts go: one for each part, and one over all of them.
        port, control_port: asked in place of the addresses.
        say: told how far it is.
        show: told how far a long part is, every few seconds.

    Raises:
        UsageError: the deployment or the address is wrong as written.
        UnreachableError, FormatError: the static part can't be looked at.
    """
    refuse_addresses(request)
    static = prove(
        deployment, cache=cache, offline=offline, progress=progress, store=store, log=request.log
    )
    wiring = Wiring(store, port, control_port, say, show)
    chain = _Chain(deployment, static, request, wiring)
    chain.run()
    report = report_live(static, chain.live(), chain.findings, chain.unknowns)
    assert static.result is not None
    inputs = {"deployment": digest(static.result.deployment)}
    if chain.snapshot is not None:
        inputs["server"] = digest(chain.snapshot)
    parents = dict.fromkeys(part.receipt for part in chain.parts if part.receipt)
    return keep(report, store, inputs, tuple(parents))


class _Chain:
    """Runs part after part and has, at any moment, what was done so far."""

    def __init__(
        self,
        deployment: Deployment,
        static: Report[ProofResult],
        request: LiveRequest,
        wiring: Wiring,
    ) -> None:
        assert static.result is not None
        self._deployment, self._proof, self._request = deployment, static.result, request
        self._store, self._port, self._control_port, self._say, self._show = wiring
        self._model = ""
        self._stopped = ""
        self._interrupted = False
        self._reports: dict[str, Any] = {}
        self._matches: tuple[Match, ...] = match_log(static.result)
        self.snapshot: ServerSnapshot | None = None
        self.parts: list[Part] = list(static_parts(static))
        self.findings: list[Finding] = []
        self.unknowns: list[Unknown] = []

    def run(self) -> None:
        """Every part, in order; after one that ends it all, the rest is left out."""
        steps: tuple[tuple[PartName, Callable[[], Part]], ...] = (
            (PartName.MATCH, self._match),
            (PartName.SMOKE, self._smoke),
            (PartName.SOAK, self._soak),
            (PartName.AB, self._ab),
            (PartName.BENCH, self._bench),
        )
        for name, step in steps:
            why = self._left_out(name)
            if why:
                self.parts.append(Part(name=name, verdict=Verdict.SKIPPED, summary=why))
                continue
            self._say(f"{name}: asking {self._name()}")
            began = time.monotonic()
            part = self._tried(name, step)
            self.parts.append(
                msgspec.structs.replace(part, took_s=round(time.monotonic() - began, 3))
            )

    def _left_out(self, name: PartName) -> str:
        """Why a part is not done; "" where it is."""
        if name in self._request.skip:
            return "left out with --skip"
        if name is PartName.AB and not self._request.control:
            return "no control arm was given: --control URL"
        return self._stopped

    def live(self) -> LiveProof:
        """What was done."""
        return LiveProof(
            server=self.snapshot.address if self.snapshot else self._name(),
            quick=self._request.quick,
            parts=tuple(self.parts),
            snapshot=self.snapshot,
            matches=self._matches,
            interrupted=self._interrupted,
            **self._reports,
        )

    def _name(self) -> str:
        """The address as it may be shown, where nobody answered there."""
        address = server_address(self._request.address)
        return address.rpartition("@")[2] if "@" in address else address

    def _tried(self, name: PartName, step: Callable[[], Part]) -> Part:
        try:
            part = self._step(name, step)
            return part if self._stopped else self._alive(part)
        except KeyboardInterrupt:
            self._interrupted, self._stopped = True, "left out: interrupted"
            return Part(name=name, verdict=Verdict.INCONCLUSIVE, summary="interrupted")

    def _step(self, name: PartName, step: Callable[[], Part]) -> Part:
        try:
            return step()
        except SparkproofError as error:
            part = Part(name=name, verdict=Verdict.ERROR, summary=error.message)
            gone = name is not PartName.MATCH and self._alive(part) != part
            if gone:
                return Part(name=name, verdict=Verdict.FAIL, summary=_gone(error.message))
            if name is PartName.MATCH:
                self._stopped = "left out: the server could not be asked"
            finding = make_finding(
                "live/unreachable", error.message, subject=name, remedy=error.hint
            )
            self.findings.append(finding)
            return part

    def _alive(self, part: Part) -> Part:
        """The part as it is, unless the server is gone after it."""
        reply = self._ask(lambda port: port.send(Ask("health", "/health", timeout_s=_HEALTH_S)))
        if reply.status and reply.status < 500:
            return part
        said = reply.detail or f"/health answers {reply.status}"
        self._stopped = f"left out: the server stopped answering during {part.name}"
        self.findings.append(
            make_finding("live/server-died", subject=part.name, where="/health", what=said)
        )
        verdict = fold((part.verdict, Verdict.FAIL))
        return msgspec.structs.replace(part, verdict=verdict, summary=_gone(part.summary))

    def _ask(self, question: Callable[[ServerPort], Any]) -> Any:
        async def go() -> Any:
            async with Ports(self._request.address, port=self._port) as (port, _):
                return await question(port)

        return asyncio.run(go())

    def _match(self) -> Part:
        self.snapshot = snapshot = self._ask(take_snapshot)
        served = [model.name for model in snapshot.models]
        promised = [name for name in expected_of(self._deployment).names if name in served]
        self._model = refuse_model(promised or served, "", snapshot.unknowns)
        plans, unknowns = read_plans(self._deployment, self._proof.release, snapshot)
        self.unknowns += [*unknowns, *snapshot.unknowns]
        rows = match_server(self._proof, self._deployment, snapshot, self._model, plans)
        self._matches = (*rows, *self._matches)
        criterion, findings = judge_match(rows)
        self.findings += findings
        return Part(name=PartName.MATCH, verdict=criterion.verdict, summary=criterion.reason)

    def _smoke(self) -> Part:
        report = smoke(
            self._request.address,
            model=self._model,
            deployment=self._deployment,
            log=self._request.log,
            store=self._store,
            port=self._port,
        )
        hard = [f for f in report.findings if f.rule in _HARD]
        if hard and report.verdict is Verdict.FAIL:
            self._stopped = f"left out: {hard[0].message}"
        return self._done(PartName.SMOKE, report)

    def _soak(self) -> Part:
        around = Surroundings(deployment=self._deployment, log=self._request.log)
        report = soak(
            self._request.address,
            wish_soak(quick=self._request.quick),
            around,
            model=self._model,
            store=self._store,
            find_in=self._store,
            port=self._port,
            say=self._say,
            show=self._show,
        )
        if report.result is not None and report.result.ending is Ending.GONE:
            self._stopped = "left out: the server stopped answering during soak"
        return self._done(PartName.SOAK, report)

    def _ab(self) -> Part:
        assert self.snapshot is not None
        # The control may serve its model under another name; each arm's first one is the usual.
        first = next((model.name for model in self.snapshot.models), "")
        wanted = "" if self._model == first else self._model
        log = self._request.log.removeprefix("-")  # what is piped in can't be followed
        treatment = ArmRef(self._request.address, self._deployment, log=log)
        report = ab(
            (ArmRef(self._request.control), treatment),
            wish_ab(wanted, quick=self._request.quick),
            store=self._store,
            ports=tuple(p for p in (self._control_port, self._port) if p is not None),
            say=self._say,
        )
        part = self._done(PartName.AB, report)
        arms = report.result.arms if report.result is not None else ()
        return self._same_process(part, arms[1].snapshot) if len(arms) > 1 else part

    def _bench(self) -> Part:
        assert self.snapshot is not None
        chats = self._reports.get("smoke")
        plan = plan_bench(self.snapshot, self._model, chats, quick=self._request.quick)
        arm = Arm(self._request.address, self._deployment)
        report = bench(
            arm, plan, model=self._model, store=self._store, port=self._port, say=self._say
        )
        return self._done(PartName.BENCH, report)

    def _done(self, name: PartName, report: Report[Any]) -> Part:
        self._reports[name.value] = report
        self.findings += (
            msgspec.structs.replace(item, subject=item.subject or name.value)
            for item in report.findings
        )
        self.unknowns += report.unknowns
        if getattr(report.result, "interrupted", False):
            self._interrupted, self._stopped = True, "left out: interrupted"
        part = Part(
            name=name, verdict=report.verdict, summary=report.summary, receipt=report.receipt
        )
        return self._same_process(part, getattr(report.result, "snapshot", None))

    def _same_process(self, part: Part, seen: ServerSnapshot | None) -> Part:
        """The part as it is, unless another process answered it than the one that was matched."""
        starts = [s.counts.start_s for s in (self.snapshot, seen) if s and s.counts]
        if None in starts or len(set(starts)) < 2:
            return part
        self._stopped = f"left out: the server was started anew before {part.name}"
        finding = make_finding("live/restarted", subject=part.name)
        self.findings.append(finding)
        verdict = fold((part.verdict, Verdict.FAIL))
        summary = f"{finding.message}; {part.summary}"
        return msgspec.structs.replace(part, verdict=verdict, summary=summary)


def _gone(summary: str) -> str:
    return f"the server stopped answering; {summary}"
