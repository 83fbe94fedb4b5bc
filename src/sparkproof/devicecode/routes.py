"""From an inventory to the route of every kernel family on one device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.delivery import NOT_WORKING, FamilyRoute, OpcodeSum, Route, RouteCount
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.device_code import (
    CodeKind,
    Container,
    DeviceCode,
    Entry,
    Kernel,
    Library,
    LibraryForm,
    Opcodes,
)
from sparkproof.devicecode.families import Membership, family_book
from sparkproof.devicecode.loader import choose_entry
from sparkproof.facts.kernel_family import OTHER, KernelFamily, Role, kernel_families
from sparkproof.facts.loading import load_rules, opcodes

_BEST_FIRST = list(Route)
_LOADED_FORMS = (LibraryForm.LIBRARY, LibraryForm.FATBIN)
_OTHER_TITLE = "kernels of no known family"


class _Seen(msgspec.Struct, frozen=True):
    """One kernel in one place, with the route that it gets there."""

    member: Membership
    kernel: Kernel
    route: Route
    arch: str
    library: str
    offset: int


def route_families(code: DeviceCode, device: ComputeCapability) -> tuple[FamilyRoute, ...]:
    """The route of each family found in `code`, by family id, `OTHER` last.

    Archives, objects and relocatable code are inputs of a link and count for nothing here; of
    byte-identical copies of a library, one counts.

    Args:
        code: read for the same `device`.
    """
    grouped: dict[str, list[_Seen]] = defaultdict(list)
    for seen in _walk(code, device):
        grouped[seen.member.family].append(seen)
    known = {family.id: family for family in kernel_families()}
    return tuple(
        _route(family, known.get(family), grouped[family], device)
        for family in sorted(grouped, key=lambda name: (name == OTHER, name))
    )


def without_copies(code: DeviceCode) -> Iterator[Library]:
    """Libraries, leaving out each that repeats another's device code byte for byte in place."""
    seen: set[tuple[int, tuple[tuple[int, tuple[Entry, ...]], ...]]] = set()
    for library in code.libraries:
        layout = tuple((container.offset, container.entries) for container in library.containers)
        key = (library.size_bytes, layout)
        if key not in seen:
            seen.add(key)
            yield library


def _walk(code: DeviceCode, device: ComputeCapability) -> Iterator[_Seen]:
    for library in without_copies(code):
        if library.form in _LOADED_FORMS:
            for container in library.containers:
                if not container.relocatable:
                    yield from _container(library.path, container, device)
    for loose in code.loose:
        route, arch = _choice([loose.entry], device)
        members = family_book().sort([kernel.name for kernel in loose.kernels], loose.path)
        for member, kernel in zip(members, loose.kernels, strict=True):
            yield _Seen(member, kernel, _proven(kernel, route), arch, loose.path, -1)


def _container(path: str, container: Container, device: ComputeCapability) -> Iterator[_Seen]:
    route, arch = _choice(container.entries, device)
    members = family_book().sort([kernel.name for kernel in container.kernels])
    for member, kernel in zip(members, container.kernels, strict=True):
        yield _Seen(member, kernel, _proven(kernel, route), arch, path, container.offset)


def _choice(entries: Sequence[Entry], device: ComputeCapability) -> tuple[Route, str]:
    choice = choose_entry(entries, device, load_rules())
    if choice.index < 0:
        return Route.NONE, ""
    entry = entries[choice.index]
    prefix = "compute" if entry.kind is CodeKind.PTX else "sm"
    return choice.route, f"{prefix}_{entry.arch.short}"


def _proven(kernel: Kernel, route: Route) -> Route:
    """Dead code is a body that was tested, traps, and multiplies nothing."""
    tested = kernel.opcodes
    if route is Route.NONE or tested is None or tested.mma or not tested.trap:
        return route
    return Route.DEAD_CODE


def _route(
    family_id: str,
    family: KernelFamily | None,
    seen: list[_Seen],
    device: ComputeCapability,
) -> FamilyRoute:
    own = [one for one in seen if not one.member.majors or device.major in one.member.majors]
    foreign = [one for one in seen if one.member.majors and device.major not in one.member.majors]
    dead_foreign = [one for one in foreign if one.route is Route.DEAD_CODE]
    counted = own + dead_foreign
    return FamilyRoute(
        family=family_id,
        title=family.title if family else _OTHER_TITLE,
        role=(family.role if family else Role.HELPER).value,
        route=_overall(own, dead_foreign),
        promised=any(device.major in one.member.majors for one in own)
        or bool(family and family.essential),
        counts=_counts(counted),
        elsewhere=len(foreign) - len(dead_foreign),
        opcodes=_opcode_sums(counted),
        libraries=tuple(sorted({one.library for one in seen})),
        evidence=_evidence(counted),
    )


def _overall(own: list[_Seen], dead_foreign: list[_Seen]) -> Route:
    routes = {one.route for one in own}
    if Route.DEAD_CODE in routes:
        return Route.DEAD_CODE
    working = [route for route in routes if route not in NOT_WORKING]
    if working:
        return max(working, key=_BEST_FIRST.index)
    return Route.DEAD_CODE if dead_foreign else Route.NONE


def _counts(seen: list[_Seen]) -> tuple[RouteCount, ...]:
    names: dict[tuple[Route, str], list[str]] = defaultdict(list)
    for one in seen:
        names[one.route, one.arch].append(one.kernel.name)
    ordered = sorted(names.items(), key=lambda item: (_BEST_FIRST.index(item[0][0]), item[0][1]))
    return tuple(
        RouteCount(route, arch, len(found), len(set(found))) for (route, arch), found in ordered
    )


def _opcode_sums(seen: list[_Seen]) -> tuple[OpcodeSum, ...]:
    instructions: dict[tuple[Route, str, str], int] = defaultdict(int)
    kernels: dict[tuple[Route, str, str], int] = defaultdict(int)
    for one in seen:
        for name, count in _classes(one.kernel.opcodes).items():
            instructions[one.route, one.arch, name] += count
            kernels[one.route, one.arch, name] += 1
    return tuple(
        OpcodeSum(route, arch, name, count, kernels[route, arch, name])
        for (route, arch, name), count in sorted(instructions.items())
    )


def _classes(counted: Opcodes | None) -> dict[str, int]:
    if counted is None:
        return {}
    trap = next(opcode.name for opcode in opcodes() if not opcode.mma)
    return counted.mma | ({trap: counted.trap} if counted.trap else {})


def _evidence(seen: list[_Seen]) -> tuple[Evidence, ...]:
    """One place for each route and architecture: the first container in the order of files."""
    first: dict[tuple[Route, str], _Seen] = {}
    for one in sorted(seen, key=lambda one: (one.library, one.offset)):
        first.setdefault((one.route, one.arch), one)
    return tuple(
        Evidence(
            where=one.library,
            what=f"{route.value}{f' through {arch}' if arch else ''}: {one.kernel.name[:120]}",
            offset=one.offset,
        )
        for (route, arch), one in sorted(first.items())
    )
