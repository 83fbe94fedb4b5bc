"""The arithmetic by which vLLM's build matches kernel architectures with the user's list.

Re-stated from ``cuda_archs_loose_intersection`` in cmake/utils.cmake (read in the sdists of
vLLM 0.19.1 and 0.33.0, 2026-11-29) and checked against CMake itself on both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from sparkproof.core.capability import ComputeCapability

_PTX = "+PTX"
_ARCH = re.compile(r"(?P<major>\d{1,4})\.(?P<minor>\d)(?P<suffix>[af]?)(?P<ptx>\+PTX)?\Z")


class Arch(NamedTuple):
    """``12.0f`` taken apart."""

    major: int
    minor: int
    suffix: str
    ptx: bool


def read_arch(text: str) -> Arch | None:
    """One entry of an architecture list, None for anything else."""
    match = _ARCH.match(text)
    if match is None:
        return None
    return Arch(int(match["major"]), int(match["minor"]), match["suffix"], bool(match["ptx"]))


def split_list(text: str) -> tuple[str, ...]:
    """Entries of ``TORCH_CUDA_ARCH_LIST``: separated by spaces or semicolons."""
    return tuple(part for part in re.split(r"[\s;,]+", text) if part)


def loose_intersection(
    wanted: Iterable[str], given: Iterable[str], *, exact_first: bool = True
) -> tuple[str, ...]:
    """What a kernel that wants `wanted` is compiled for, where the user gave `given`.

    Args:
        exact_first: resolve entries of the same number before families look for a member
            (0.33.0), and take each entry of the user's once; without it as in 0.19.1.
    """
    ptx = {item.removesuffix(_PTX) for item in wanted if item.endswith(_PTX)}
    # CMake moves the entries that asked for PTX to the end of the list.
    plain = [item for item in wanted if not item.endswith(_PTX)]
    plain += [item.removesuffix(_PTX) for item in wanted if item.endswith(_PTX)]
    source, target = list(dict.fromkeys(plain)), list(given)
    found: list[str] = []
    suffixed = _exact_first if exact_first else _one_pass
    suffixed(source, target, found)
    _keep_suffixes(source, target, found, exact_first=exact_first)
    source.sort(key=_natural)
    for item in target:
        best = ""
        for candidate in source:
            if _version(candidate) > _version(item):
                break
            if candidate in ptx or _major(candidate) == _major(item):
                best = candidate
        if best:
            found.append(best)
    return tuple(item + _PTX if item in ptx else item for item in dict.fromkeys(found))


def _exact_first(source: list[str], target: list[str], found: list[str]) -> None:
    for item in list(source):
        base = _base(item)
        if base != item and base in target:
            source.remove(item)
            target[:] = [t for t in target if t not in (base, f"{base}a", f"{base}f")]
            found.append(item)
    for item in list(source):
        if _base(item) != item:
            source.remove(item)
            _other_suffix(item, target, found)


def _one_pass(source: list[str], target: list[str], found: list[str]) -> None:
    original = list(target)
    for item in list(source):
        base = _base(item)
        if base == item:
            continue
        source.remove(item)
        if base in original:
            target[:] = [t for t in target if t != base]
            found.append(item)
        else:
            _other_suffix(item, target, found)


def _other_suffix(item: str, target: list[str], found: list[str]) -> None:
    """The same number with another suffix, or for a family any member of it."""
    base = _base(item)
    taken = next((t for t in (f"{base}a", f"{base}f") if t in target), "")
    if not taken and item.endswith("f"):
        taken = next((t for t in target if _major(t) == _major(item)), "")
    if taken:
        target[:] = [t for t in target if t != taken]
        found.append(taken)


def _keep_suffixes(
    source: list[str], target: list[str], found: list[str], *, exact_first: bool
) -> None:
    """``12.1a`` of the user's with ``12.1`` wanted gives ``12.1a``."""
    for item in list(target):
        base = _base(item)
        if base != item and base in source:
            target[:] = [t for t in target if t != item]
            found.append(item)
            if not exact_first or base not in target:
                source.remove(base)


def _base(item: str) -> str:
    return item.rstrip("af")


def _major(item: str) -> str:
    return item.split(".", maxsplit=1)[0]


def _version(item: str) -> tuple[int, ...]:
    """As CMake compares versions: whatever is no number ends the comparison."""
    return tuple(int(part) for part in re.findall(r"\d+", _base(item)))


def _natural(item: str) -> tuple[int, int, str]:
    parts = [*_version(item), 0, 0]
    return parts[0], parts[1], item


def runs_on(arch: str, capability: ComputeCapability) -> bool:
    """Whether code for an entry runs on a device, compiled by the driver where it is PTX."""
    found = read_arch(arch)
    if found is None:
        return False
    same = (found.major, found.minor) == (capability.major, capability.minor)
    if found.suffix == "a":
        return same
    same_major = found.major == capability.major and found.minor <= capability.minor
    older = (found.major, found.minor) <= (capability.major, capability.minor)
    return same_major or (found.ptx and not found.suffix and older)
