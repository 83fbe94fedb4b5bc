"""Failure to cause by signature; where none fits, what was seen instead.

A cause is named only if all conditions of one signature hold and no other signature of
equal weight says something else. A server that came up and was stopped is never ill.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkproof.bootlog.probes import probe_id
from sparkproof.core.finding import Evidence, Severity
from sparkproof.core.observations.boot_log import BootLog, ErrorSeen, Hit, Outcome, Phase
from sparkproof.core.results.log import Cause, Diagnosis
from sparkproof.facts.log_schema import Clause, Context, Signature
from sparkproof.formats.vllm_log.boot_builder import holds_for

_CONSEQUENCES = re.compile(
    r"EngineDeadError|Engine core initialization failed|EngineCore failed to start"
    r"|WorkerProc (?:failed|initialization failed)|AsyncLLM output_handler failed"
    r"|encountered a fatal error|cancelled|died unexpectedly"
)
_OFF = frozenset({"None", "False", "none", "false", ""})
KERNEL, CONTAINER = "kernel log", "container"
"""Where evidence stands that is not in the server's log."""
KEEP = (
    "the whole log from the first line of the boot",
    "docker inspect NAME (image digest, arguments, environment, exit code)",
    "journalctl -k of that boot, and /proc/meminfo while it starts",
)


def diagnose(boot: BootLog, signatures: Iterable[Signature], where: str) -> Diagnosis:
    """Judge one boot."""
    hits = {hit.probe: hit for hit in boot.hits if not hit.after_shutdown}
    matched = {
        signature.id: (signature, found)
        for signature in signatures
        if (found := _match(signature, boot, hits)) is not None
    }
    displaced = {other for signature, _ in matched.values() for other in signature.over}
    requests = {s.id for s, _ in matched.values() if s.request and _has_server(boot)}
    places = {s.id for s, _ in matched.values() if s.place}
    causes = [
        _cause(signature, found, where)
        for name, (signature, found) in matched.items()
        if name not in displaced | requests | places
    ]
    named = sorted((c for c in causes if c.names_cause), key=_weight)
    cause, rivals = _choose(named)
    kinds = tuple(
        sorted((c for c in causes if not c.names_cause and not (cause and c.yields)), key=_weight)
    )
    if not causes and boot.outcome in _LOUD:
        told = (_cause(*matched[name], where) for name in sorted(places))
        kinds = tuple(sorted(told, key=_weight))
    saw = _first_error(boot)
    open_question = cause is None and is_troubled(boot, causes)
    return Diagnosis(
        cause=cause,
        rivals=rivals,
        kinds=kinds,
        troubled=is_troubled(boot, causes),
        last_good=boot.reached.value,
        saw=_told(saw) if saw else "",
        saw_line=saw.line if saw else 0,
        keep=(kinds[0].keep if kinds and kinds[0].keep else KEEP) if open_question else (),
        requests=tuple(_cause(*matched[name], where) for name in sorted(requests)),
    )


def is_troubled(boot: BootLog, causes: Iterable[Cause] = ()) -> bool:
    """Whether the log shows a failure at all."""
    return boot.outcome in (Outcome.FAILED, Outcome.DIED) or any(True for _ in causes)


def _match(signature: Signature, boot: BootLog, hits: dict[str, Hit]) -> list[Hit] | None:
    """The hits that make a signature hold, None where it doesn't."""
    found = []
    for clause in signature.clauses:
        hit = _clause_hit(clause, hits)
        if hit is None:
            return None
        found.append(hit)
    if any(probe_id(phrase) in hits for phrase in signature.unless):
        return None
    if not signature.quiet and not any(hit.severe for hit in found):
        return None
    if not _fits_outcome(signature, boot, found):
        return None
    return found if _context_holds(signature.when, boot, found) else None


def _clause_hit(clause: Clause, hits: dict[str, Hit]) -> Hit | None:
    there = [hits[name] for phrase in clause.any if (name := probe_id(phrase)) in hits]
    return min(there, key=lambda hit: (not hit.severe, hit.line), default=None)


def _fits_outcome(signature: Signature, boot: BootLog, found: list[Hit]) -> bool:
    """Whether the phrases lie where this boot's end can have come from.

    A boot that served had no failure before it did; one that failed loudly did not fail of
    something quiet; and what a request was refused for is no failure of the server.
    """
    ready = next((p.line for p in boot.phases if p.phase is Phase.READY), 0)
    if signature.request:
        return _requests_alone(boot) if signature.quiet else not _has_server(boot)
    if signature.quiet and not signature.names_cause and _served_after(boot, found):
        return False
    if signature.quiet:
        return signature.severity is not Severity.WARNING or boot.outcome not in _LOUD
    if not ready:
        return True
    last = max((hit.last_line for hit in found if hit.severe), default=0)
    return last > ready and (boot.outcome in _LOUD or last > boot.traffic.last_answer_line)


_LOUD = frozenset({Outcome.FAILED, Outcome.DIED})


def _has_server(boot: BootLog) -> bool:
    """Whether a server's own life is in the log, not only what became of a request."""
    ready = any(p.phase is Phase.READY for p in boot.phases)
    return bool(boot.whole or boot.version or ready)


def _requests_alone(boot: BootLog) -> bool:
    """Whether nothing but requests can have failed: the server lives, or is not in the log.

    A traceback without its server looks like a failed start; one that says what became of
    the engine is not a request's alone.
    """
    if boot.outcome not in _LOUD:
        return True
    return boot.fragment and not any(
        _CONSEQUENCES.search(f"{e.kind}: {e.message}") for e in boot.errors
    )


def _served_after(boot: BootLog, found: list[Hit]) -> bool:
    """Whether tokens were generated after the last of these lines: the server got over it."""
    return boot.traffic.last_generation_line > max(hit.last_line for hit in found)


def _context_holds(when: Context, boot: BootLog, found: list[Hit]) -> bool:
    if when.releases and holds_for(when.releases, boot.version) is False:
        return False
    if when.speculation is not None and speculates(boot) is not when.speculation:
        return False
    if when.prefix_caching is not None and caches_prefixes(boot) is not when.prefix_caching:
        return False
    for name, pattern in when.arguments.items():
        value = boot.argument(name)
        if value is None or not re.search(pattern, value):
            return False
    return not when.phases or found[0].phase in when.phases


def speculates(boot: BootLog) -> bool | None:
    """Whether speculation is configured; None where the log does not say."""
    value = boot.argument("speculative_config")
    if value is not None:
        return value not in _OFF
    if boot.traffic.last_acceptance_length >= 0 or "--speculative-config" in boot.command:
        return True
    return False if boot.arguments else None


def caches_prefixes(boot: BootLog) -> bool | None:
    """Whether prefix caching is on; None where the log does not say."""
    if any(f.feature == "prefix_caching" and not f.on for f in boot.features):
        return False
    for source in (boot.config, boot.arguments):
        for item in source:
            if item.name == "enable_prefix_caching":
                return item.value not in _OFF
    return None


def _cause(signature: Signature, found: list[Hit], where: str) -> Cause:
    context = signature.when
    asked = (context.releases, context.arguments, context.phases)
    conditions = len(found) + sum(1 for item in asked if item)
    conditions += sum(
        1 for item in (context.speculation, context.prefix_caching) if item is not None
    )
    return Cause(
        signature=signature.id,
        title=signature.title,
        failure_class=signature.failure_class,
        names_cause=signature.names_cause,
        confidence=signature.confidence,
        cause=signature.cause,
        remedy=signature.remedy,
        evidence=tuple(_evidence(hit, where) for hit in found),
        conditions=conditions,
        yields=signature.yields,
        first_fixed=signature.first_fixed,
        keep=signature.keep,
        sources=signature.sources,
    )


def _evidence(hit: Hit, where: str) -> Evidence:
    line = hit.source_line if hit.source else hit.line
    return Evidence(hit.source or where, hit.text[:300], line)


def _weight(cause: Cause) -> tuple[bool, int, bool, int]:
    """Most conditions first, then the log's earliest line; what yields comes last."""
    first = min((item.where in (KERNEL, CONTAINER), item.line) for item in cause.evidence)
    return (cause.yields, -cause.conditions, *first)


def _choose(named: list[Cause]) -> tuple[Cause | None, tuple[Cause, ...]]:
    """The one cause, or the ones that contradict each other."""
    if not named:
        return None, ()
    best = named[0]
    rivals = [
        cause
        for cause in named[1:]
        if cause.yields == best.yields
        and cause.conditions == best.conditions
        and cause.failure_class != best.failure_class
    ]
    return (None, (best, *rivals)) if rivals else (best, ())


def _told(error: ErrorSeen) -> str:
    """What an error says; one that says nothing is known by the place it came from."""
    if error.message or not error.frames:
        return f"{error.kind}: {error.message}"
    return f"{error.kind} at {error.frames[-1]}"


def _first_error(boot: BootLog) -> ErrorSeen | None:
    """The first error that is not the echo of another one."""
    errors = [e for e in boot.errors if not e.after_shutdown]
    roots = [e for e in errors if not _CONSEQUENCES.search(f"{e.kind}: {e.message}")]
    exceptions = [e for e in roots if e.kind not in ("ERROR", "CRITICAL", "FATAL")]
    for group in (exceptions, roots, errors):
        if group:
            return group[0]
    return None
