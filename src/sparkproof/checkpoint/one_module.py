"""One answer for what vLLM builds as one module: all routed experts of a layer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sparkproof.checkpoint.declared import Declared
from sparkproof.checkpoint.layout import Module
from sparkproof.core.observations.checkpoint_profile import Activations, QuantScheme

DIFFER = "its projections are declared differently, and vLLM builds them as one"

Reading = tuple[Module, Declared]


def with_one_answer(readings: Sequence[Reading]) -> list[Reading]:
    """The readings, with no scheme for experts whose projections are declared differently."""
    kinds: dict[str, set[tuple[str, ...]]] = {}
    for module, said in readings:
        if module.routed:
            kinds.setdefault(module.routed, set()).add(_kind(said))
    split = {name for name, found in kinds.items() if len(found) > 1}
    return [(m, _without_scheme(said) if m.routed in split else said) for m, said in readings]


def _kind(said: Declared) -> tuple[str, ...]:
    return (said.scheme, said.activations, said.detail, said.variant)


def _without_scheme(said: Declared) -> Declared:
    return msgspec.structs.replace(
        said,
        scheme=QuantScheme.UNKNOWN,
        activations=Activations.UNKNOWN,
        detail=DIFFER,
        variant="",
    )
