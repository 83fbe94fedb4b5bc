"""Ways on from candidates that do not prove, or whose kernels are reported against. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from sparkproof.core.field_report import FieldRecord
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.facts.fallback import Fallback
from sparkproof.usecases.reported import count_by_device
from sparkproof.usecases.suggest.lines import Wishes
from sparkproof.usecases.trials import general_ways, named_ways


def ways_out(plain: Sequence[Wishes], surface: ReleaseSurface) -> Iterator[Wishes]:
    """The same with each fallback that the release has the flags for."""
    for item in general_ways(surface):
        why = f"what is selected by itself does not prove: {item.title}"
        yield from (_with(wish, item, why) for wish in plain)


def ways_around(
    wishes: Wishes, records: Iterable[FieldRecord], surface: ReleaseSurface
) -> Iterator[Wishes]:
    """The same without the kernels that were reported against on this class of device."""
    if wishes.fallback or wishes.variables:
        return
    for record in records:
        told = f"{record.title} ({count_by_device(record)})"
        for item in named_ways((record,), surface):
            yield _with(wishes, item, f"what is selected by itself is reported against: {told}")


def _with(wishes: Wishes, way: Fallback, why: str) -> Wishes:
    return msgspec.structs.replace(
        wishes, fallback=way.arguments, variables=way.variables, fallback_reason=why
    )
