"""Packages that compile kernels at run time: what is prebuilt, and which tools the rest needs."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.delivery import ArchCount, JitPart, Route
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.device_code import CodeKind, DeviceCode, Entry
from sparkproof.core.ports import Member
from sparkproof.devicecode.loader import choose_entry
from sparkproof.facts.jit_package import JitPackage, jit_packages
from sparkproof.facts.loading import load_rules


def find_jit_parts(
    members: Sequence[Member], code: DeviceCode, device: ComputeCapability
) -> tuple[JitPart, ...]:
    """All known packages among `members`, by id.

    Args:
        code: read from the same artifact, in either mode.
    """
    paths = [member.path for member in members]
    return tuple(
        part
        for package in jit_packages()
        if (part := _part(package, paths, code, device)) is not None
    )


def _part(
    package: JitPackage, paths: Sequence[str], code: DeviceCode, device: ComputeCapability
) -> JitPart | None:
    markers = _pattern(package.markers)
    marker = next((path for path in paths if markers.match(path)), None)
    if marker is None:
        return None
    sources = _pattern(package.sources)
    return JitPart(
        package=package.id,
        title=package.title,
        tools=package.tools,
        sources=sum(1 for path in paths if sources.match(path)),
        prebuilt=_prebuilt(_entries(code, _pattern(package.prebuilt)), device),
        evidence=(Evidence(where=marker, what=package.title),),
    )


def _entries(code: DeviceCode, wanted: re.Pattern[str]) -> Iterator[Entry]:
    """Loose files one by one; of a library, each architecture once."""
    for loose in code.loose:
        if wanted.match(loose.path):
            yield loose.entry
    for library in code.libraries:
        if wanted.match(library.path):
            entries = {
                (entry.kind, entry.arch): entry
                for container in library.containers
                if not container.relocatable
                for entry in container.entries
            }
            yield from entries.values()


def _prebuilt(entries: Iterator[Entry], device: ComputeCapability) -> tuple[ArchCount, ...]:
    counts: Counter[str] = Counter()
    routes: dict[str, Route] = {}
    for entry in entries:
        prefix = "compute" if entry.kind is CodeKind.PTX else "sm"
        label = f"{prefix}_{entry.arch.short}"
        counts[label] += 1
        if label not in routes:
            routes[label] = choose_entry([entry], device, load_rules()).route
    return tuple(ArchCount(label, counts[label], routes[label]) for label in sorted(counts))


def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """An alternation that matches nothing where there are no patterns."""
    return re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")
