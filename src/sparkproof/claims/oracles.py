"""Probes of selection functions: members, lists, flag values, device rules."""

from __future__ import annotations

from sparkproof.claims.material import told, untold
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.claims import Told
from sparkproof.core.condition import EnvTest, Leaf, Supports, Tri, compare, evaluate
from sparkproof.core.observations.release_surface import (
    Decision,
    Oracle,
    Predicate,
    ReleaseSurface,
)
from sparkproof.facts.claim_probes import (
    AutoBefore,
    AutoOrder,
    BackendInAuto,
    BackendInEnum,
    CliValue,
    DeviceRule,
)

_METHODS = ("is_supported", "is_supported_config", "validate_configuration")


def missing_oracle(surface: ReleaseSurface, oracle_id: str) -> Told:
    """Why there is no such oracle."""
    topic = f"select/{oracle_id}"
    unknown = next((item for item in surface.unknowns if item.topic == topic), None)
    if unknown is not None:
        return untold(f"{unknown.where}: {unknown.why}")
    return untold(f"no selection function {oracle_id} was read")


def backend_in_enum(surface: ReleaseSurface, probe: BackendInEnum) -> Told:
    """Members of the enumeration."""
    oracle = surface.oracle(probe.oracle)
    if oracle is None:
        return missing_oracle(surface, probe.oracle)
    if not oracle.members:
        return untold(f"{oracle.source.path}: {probe.oracle} has no enumeration that was read")
    found = next((item for item in oracle.members if item.name == probe.backend), None)
    names = ", ".join(item.name for item in oracle.members if not item.alias_of)
    place = (found or oracle.members[0]).source.evidence(f"members: {names}")
    no = f"{probe.backend} is no member"
    return told(found is not None, probe.expect, f"{probe.backend} is a member", no, place)


def _list(surface: ReleaseSurface, oracle_id: str) -> Oracle | Told:
    oracle = surface.oracle(oracle_id)
    if oracle is None:
        return missing_oracle(surface, oracle_id)
    if not oracle.listed:
        return untold(f"{oracle.source.path}: {oracle_id} has no list that was read")
    return oracle


def backend_in_auto(surface: ReleaseSurface, probe: BackendInAuto) -> Told:
    """The release's own list of candidates."""
    oracle = _list(surface, probe.oracle)
    if isinstance(oracle, Told):
        return oracle
    shown = " > ".join(oracle.listed)
    found = probe.backend in oracle.listed
    place = oracle.source.evidence(shown)
    rank = f"number {oracle.listed.index(probe.backend) + 1}" if found else ""
    yes = f"{probe.backend} is {rank} of {len(oracle.listed)} candidates"
    return told(found, probe.expect, yes, f"{probe.backend} is no candidate: {shown}", place)


def auto_before(surface: ReleaseSurface, probe: AutoBefore) -> Told:
    """The order of two candidates."""
    oracle = _list(surface, probe.oracle)
    if isinstance(oracle, Told):
        return oracle
    shown = " > ".join(oracle.listed)
    place = oracle.source.evidence(shown)
    absent = [name for name in (probe.first, probe.second) if name not in oracle.listed]
    if absent:
        return told(False, probe.expect, "", f"{' and '.join(absent)}: no candidate", place)
    ordered = oracle.listed.index(probe.first) < oracle.listed.index(probe.second)
    yes, no = f"{probe.first} first", f"{probe.second} stands before {probe.first}"
    return told(ordered, probe.expect, yes, no, place)


def auto_order(surface: ReleaseSurface, probe: AutoOrder) -> Told:
    """The whole list."""
    oracle = _list(surface, probe.oracle)
    if isinstance(oracle, Told):
        return oracle
    shown = " > ".join(oracle.listed)
    same = oracle.listed == probe.order
    return told(same, probe.expect, shown, shown, oracle.source.evidence("the list"))


def cli_value(surface: ReleaseSurface, probe: CliValue) -> Told:
    """Values of the flag that the oracle translates."""
    oracle = surface.oracle(probe.oracle)
    if oracle is None:
        return missing_oracle(surface, probe.oracle)
    if not oracle.cli:
        if oracle.flag and surface.option(oracle.flag) is None:
            no = f"there is no {oracle.flag}"
            return told(False, probe.expect, "", no, oracle.source.evidence(no))
        return untold(f"{oracle.source.path}: no table of {oracle.flag} values was read")
    found = next((item for item in oracle.cli if item.name == probe.value), None)
    names = ", ".join(item.name for item in oracle.cli)
    place = (found or oracle.cli[0]).source.evidence(f"values: {names}")
    targets = ", ".join(found.targets) if found else ""
    no = f"{probe.value} is no value here: {names}"
    return told(found is not None, probe.expect, f"{probe.value} stands for {targets}", no, place)


class _Device:
    """Knows the capability, and takes the environment as empty; nothing else."""

    def __init__(self, surface: ReleaseSurface, capability: ComputeCapability) -> None:
        self.surface = surface
        self.capability = capability

    def leaf(self, item: Leaf) -> Tri:
        """Classes are asked in turn; whatever is not the device stays open."""
        if isinstance(item, EnvTest):
            return self._variable(item)
        if not isinstance(item, Supports):
            return Tri.UNKNOWN
        predicate = self.surface.predicate(item.implementation, item.method)
        if predicate is None:
            return Tri.UNKNOWN
        answers = {decision.accepts for decision in self.possible(predicate)}
        return Tri.of(answers.pop()) if len(answers) == 1 else Tri.UNKNOWN

    def _variable(self, item: EnvTest) -> Tri:
        if item.op == "set":
            return Tri.NO
        found = next((one for one in self.surface.env if one.name == item.name), None)
        if found is None:
            return Tri.UNKNOWN
        return Tri.of(compare(found.default, item.op, item.value))

    def possible(self, predicate: Predicate) -> list[Decision]:
        """Decisions that may be the one, up to the first that certainly is."""
        found = []
        for decision in predicate.decisions:
            answer = evaluate(decision.when, self)
            if answer is not Tri.NO:
                found.append(decision)
            if answer is Tri.YES:
                break
        return found


def device_rule(surface: ReleaseSurface, probe: DeviceRule) -> Told:
    """What a class says of a capability, packages and layers aside."""
    wanted = (probe.method,) if probe.method else _METHODS
    found = (surface.predicate(probe.implementation, method) for method in wanted)
    predicate = next((item for item in found if item is not None), None)
    if predicate is None:
        return untold(f"no rule of a class {probe.implementation} was read")
    capability = ComputeCapability.parse(probe.capability)
    possible = _Device(surface, capability).possible(predicate)
    accepts = [decision for decision in possible if decision.accepts]
    decided = (accepts or possible or list(predicate.decisions))[0]
    place = decided.source.evidence(decided.reason or f"{predicate.method} says yes")
    if accepts:
        seen = f"{probe.implementation} takes {probe.capability}"
    else:
        seen = f"{probe.implementation} refuses {probe.capability}: {decided.reason or 'no reason'}"
    expected = (probe.expect == "accepts") is bool(accepts)
    return Told(Tri.of(expected), seen, (place,))
