"""Whether what a backend needs reaches the device: one need, one answer."""

from __future__ import annotations

from collections.abc import Mapping

from sparkproof.core.delivery import NOT_WORKING, FamilyRoute, Route
from sparkproof.core.deployment import Box
from sparkproof.core.results.proof import Delivery
from sparkproof.core.verdict import Verdict
from sparkproof.facts.backend import Means, Need

JIT_CACHE = "flashinfer-jit-cache"


def judge_need(
    need: Need, routes: Mapping[str, FamilyRoute] | None, box: Box, *, complete: bool
) -> Delivery:
    """Judge one need.

    Args:
        routes: of the artifact's families on the device, by id; None where there is no artifact.
        box: with nvcc and ninja stated.
        complete: all of the artifact's device code could be read, so that what was not found
            is not there.
    """
    if need.means is Means.FAMILY:
        if routes is None:
            return _unread(need)
        return _family(need, routes.get(need.family), complete=complete)
    if need.means is Means.NVCC:
        return _compiled(need, box)
    if need.means is Means.BUNDLED_COMPILER:
        reason = f"compiled at first use by {need.provider}, which brings its own compiler"
        return _other(need, Verdict.PASS, reason)
    reason = f"in {need.provider}, which is not part of this artifact"
    return _other(need, Verdict.SKIPPED, reason)


def _unread(need: Need) -> Delivery:
    return Delivery(
        what=need.what,
        means=need.means.value,
        name=need.family,
        verdict=Verdict.SKIPPED,
        reason="not known without an artifact: name one with --artifact",
    )


def _other(need: Need, verdict: Verdict, reason: str, *, warning: bool = False) -> Delivery:
    return Delivery(
        what=need.what,
        means=need.means.value,
        name=need.provider,
        verdict=verdict,
        reason=reason,
        warning=warning,
    )


def _compiled(need: Need, box: Box) -> Delivery:
    missing = [tool for tool in need.tools if not getattr(box, tool)]
    if not missing:
        tools = " and ".join(need.tools)
        reason = f"compiled at first use by {need.provider} with {tools}"
        return _other(need, Verdict.PASS, reason, warning=True)
    if JIT_CACHE in box.packages:
        reason = f"may be prebuilt in {JIT_CACHE}, which was not examined"
        return _other(need, Verdict.INCONCLUSIVE, reason)
    tools = " and no ".join(missing)
    reason = f"{need.provider} compiles it at first use, and the box has no {tools}"
    return _other(need, Verdict.FAIL, reason)


def _family(need: Need, route: FamilyRoute | None, *, complete: bool) -> Delivery:
    if route is None:
        verdict = Verdict.FAIL if complete else Verdict.INCONCLUSIVE
        gap = "" if complete else ", but not everything could be read"
        return Delivery(
            what=need.what,
            means=need.means.value,
            name=need.family,
            verdict=verdict,
            reason=f"no {need.family} kernels in the artifact{gap}",
            route=Route.NONE.value,
        )
    works = route.route not in NOT_WORKING
    return Delivery(
        what=need.what,
        means=need.means.value,
        name=need.family,
        verdict=Verdict.PASS if works else Verdict.FAIL,
        reason=_ROUTE_WORDS[route.route],
        route=route.route.value,
        kernels=route.kernels,
        archs=_archs(route, working=works),
        warning=works and route.jit,
        evidence=route.evidence,
    )


def _archs(route: FamilyRoute, *, working: bool) -> tuple[str, ...]:
    counts = [item for item in route.counts if (item.route not in NOT_WORKING) is working]
    return tuple(dict.fromkeys(item.arch for item in counts if item.arch))


_ROUTE_WORDS = {
    Route.NATIVE: "machine code for this device",
    Route.FAMILY: "machine code for the device's family",
    Route.SAME_MAJOR: "machine code of the same major capability",
    Route.PTX_JIT: "PTX, compiled by the driver at first load",
    Route.NONE: "nothing in the artifact loads on this device",
    Route.DEAD_CODE: "the symbols load, their bodies only trap",
}
