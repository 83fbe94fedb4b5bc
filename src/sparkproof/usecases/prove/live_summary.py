"""One report over the parts of a live proof: its verdict, and what that rests on. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from sparkproof.core.finding import Finding, worst_first
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbResult
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.results.live_proof import FactUsed, LiveProof, PartName
from sparkproof.core.results.proof import ProofResult
from sparkproof.core.results.soak import SoakResult
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict, fold
from sparkproof.facts.backend import backends
from sparkproof.facts.book import hardware
from sparkproof.facts.gate_operators import gate_operators
from sparkproof.gates.pages import make_finding
from sparkproof.gates.soak_pressure import pressure_words
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.live import subject_of

_TOLD = 2
"""How many parts the one line names."""
_STEPS = 3
_UNSHOWN = frozenset({"soak/preemption", "soak/prefix"})
"""Criteria that pass with a warning where nothing of the kind happened."""


def report_live(
    static: Report[ProofResult],
    live: LiveProof,
    findings: Sequence[Finding],
    unknowns: Sequence[Unknown],
) -> Report[ProofResult]:
    """The whole: each part is one criterion, and the verdict their fold.

    Args:
        findings, unknowns: of the parts after the static one.
    """
    assert static.result is not None
    verdict = fold(part.verdict for part in live.parts)
    every = (*_contradiction(live), *findings, *static.findings)
    done = msgspec.structs.replace(
        live,
        exercised=tuple(_exercised(live)),
        not_exercised=tuple(_not_exercised(live)),
        facts=tuple(facts_used(static.facts)),
    )
    server = (subject_of(live.snapshot),) if live.snapshot else ()
    return make_report(
        "prove",
        msgspec.structs.replace(static.result, live=done),
        verdict=verdict,
        summary=_summary(live, verdict),
        subjects=(*static.subjects, *server),
        criteria=tuple(Criterion(p.name.value, p.verdict, p.summary) for p in live.parts),
        findings=_once(every),
        unknowns=tuple(dict.fromkeys((*static.unknowns, *unknowns))),
        next_steps=_next_steps(static, live, verdict),
        facts=static.facts,
    )


def _once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    once = {(f.rule, f.message, f.subject): f for f in findings}
    return worst_first(once.values())


def _contradiction(live: LiveProof) -> Iterator[Finding]:
    """The proof says that it can't run, and it does."""
    static, shown = live.part(PartName.STATIC), live.part(PartName.SMOKE)
    if static and shown and static.verdict is Verdict.FAIL and shown.verdict is Verdict.PASS:
        yield make_finding("proof/runs-nevertheless", where=live.server, what=shown.summary)


def _summary(live: LiveProof, verdict: Verdict) -> str:
    if live.interrupted:
        done = [p.name.value for p in live.parts if p.verdict is not Verdict.SKIPPED]
        return f"interrupted; kept what was done: {', '.join(done)}"
    if verdict is not Verdict.PASS:
        bad = [p for p in live.parts if p.verdict is verdict]
        more = f"; and {len(bad) - _TOLD} more" if len(bad) > _TOLD else ""
        static = live.part(PartName.STATIC)
        proven = "proven, but " if static and static.verdict is Verdict.PASS else ""
        return proven + "; ".join(f"{p.name}: {p.summary}" for p in bad[:_TOLD]) + more
    passed = ", ".join(p.name.value for p in live.parts if p.verdict is Verdict.PASS)
    left = ", ".join(p.name.value for p in live.parts if p.verdict is Verdict.SKIPPED)
    tail = f"; left out: {left}" if left else ""
    return f"what was proven runs at {live.server}: {passed} pass{tail}"


def _next_steps(static: Report[ProofResult], live: LiveProof, verdict: Verdict) -> tuple[str, ...]:
    if verdict is Verdict.PASS:
        return ()
    steps: list[str] = []
    for part in live.parts:
        report = static if part.name is PartName.STATIC else live.report(part.name)
        if report is not None and part.verdict is verdict:
            steps += report.next_steps or _explained(report)
    return tuple(dict.fromkeys(steps))[:_STEPS]


def _explained(report: Report[Any]) -> list[str]:
    return [f"sparkproof explain {finding.rule}" for finding in worst_first(report.findings)[:1]]


def _exercised(live: LiveProof) -> Iterator[str]:
    agreeing = sum(row.agrees is True for row in live.matches)
    if agreeing:
        yield f"{agreeing} predicted facts seen on the server or in its log"
    if live.smoke and live.smoke.result:
        asked = len(live.smoke.result.exchanges)
        yield f"smoke: {asked} requests to {live.smoke.result.model}, one after the other"
    if live.soak and live.soak.result and live.soak.result.requests:
        yield _soaked(live.soak.result)
    if live.ab and live.ab.result:
        yield from _compared(live.ab.result)
    if live.bench and live.bench.result:
        yield from _measured(live.bench.result)


def _soaked(result: SoakResult) -> str:
    kinds = ", ".join(f"{k.requests} {k.kind.value}" for k in result.kinds)
    beside = ", beside other traffic" if result.loaded else ""
    return f"soak: {result.requests} requests ({kinds}), {pressure_words(result)}{beside}"


def _compared(result: AbResult) -> Iterator[str]:
    cells = "; ".join(cell.name for cell in result.plan.cells)
    for treatment in result.treatments:
        told = f"{treatment.prompts} prompts in each of {cells}"
        seen = treatment.detectable
        power = f", could have seen {seen:.1%} corrupted" if seen is not None else ""
        yield f"ab: {told}{power}"


def _compares(live: LiveProof) -> bool:
    """The control arm was asked, and not refused at the door."""
    return bool(live.ab and live.ab.result and live.ab.result.treatments)


def _measured(result: BenchResult) -> Iterator[str]:
    for summary in result.cells:
        cell = result.plan.cells[summary.cell]
        if not summary.requests:
            continue
        beside = ", beside other traffic" if result.loaded else ""
        failed = f", {summary.failed} failed" if summary.failed else ""
        depth = f"{summary.depth:.0f}" if summary.depth else f"about {cell.depth}"
        yield (
            f"bench: {summary.requests} requests {depth} tokens deep, {cell.load}, "
            f"{cell.output} tokens each{failed}{beside}"
        )


def _not_exercised(live: LiveProof) -> Iterator[str]:
    for part in live.parts:
        refused = part.name is PartName.AB and live.ab is not None and not _compares(live)
        if part.verdict in (Verdict.SKIPPED, Verdict.ERROR) or refused:
            yield f"{part.name}: {part.summary}"
    for name in PartName:
        report = live.report(name)
        for item in report.criteria if report else ():
            if item.verdict is Verdict.SKIPPED or (item.warning and item.name in _UNSHOWN):
                yield f"{item.name}: {item.reason}"
    silent = [row.name for row in live.matches if row.agrees is None and not row.seen]
    if silent:
        yield f"predicted and not seen: {', '.join(dict.fromkeys(silent))}"
    yield from _longest(live)


def _longest(live: LiveProof) -> Iterator[str]:
    """How far below the served length the longest context stayed."""
    served = max((m.max_model_len for m in live.snapshot.models), default=0) if live.snapshot else 0
    reached = longest_context(live)
    if served and reached < served:
        yield f"contexts longer than {reached:,} of {served:,} tokens"


def longest_context(live: LiveProof) -> int:
    """Tokens of the longest prompt and answer that any part had."""
    lengths = [0]
    if live.smoke and live.smoke.result:
        lengths.append(live.smoke.result.prefix_tokens)
    if live.soak and live.soak.result:
        lengths.append(live.soak.result.pressure.longest_tokens)
    if live.bench and live.bench.result:
        result = live.bench.result
        lengths += [
            int(s.depth or 0) + result.plan.cells[s.cell].output for s in result.cells if s.requests
        ]
    return max(lengths)


def facts_used(ids: Iterable[str]) -> Iterator[FactUsed]:
    """Where each fact is from and when somebody last looked; unknown ids are left out."""
    by_backend = {item.id: item for item in backends().values()}
    for name in dict.fromkeys(ids):
        kind, _, key = name.partition("/")
        if kind == "hardware" and key in hardware():
            facts = hardware()[key].facts
            for field, fact in facts.items():
                yield FactUsed(f"{name}/{field}", fact.source, fact.checked.isoformat())
        elif kind == "backends" and (key in by_backend or key in backends()):
            backend = by_backend.get(key) or backends()[key]
            yield FactUsed(name, backend.source, backend.checked.isoformat())
        elif name == "gates/operators":
            table = gate_operators()
            yield FactUsed(name, table.source, table.checked.isoformat())
