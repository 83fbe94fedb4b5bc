"""The loader's choice: which entry of a container a device takes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sparkproof.core.capability import Arch, ComputeCapability
from sparkproof.core.delivery import Route
from sparkproof.core.observations.device_code import CodeKind, Entry
from sparkproof.facts.loading import LoadRule, Needs

Preference = tuple[int, int, int]
"""How much a device wants an entry, lowest first; entries that can't load come last."""

_LOADS, _NAMES = 0, 1
_NOT_AT_ALL: Preference = (2, 0, 0)


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The entry taken (-1 for none), by which route and rule ("" for none)."""

    index: int
    route: Route
    rule: str = ""


NO_CHOICE = Choice(-1, Route.NONE)


def choose_entry(
    entries: Sequence[Entry], device: ComputeCapability, rules: Sequence[LoadRule]
) -> Choice:
    """The entry that `device` takes: lowest rank first, then the newest architecture.

    Pure and stable: among equals the first entry wins.
    """
    ranked = [(preference(entry, device, rules), index) for index, entry in enumerate(entries)]
    best, index = min(ranked, default=(_NOT_AT_ALL, -1))
    if best[0] != _LOADS:
        return NO_CHOICE
    rule = loading_rule(entries[index], device, rules)
    return Choice(index, rule.route, rule.id) if rule else NO_CHOICE


def preference(entry: Entry, device: ComputeCapability, rules: Sequence[LoadRule]) -> Preference:
    """Orders the entries of one container: loadable ones first, as the loader would.

    Behind them come those that can at least name the kernels: the newest cubin, then PTX.
    """
    rule = loading_rule(entry, device, rules)
    if rule:
        return (_LOADS, rule.rank, -entry.arch.number)
    if entry.kind is CodeKind.LTO_IR:
        return _NOT_AT_ALL
    return (_NAMES, int(entry.kind is not CodeKind.CUBIN), -entry.arch.number)


def loading_rule(
    entry: Entry, device: ComputeCapability, rules: Sequence[LoadRule]
) -> LoadRule | None:
    """The best rule by which `device` loads `entry`; None if it can't."""
    fitting = (
        rule
        for rule in rules
        if rule.kind is entry.kind
        and entry.arch.suffix in rule.suffixes
        and _stands(rule.needs, entry.arch, device)
    )
    return min(fitting, key=lambda rule: rule.rank, default=None)


class PayloadChoice:
    """Which payload of each container to keep while its entries pass by."""

    def __init__(self, device: ComputeCapability, rules: Sequence[LoadRule]) -> None:
        self._device = device
        self._rules = rules
        self._best = _NOT_AT_ALL

    def __call__(self, index: int, entry: Entry) -> bool:
        """Whether this one beats all before it in its container."""
        if index == 0:
            self._best = _NOT_AT_ALL
        key = preference(entry, self._device, self._rules)
        if key >= self._best:
            return False
        self._best = key
        return True


def _stands(needs: Needs, arch: Arch, device: ComputeCapability) -> bool:
    target = arch.capability
    if needs is Needs.EXACT:
        return target == device
    if needs is Needs.SAME_MAJOR:
        return target.major == device.major and target.minor <= device.minor
    return target <= device
