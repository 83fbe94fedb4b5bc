"""Read a server's log, an answer of it, or what is left of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from sparkproof.adapters.log_sources import open_log
from sparkproof.bootlog.derive import derive
from sparkproof.bootlog.diagnosis import CONTAINER, KERNEL, diagnose
from sparkproof.bootlog.postmortem import (
    DeathPieces,
    build_timeline,
    other_server,
    own_events,
    served_names,
    with_pieces,
)
from sparkproof.bootlog.probes import signature_probes
from sparkproof.core.errors import FormatError
from sparkproof.core.finding import Finding
from sparkproof.core.observations.boot_log import BootLog, Hit, LogReading
from sparkproof.core.ports import LogSource
from sparkproof.core.report import Report
from sparkproof.core.results.log import BootView, LogResult
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict, fold
from sparkproof.facts.book import signatures
from sparkproof.facts.log_book import log_lines
from sparkproof.facts.surfaces import load_messages
from sparkproof.formats.kernel_log import KernelEvent
from sparkproof.formats.vllm_log.phrases import PhraseIndex
from sparkproof.formats.vllm_log.reader import LogReader, nothing_known, read_log
from sparkproof.formats.vllm_log.release_wording import ReleaseWording, read_release_wording
from sparkproof.recipe.docker_inspect import InspectedContainer
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.log.claims import find_container, judge_claims
from sparkproof.usecases.log.findings import (
    describe_boot,
    judge_boot,
    next_steps,
)
from sparkproof.usecases.log.pieces import read_kernel, read_metrics, read_pressure

_URGENT = (Verdict.ERROR, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS, Verdict.SKIPPED)
_ENDED = ("exited", "stopped", "dead")


@cache
def phrase_index() -> PhraseIndex:
    """Everything the catalogue looks for, compiled once."""
    return PhraseIndex(log_lines(), signature_probes(signatures().values()), release_wording)


@lru_cache(maxsize=32)
def release_wording(version: str) -> ReleaseWording:
    """What the messages of a shipped release say about our wordings; nothing of any other.

    Raises:
        FormatError: the release's shipped data is damaged.
    """
    messages = load_messages(version)
    return read_release_wording(log_lines(), messages) if messages else ReleaseWording()


def read_boots(source: LogSource) -> LogReading:
    """Facts only: the boots of a log, without any judgement.

    Raises:
        FormatError, UnreachableError: no vLLM log, or it can't be read.
    """
    return _require_log(read_log(source.chunks(), phrase_index(), source.name))


def read_last_boot(source: LogSource) -> tuple[LogReading, BootLog]:
    """The log of one server, and its last boot.

    Raises:
        FormatError, UnreachableError: no vLLM log, or of several servers, or it can't be read.
    """
    reading = read_boots(source)
    last = reading.last_boots()
    if len(last) > 1:
        names = ", ".join(boot.service or "(no name)" for boot in last)
        raise FormatError(
            f"{len(last)} servers print into it: {names}",
            where=reading.where,
            hint=f"save one server's lines: docker compose logs {last[-1].service} > FILE",
        )
    return reading, last[-1]


def _require_log(reading: LogReading) -> LogReading:
    """The reading, unless all it has are words that are as common in any text about vLLM."""
    if reading.headed or any(boot.fact_count or boot.errors for boot in reading.boots):
        return reading
    for boot in reading.boots:
        found = diagnose(boot, signatures().values(), reading.where)
        if found.troubled or found.rivals:
            return reading
    raise nothing_known(reading.where)


def explain_log(text: str, *, inspect: Path | None = None) -> Report[LogResult]:
    """Facts, and the cause where the last boot failed.

    Args:
        text: a file, ``-``, ``container:NAME`` or ``unit:NAME``.
        inspect: saved ``docker inspect`` of the container; an engine's own is asked for.

    Raises:
        FormatError, UnreachableError, UsageError: it can't be read, or is no vLLM log.
    """
    source = open_log(text)
    container, unknowns = find_container(text, inspect)
    return report_reading(read_boots(source), container, unknowns)


def follow_log(
    text: str, say: Callable[[str], None], *, inspect: Path | None = None
) -> Report[LogResult]:
    """As `explain_log`, reading on until the boot is ready or has failed."""
    source = open_log(text)
    container, unknowns = find_container(text, inspect)
    reader = LogReader(phrase_index(), source.name)
    told = ""
    for chunk in source.chunks(follow=True):
        reader.feed([chunk])
        state = reader.state
        if state != told:
            told = state
            say(state)
        if reader.decided:
            break
    reader.finish()
    return report_reading(_require_log(reader.reading()), container, unknowns)


def report_reading(
    reading: LogReading,
    container: InspectedContainer | None = None,
    unknowns: tuple[Unknown, ...] = (),
) -> Report[LogResult]:
    """The report on a reading; the last boot of each server gives the verdict."""
    boots = reading.boots
    if container is not None and len(reading.last_boots()) == 1:
        boots = (*boots[:-1], _completed(boots[-1], _gather(container))[0])
    views = tuple(view_boot(boot, reading.where) for boot in boots)
    last = {view.boot.service: view for view in views}
    judged = [(view, *judge_boot(view, reading.where)) for view in last.values()]
    judged.sort(key=lambda item: _URGENT.index(item[1]))
    findings = tuple(f for view, _, found in judged for f in _named(view, found, len(last)))
    version = judged[0][0].boot.version
    return make_report(
        "log",
        LogResult(
            where=reading.where,
            boots=views,
            boots_total=reading.boots_total,
            lines=reading.lines,
            size_bytes=reading.size_bytes,
        ),
        verdict=fold(verdict for _, verdict, _ in judged),
        summary="; ".join(_told(view, len(last)) for view, _, _ in judged),
        findings=(*findings, *judge_claims(version, container)),
        unknowns=(*reading.unknowns, *unknowns),
        next_steps=next_steps(judged[0][0]),
    )


def _told(view: BootView, servers: int) -> str:
    said = describe_boot(view)
    return f"{view.boot.service}: {said}" if servers > 1 else said


def _named(view: BootView, findings: Iterable[Finding], servers: int) -> Iterable[Finding]:
    """The findings, with the server's name where there are several."""
    if servers == 1:
        return findings
    name = view.boot.service
    return (msgspec.structs.replace(f, subject=f"{name} {f.subject}".rstrip()) for f in findings)


def view_boot(boot: BootLog, where: str) -> BootView:
    """A boot with what follows from it."""
    return BootView(boot, derive(boot), diagnose(boot, signatures().values(), where))


def explain_death(
    text: str,
    *,
    inspect: Path | None = None,
    kernel: Path | None = None,
    metrics: Path | None = None,
    pressure: Path | None = None,
) -> Report[LogResult]:
    """One timeline and one cause from the engine's log and whatever else was kept.

    Raises:
        FormatError, UnreachableError, UsageError: a piece can't be read.
    """
    reading, last = read_last_boot(open_log(text))
    container, unknowns = find_container(text, inspect)
    boot, pieces = _completed(last, _gather(container, kernel, metrics, pressure))
    view = view_boot(boot, reading.where)
    verdict, findings = judge_boot(view, reading.where)
    return make_report(
        "log",
        LogResult(
            where=reading.where,
            boots=(view,),
            boots_total=reading.boots_total,
            lines=reading.lines,
            size_bytes=reading.size_bytes,
            timeline=build_timeline(boot, pieces),
        ),
        verdict=verdict,
        summary=describe_boot(view),
        findings=(*findings, *judge_claims(boot.version, container)),
        unknowns=(*reading.unknowns, *unknowns, *_other_metrics(boot, pieces, metrics)),
        next_steps=next_steps(view),
    )


def _other_metrics(boot: BootLog, pieces: DeathPieces, file: Path | None) -> list[Unknown]:
    other = other_server(boot, pieces)
    if file is None or not other:
        return []
    own = ", ".join(served_names(boot))
    why = f"these metrics are of a server of `{other}`, the log is of one of `{own}`"
    return [Unknown(file.name, why, "log", hint="save /metrics of the server that died")]


def _completed(boot: BootLog, pieces: DeathPieces) -> tuple[BootLog, DeathPieces]:
    """The boot as it ended by all that is known, and the pieces with the phrases in them."""
    own = own_events(boot, pieces)
    pieces = msgspec.structs.replace(pieces, kernel_hits=_hits(own, oom_killed=pieces.oom_killed))
    return with_pieces(boot, pieces), pieces


def _gather(
    container: InspectedContainer | None,
    kernel: Path | None = None,
    metrics: Path | None = None,
    pressure: Path | None = None,
) -> DeathPieces:
    state = container.state if container else None
    return DeathPieces(
        exit_code=state.exit_code if state else -1,
        ended=bool(state and state.status in _ENDED),
        oom_killed=bool(state and state.oom_killed),
        started=state.started if state else "",
        finished=state.finished if state else "",
        kernel=read_kernel(kernel),
        metrics=read_metrics(metrics),
        pressure=read_pressure(pressure),
    )


def _hits(events: tuple[KernelEvent, ...], *, oom_killed: bool) -> tuple[Hit, ...]:
    flag = ['"OOMKilled": true'] if oom_killed else []
    text = "\n".join([*(event.text for event in events), *flag])
    try:
        found = read_log([text.encode()], phrase_index(), "kernel").boots[-1].hits
    except FormatError:
        return ()
    return tuple(_placed(hit, events) for hit in found)


def _placed(hit: Hit, events: tuple[KernelEvent, ...]) -> Hit:
    if hit.line > len(events):
        return msgspec.structs.replace(hit, source=CONTAINER)
    line = events[hit.line - 1].line
    return msgspec.structs.replace(hit, source=KERNEL, source_line=line)
