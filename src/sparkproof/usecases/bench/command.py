"""An honest benchmark of a live server: run the plan, keep every record, judge the measurement."""

from __future__ import annotations

import asyncio

import msgspec

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import digest
from sparkproof.core.observations.load_run import LoadPlan
from sparkproof.core.report import Report
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.server_port import ServerPort
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict, fold
from sparkproof.gates.bench import judge_bench
from sparkproof.load.schedule import order_of
from sparkproof.usecases.bench.identities import identities_of
from sparkproof.usecases.bench.run import BenchRun, Say, cell_words
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.keep import keep
from sparkproof.usecases.live import Ports, subject_of


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One server to be measured.

    Attributes:
        deployment: what is being served, for the identities.
        box: the machine's name, for the identities.
    """

    address: str
    deployment: Deployment | None = None
    box: str = ""


def bench(
    arm: Arm,
    plan: LoadPlan,
    *,
    against: Arm | None = None,
    model: str = "",
    timeout_s: float = 600.0,
    store: ReceiptStore | None = None,
    port: ServerPort | None = None,
    other: ServerPort | None = None,
    say: Say = lambda _: None,
) -> Report[BenchResult]:
    """Measure a server; with `against`, two of them in turns (A B A B), each with its receipt.

    Args:
        timeout_s: of one request.
        port, other: asked in place of the addresses.
        say: told how far it is.

    Raises:
        UsageError, UnreachableError: it can't be measured at all.
    """
    runs = [BenchRun(plan, model=model, timeout_s=timeout_s, say=say) for _ in range(2)]
    ports = Ports(arm.address, against.address if against else "", port, other)
    _run(runs if against else runs[:1], plan, ports)
    twin = ""
    if against is not None and runs[1].result is not None:
        twin = _kept(runs[1], against, plan, store).receipt
    return _kept(runs[0], arm, plan, store, twin)


def _run(runs: list[BenchRun], plan: LoadPlan, ports: Ports) -> None:
    """Whole rounds, arm after arm in each cell; an interrupt leaves what was measured."""

    async def go() -> None:
        async with ports as found:
            for run, port in zip(runs, found, strict=False):
                assert port is not None
                await run.prepare(port)
            for repeat, index in order_of(plan):
                for run in runs:
                    await run.step(repeat, index)

    try:
        asyncio.run(go())
    except KeyboardInterrupt:
        if runs[0].result is None:
            raise
        for run in runs:
            run.interrupted = True


def _kept(
    run: BenchRun, arm: Arm, plan: LoadPlan, store: ReceiptStore | None, against: str = ""
) -> Report[BenchResult]:
    result = run.finished()
    identities = identities_of(result, arm.deployment, arm.box)
    named = msgspec.structs.replace(result, identities=identities, against=against)
    stated = {} if arm.deployment is None else {"deployment": digest(arm.deployment)}
    inputs = {"server": digest(named.snapshot), "load": digest(plan), **stated}
    return keep(report_bench(named), store, inputs)


def report_bench(result: BenchResult) -> Report[BenchResult]:
    """Judge a result, fresh or stored."""
    criteria, findings = judge_bench(result)
    verdict = fold(c.verdict for c in criteria)
    if result.interrupted:
        verdict = fold((verdict, Verdict.INCONCLUSIVE))
    return make_report(
        "bench",
        result,
        verdict=verdict,
        summary=_summary(result, verdict, [c.reason for c in criteria if c.verdict is verdict]),
        subjects=(subject_of(result.snapshot),),
        criteria=criteria,
        findings=findings,
        unknowns=(*result.snapshot.unknowns, _CLOCKS),
        next_steps=_next_steps(result, verdict),
    )


def _summary(result: BenchResult, verdict: Verdict, reasons: list[str]) -> str:
    if result.interrupted:
        return f"interrupted after {len(result.runs)} cells; what was measured is kept"
    if verdict is not Verdict.PASS:
        return f"not a measurement: {'; '.join(reasons)}"
    first = result.cells[0] if result.cells else None
    state = ", loaded" if result.loaded else ""
    if first and first.decode_tokens_per_s and first.ttft_s:
        speed = f"{first.decode_tokens_per_s.median:.1f} t/s decode"
        wait = f"{first.ttft_s.median * 1000:.0f} ms to the first token"
        return f"{cell_words(result.plan.cells[0])}: {speed}, {wait}{state}"
    return f"{len(result.cells)} cells measured{state}"


_CLOCKS = Unknown("clocks", "the server's API does not tell whether clocks were throttled", "bench")


def _next_steps(result: BenchResult, verdict: Verdict) -> tuple[str, ...]:
    if result.against:
        short = result.against.removeprefix("sha256:")[:12]
        return (f"sparkproof compare latest {short}",)
    return ("sparkproof compare A B",) if verdict is Verdict.PASS else ()
