"""Smoke: first things first on a live server, and the warm-up that comes with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import digest
from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Finding, Severity, worst_first
from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.observations.fingerprint import Fingerprint
from sparkproof.core.observations.server_snapshot import between
from sparkproof.core.report import Report
from sparkproof.core.results.smoke import Expected, LogSays, SmokeResult
from sparkproof.core.server_port import Ask, ServerPort
from sparkproof.core.verdict import Criterion, Verdict, fold
from sparkproof.gates.fingerprint import compare_fingerprints
from sparkproof.gates.smoke import (
    judge_smoke,
    labelled,
    plan_aliases,
    plan_chat,
    plan_drafts,
    plan_prefix,
    plan_speech,
)
from sparkproof.gates.smoke_server import engine_of
from sparkproof.gates.smoke_speech import read_fingerprint
from sparkproof.gates.warmup import first_costs, plan_warmup
from sparkproof.load.prompts import words_for
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.exchange_rules import answer_rule
from sparkproof.usecases.expectations import expected_of, log_says, refuse_model
from sparkproof.usecases.keep import keep, read_kept
from sparkproof.usecases.live import Ports, Session, subject_of, take_snapshot

_POLL_S = 2.0
_WORD_S = 30.0
Say = Callable[[str], None]
_SILENCES = 2
_SAMPLE = "the miller carried a box of letters to the village before the rain came"


def smoke(
    address: str,
    *,
    model: str = "",
    deployment: Deployment | None = None,
    expect: str = "",
    names: tuple[str, ...] = (),
    gateway: str = "",
    log: str = "",
    trusted: str = "",
    warm_only: bool = False,
    wait_s: float = 0.0,
    store: ReceiptStore | None = None,
    trust_store: ReceiptStore | None = None,
    port: ServerPort | None = None,
    seed: str = "",
    say: Say = lambda _: None,
) -> Report[SmokeResult]:
    """Ask a server first things first.

    Args:
        address: ``server:URL`` or a URL.
        deployment: what it should be.
        trusted: receipt of an earlier smoke of the same checkpoint, found in `trust_store`.
        wait_s: how long to wait for a server that is not there yet; its log is read after that.
        port: asked in place of the address.
        seed: makes prompts that no cache has seen; the moment, unless given.
        say: told what is waited for.

    Raises:
        UsageError, UnreachableError, FormatError: it can't be asked at all.
    """
    expected = expected_of(deployment, version=expect, names=names)
    says = log_says(log) if log and not wait_s else None
    old = read_trusted(trust_store, trusted) if trusted and trust_store else None
    run = SmokeRun(
        expected=expected, log=says, warm_only=warm_only, seed=seed, model=model, say=say
    )
    _run(run, Ports(address, gateway, port), wait_s, log if wait_s else "")
    result = run.finished(old)
    inputs = {"server": digest(result.snapshot)}
    if deployment is not None:
        inputs["deployment"] = digest(deployment)
    return keep(report_smoke(result), store, inputs)


def _run(run: SmokeRun, ports: Ports, wait_s: float, log: str) -> None:
    """Run it; an interrupt after the first answers leaves what came until then."""

    async def ask() -> None:
        async with ports as (direct, other):
            await wait_for(direct, wait_s, run.say)
            if log:
                run.log = log_says(log)
            await run.go(direct, other)

    try:
        asyncio.run(ask())
    except KeyboardInterrupt:
        if run.result is None:
            raise
        run.interrupted = True


async def wait_for(port: ServerPort, wait_s: float, say: Say = lambda _: None) -> None:
    """Wait until ``/health`` is 200, or the time is over; told of again now and then."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    end, next_word = began + wait_s, began
    while wait_s:
        reply = await port.send(Ask("health", "/health", timeout_s=5))
        if reply.status == 200 or loop.time() >= end:
            return
        if loop.time() >= next_word:
            said = reply.detail or f"/health answers {reply.status}"
            say(f"waiting for {port.name}: {said}, {loop.time() - began:.0f} of {wait_s:.0f} s")
            next_word = loop.time() + _WORD_S
        await asyncio.sleep(min(_POLL_S, max(0.1, end - loop.time())))


class SmokeRun:
    """The run: asks in stages and has, at any moment, a result to be judged."""

    def __init__(
        self,
        *,
        expected: Expected,
        log: LogSays | None,
        warm_only: bool,
        seed: str,
        model: str,
        say: Say = lambda _: None,
    ) -> None:
        self.say = say
        self._seed = seed
        self._model = model
        self._session: Session | None = None
        self._base: dict[str, Any] = {"expected": expected, "warm_only": warm_only}
        self.log = log
        self.result: SmokeResult | None = None
        self.interrupted = False

    async def go(self, port: ServerPort, gateway: ServerPort | None) -> None:
        """Everything, in order."""
        snapshot = await take_snapshot(port)
        model = refuse_model([m.name for m in snapshot.models], self._model, snapshot.unknowns)
        limit = next((m.max_model_len for m in snapshot.models if m.name == model), 0)
        self.result = SmokeResult(
            snapshot=snapshot,
            model=model,
            gateway=gateway.name if gateway else "",
            log=self.log,
            **self._base,
        )
        if engine_of(snapshot):
            return
        self._session = session = Session(port, silences=_SILENCES)
        seed = self._seed or f"{asyncio.get_running_loop().time()}"
        self.say(f"warming up {model} at {port.name}: each shape of request twice")
        for round_ in plan_warmup(model, limit, seed):
            await session.ask_together(round_)
        if self.result.warm_only:
            return
        self.say("asking for names, known texts, chat, tools and what can be off in silence")
        names = [m.name for m in snapshot.models] or [model]
        await self._each(
            session, plan_aliases(tuple(dict.fromkeys([*names, *self.result.expected.names])))
        )
        await self._each(session, (*plan_speech(model), *plan_chat(model, limit)))
        await self._prefix(session, model, seed)
        before = await session.counts()
        await self._each(session, plan_drafts(model))
        if before and (after := await session.counts()):
            self._add(window=between(before, after))
        if gateway is not None:
            beyond = Session(gateway, silences=_SILENCES)
            await self._each(beyond, plan_aliases(names))
            session.exchanges += [
                msgspec.structs.replace(e, label=e.label.replace("alias/", "gateway/"))
                for e in beyond.exchanges
            ]

    async def _each(self, session: Session, asks: tuple[Ask, ...]) -> None:
        for ask in asks:
            await session.ask(ask)

    async def _prefix(self, session: Session, model: str, seed: str) -> None:
        """The same prompt twice, some blocks long where the model's length allows it."""
        assert self.result is not None
        counts = self.result.snapshot.counts
        block = max(
            (
                int(v)
                for k in ("block_size", "effective_attention_block_size")
                if counts and (v := counts.cache.get(k, "")).isdecimal()
            ),
            default=16,
        )
        limit = next((m.max_model_len for m in self.result.snapshot.models if m.name == model), 0)
        wanted = min(3 * block + 16, max(64, (limit or 2048) - 64))
        sample = await session.count_tokens(model, _SAMPLE) or len(_SAMPLE) // 4
        first, second = plan_prefix(model, words_for(wanted, _SAMPLE.count(" ") + 1, sample), seed)
        await session.ask(first)
        before = await session.counts()
        exchange = await session.ask(second)
        after = await session.counts()
        if before and after:
            self._add(prefix_window=between(before, after), prefix_tokens=_prompt_tokens(exchange))

    def _add(self, **parts: Any) -> None:
        assert self.result is not None
        self.result = msgspec.structs.replace(self.result, **parts)

    def finished(self, trusted: Fingerprint | None) -> SmokeResult:
        """The result as far as it came."""
        assert self.result is not None
        exchanges = tuple(self._session.exchanges) if self._session else ()
        print_ = read_fingerprint(exchanges)
        change = compare_fingerprints(trusted, print_) if trusted and print_ else None
        return msgspec.structs.replace(
            self.result,
            exchanges=exchanges,
            costs=first_costs(exchanges),
            answer_rules={e.label: answer_rule(e) for e in labelled(exchanges, "chat")},
            fingerprint=print_,
            change=change,
            interrupted=self.interrupted,
        )


def _prompt_tokens(exchange: Exchange) -> int:
    try:
        usage = msgspec.json.decode(exchange.body, type=dict[str, msgspec.Raw]).get("usage", b"{}")
        return int(msgspec.json.decode(usage).get("prompt_tokens", 0))
    except (msgspec.DecodeError, AttributeError, TypeError, ValueError, OverflowError):
        return 0


def read_trusted(store: ReceiptStore, reference: str) -> Fingerprint:
    """The fingerprint in a smoke receipt.

    Raises:
        UsageError: it is another command's, or holds none.
    """
    name, result = read_kept(store, reference, "smoke", SmokeResult)
    if result is None or result.fingerprint is None:
        raise UsageError(
            f"{name} holds no fingerprint",
            hint="run `sparkproof smoke` on the trusted server again",
        )
    return result.fingerprint


def report_smoke(result: SmokeResult) -> Report[SmokeResult]:
    """Judge a result, fresh or stored."""
    criteria, findings = judge_smoke(result)
    verdict = fold(c.verdict for c in criteria)
    if result.interrupted:
        verdict = fold((verdict, Verdict.INCONCLUSIVE))
    once = {(f.rule, f.message): f for f in findings}.values()
    ordered = worst_first(once)
    return make_report(
        "smoke",
        result,
        verdict=verdict,
        summary=_summary(result, verdict, criteria, ordered),
        subjects=(subject_of(result.snapshot),),
        criteria=criteria,
        findings=ordered,
        unknowns=result.snapshot.unknowns,
        next_steps=_next_steps(ordered, verdict, result),
    )


def _summary(
    result: SmokeResult,
    verdict: Verdict,
    criteria: tuple[Criterion, ...],
    findings: tuple[Finding, ...],
) -> str:
    if result.interrupted:
        return f"interrupted after {len(result.exchanges)} requests; what was asked is kept"
    bad = next((c for c in criteria if c.verdict is verdict), None)
    if verdict is Verdict.PASS:
        what = "warm" if result.warm_only else "sound"
        passed = sum(c.verdict is Verdict.PASS for c in criteria)
        skipped = sum(c.verdict is Verdict.SKIPPED for c in criteria)
        return f"{result.model} is {what}: {passed} answers, {skipped} not shown"
    if verdict is Verdict.INCONCLUSIVE and bad:
        return f"{bad.name.removeprefix('smoke/')}: {bad.reason}"
    worst = next((f.message for f in findings if f.severity is Severity.ERROR), "")
    return worst or (bad.reason if bad else "nothing could be asked")


def _next_steps(
    findings: tuple[Finding, ...], verdict: Verdict, result: SmokeResult
) -> tuple[str, ...]:
    steps = [f"sparkproof explain {f.rule}" for f in findings if f.severity is Severity.ERROR][:2]
    if verdict is Verdict.INCONCLUSIVE and not steps:
        steps = [f"sparkproof explain {f.rule}" for f in findings if f.severity != Severity.INFO][
            :1
        ]
    if verdict is Verdict.PASS and not result.warm_only:
        steps.append(f"sparkproof soak {result.snapshot.address}")
    return tuple(steps)
