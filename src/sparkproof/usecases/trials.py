"""Which changes to a deployment are worth trying, and what speaks against each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkproof.core.field_report import DeviceClass, FieldRecord
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.proof import Branch
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.facts.backend import Speed
from sparkproof.facts.fallback import Fallback, fallbacks
from sparkproof.facts.field_records import ways_around
from sparkproof.usecases.outcomes import reports_of
from sparkproof.usecases.prove.branch import Look

_NOT_NATIVE = (Speed.WEIGHT_ONLY.value, Speed.EMULATION.value)


def reported_here(
    look: Look, branches: Iterable[Branch], arguments: SelectionArgs, device: DeviceClass
) -> dict[FieldRecord, tuple[str, ...]]:
    """What was reported against the very picks on this class of device, with the layer classes."""
    found: dict[FieldRecord, dict[str, None]] = {}
    for branch in branches:
        for layer in branch.layers:
            for record in reports_of(look, layer, arguments, device):
                if record.bad and record.count(device):
                    found.setdefault(record, {})[layer.subject] = None
    return {record: tuple(subjects) for record, subjects in found.items()}


def applicable(fallback: Fallback, surface: ReleaseSurface) -> bool:
    """Whether the release has every flag and variable of it."""
    return all(surface.option(flag) for flag in fallback.flags) and all(
        name in surface.env_names for name in fallback.variables
    )


def named_ways(records: Iterable[FieldRecord], surface: ReleaseSurface) -> tuple[Fallback, ...]:
    """The changes that the reports themselves name, as far as the release has them."""
    named = {way.id: way for record in records for way in ways_around(record)}
    return tuple(way for way in named.values() if applicable(way, surface))


def general_ways(surface: ReleaseSurface) -> tuple[Fallback, ...]:
    """The changes that may be tried on any deployment: those that keep kernels native first."""
    found = (item for item in fallbacks() if not item.named_only)
    return tuple(item for item in found if applicable(item, surface))


def given_up(branches: Sequence[Branch]) -> int:
    """How many picks of the worse branch compute in another format than their weights have."""
    counts = (sum(layer.speed in _NOT_NATIVE for layer in branch.layers) for branch in branches)
    return max(counts, default=0)
