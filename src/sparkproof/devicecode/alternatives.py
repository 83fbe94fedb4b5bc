"""Libraries of which one is loaded: what each has for a device, and the best of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.delivery import NOT_WORKING, Alternative, FamilyRoute, Route
from sparkproof.core.observations.device_code import DeviceCode, Library
from sparkproof.devicecode.routes import route_families
from sparkproof.facts.one_of_several import one_of_several

_WORST_FIRST = [route for route in reversed(Route) if route not in NOT_WORKING]


def choose_alternatives(
    code: DeviceCode, device: ComputeCapability
) -> tuple[DeviceCode, tuple[Alternative, ...]]:
    """The code that is counted, and every alternative with what it has.

    Kernels of libraries that are never loaded together don't add up: of each group the best for
    the device is counted, and of equals the newest.

    Args:
        code: read for the same `device`.
    """
    found: list[Alternative] = []
    for (chosen_by, name), group in _groups(code.libraries).items():
        lines = sorted(group)
        alone = (msgspec.structs.replace(code, libraries=(group[n],), loose=()) for n in lines)
        rows = [_look_at(item, name, device, chosen_by) for item in alone]
        best = max(range(len(rows)), key=lambda i: (*_rank(rows[i]), lines[i]))
        found += [msgspec.structs.replace(r, counted=i == best) for i, r in enumerate(rows)]
    passed_over = {item.library for item in found if not item.counted}
    counted = tuple(item for item in code.libraries if item.path not in passed_over)
    return msgspec.structs.replace(code, libraries=counted), tuple(found)


def _groups(libraries: Sequence[Library]) -> dict[tuple[str, str], dict[int, Library]]:
    """Alternatives by line, in groups by what decides among them and by name."""
    grouped: dict[tuple[str, str], dict[int, Library]] = defaultdict(dict)
    for library in libraries:
        for kind in one_of_several():
            named = kind.parse(library.path)
            if named is not None and library.containers:
                grouped[kind.chosen_by, named[0]][named[1]] = library
                break
    return {key: group for key, group in grouped.items() if len(group) > 1}


def _look_at(
    alone: DeviceCode, group: str, device: ComputeCapability, chosen_by: str
) -> Alternative:
    (library,) = alone.libraries
    routes = route_families(alone, device)
    return Alternative(
        library=library.path,
        group=group,
        toolkit=library.toolkit,
        kernels=sum(count.kernels for route in routes for count in route.counts),
        working=sum(route.kernels for route in routes),
        route=_worst(routes),
        chosen_by=chosen_by,
    )


def _worst(routes: Sequence[FamilyRoute]) -> Route:
    """The worst by which any kernel works, since any may be wanted; none where none does."""
    used = {count.route for route in routes for count in route.counts}
    return next((route for route in _WORST_FIRST if route in used), Route.NONE)


def _rank(item: Alternative) -> tuple[float, int]:
    share = item.working / item.kernels if item.kernels else 0.0
    return share, -list(Route).index(item.route)
