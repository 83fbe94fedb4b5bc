"""What ``fit`` answers."""

from __future__ import annotations

import msgspec

from sparkproof.core.memory_plan import KvPlan, MemoryPlan


class Solved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One knob, solved with the others held.

    Attributes:
        knob: flag or quantity.
        question: what it was solved for.
        value: the answer as it is typed ("" where nothing works).
        number: the answer as a number, 0 where nothing works.
    """

    knob: str
    question: str
    value: str
    number: float


class Alternative(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same pool under another flag.

    Attributes:
        change: what differs.
        tokens, concurrency: as this release prints them.
        sequences: requests of the asked length.
    """

    change: str
    blocks: int
    tokens: int
    concurrency: float
    sequences: int


class StartStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One start on a shared box."""

    name: str
    requested_bytes: int
    resident_bytes: int
    free_bytes: int
    passes: bool


class FitResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The pool, the budget and the answers.

    Attributes:
        checkpoint, drafter: as named by the user.
        version: vLLM version asked for.
        device: device and its memory, GiB.
        pool_origin: where the pool's bytes are from.
        arguments: whose reading of the vLLM arguments it rests on.
        plan: the pool under the release's rules, under the older neighbour's where the release
            was not examined.
        neighbour: the pool under the newer neighbour's rules, where they differ.
        low, high: the pool at the ends of the interval, where its bytes are estimated.
        memory: the budget; null where the weights are not known.
        starts: order of starting on a shared box.
    """

    checkpoint: str
    architecture: str
    version: str
    device: str
    device_memory_gib: float
    pool_origin: str
    plan: KvPlan
    neighbour: KvPlan | None = None
    low: KvPlan | None = None
    high: KvPlan | None = None
    memory: MemoryPlan | None = None
    solved: tuple[Solved, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    starts: tuple[StartStep, ...] = ()
    drafter: str = ""
    arguments: str = ""


DOCUMENTS = {"fit": FitResult}
