"""The verdict on an artifact's device code for one device, as criteria to be folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.delivery import FamilyRoute, Route
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.core.units import plural
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.facts.kernel_family import OTHER
from sparkproof.formats.device_scan import TOPIC

_MAX_EVIDENCE = 8


def judge_device_code(
    code: DeviceCode,
    routes: Sequence[FamilyRoute],
    device: ComputeCapability,
    *,
    if_empty: str = "",
    compiled: bool = False,
) -> tuple[Criterion, ...]:
    """One criterion for whether all could be read, one for whether anything runs, one a family.

    A family fails where it is promised (`FamilyRoute.promised`) and does not work; one that nobody
    promised for this device is skipped, with what was seen. PTX JIT passes with a warning.

    Args:
        if_empty: why there should be kernels, for an artifact that can't pass without any.
        compiled: the package compiles at run time what it does not bring.
    """
    by_path = not any(library.containers for library in code.libraries)
    if_none = Verdict.SKIPPED if compiled else Verdict.INCONCLUSIVE
    return (
        _readable(code),
        _anything(routes, device, if_none if by_path else Verdict.FAIL, if_empty),
        *_families(routes, device),
    )


def find_problems(routes: Sequence[FamilyRoute]) -> tuple[Finding, ...]:
    """Findings behind the criteria, each under the rule whose page says what to do."""
    return tuple(_findings(routes))


def _readable(code: DeviceCode) -> Criterion:
    gaps = [unknown for unknown in code.unknowns if unknown.topic == TOPIC]
    if not gaps:
        return Criterion("devicecode/read", Verdict.PASS, "all device code could be read")
    evidence = tuple(Evidence(where=gap.where, what=gap.why) for gap in gaps[:_MAX_EVIDENCE])
    reason = f"{len(gaps)} places could not be read, the first: {gaps[0].why}"
    return Criterion("devicecode/read", Verdict.INCONCLUSIVE, reason, evidence=evidence)


def _anything(
    routes: Sequence[FamilyRoute], device: ComputeCapability, if_none: Verdict, if_empty: str
) -> Criterion:
    """`if_none`: loose files alone tell nothing of what their user does without them."""
    name = "devicecode/loads"
    total = sum(count.kernels for route in routes for count in route.counts)
    if not total and if_empty:
        return Criterion(name, Verdict.INCONCLUSIVE, f"holds no kernels, {if_empty}")
    if not total:
        return Criterion(name, Verdict.SKIPPED, f"holds no kernels for {device}")
    working = sum(route.kernels for route in routes)
    if working:
        return Criterion(name, Verdict.PASS, f"{working} of {total} kernels run on {device}")
    return Criterion(name, if_none, f"none of {total} kernels runs on {device}")


def _families(routes: Sequence[FamilyRoute], device: ComputeCapability) -> Iterator[Criterion]:
    for route in routes:
        if route.family != OTHER:
            yield _family(route, device)


def _family(route: FamilyRoute, device: ComputeCapability) -> Criterion:
    works = route.route not in (Route.NONE, Route.DEAD_CODE)
    verdict = Verdict.PASS if works else Verdict.FAIL if route.promised else Verdict.SKIPPED
    return Criterion(
        name=f"family/{route.family}",
        verdict=verdict,
        reason=describe_route(route, device),
        warning=works and route.jit,
        evidence=route.evidence,
    )


def describe_route(route: FamilyRoute, device: ComputeCapability) -> str:
    """One line: how many kernels come by which route, or why none does."""
    told = [
        f"{count.kernels} {_WORDS[count.route]}{f' ({count.arch})' if count.arch else ''}"
        for count in route.counts
    ]
    if route.elsewhere:
        told.append(f"{route.elsewhere} for other devices")
    if not route.counts:
        return f"none written for {device}, {', '.join(told)}"
    return ", ".join(told)


_WORDS = {
    Route.NATIVE: "native",
    Route.FAMILY: "by family code",
    Route.SAME_MAJOR: "by code for an older member of the major",
    Route.PTX_JIT: "by PTX JIT",
    Route.NONE: "without code that loads",
    Route.DEAD_CODE: "dead",
}


def _findings(routes: Sequence[FamilyRoute]) -> Iterator[Finding]:
    for route in routes:
        if route.family == OTHER:
            continue
        if route.route is Route.DEAD_CODE:
            traps = sum(o.instructions for o in route.opcodes if o.route is Route.DEAD_CODE)
            dead = sum(c.kernels for c in route.counts if c.route is Route.DEAD_CODE)
            loaded = route.kernels + dead
            yield _finding(
                "deliver/dead-code",
                Severity.ERROR if route.promised else Severity.WARNING,
                route,
                f"{route.title}: {dead} of the {plural(loaded, 'kernel')} that load only trap "
                f"({traps:,} traps in place of matrix work)",
            )
        elif route.route is Route.NONE:
            severity = Severity.ERROR if route.promised else Severity.INFO
            message = f"{route.title}: nothing that this device loads"
            yield _finding("deliver/no-kernel-image", severity, route, message)
        elif route.jit:
            message = f"{route.title}: compiled from PTX by the driver at first use"
            yield _finding("deliver/ptx-jit", Severity.WARNING, route, message)


def _finding(rule: str, severity: Severity, route: FamilyRoute, message: str) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        confidence=Confidence.SHOWN,
        message=message,
        subject=route.family,
        evidence=route.evidence,
    )
