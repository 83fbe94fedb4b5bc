"""Payload of ``sparkproof compare``: pairs of receipts, what differs, and what follows."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.identities import Identities
from sparkproof.core.results.bench import Spread


class Relation(StrEnum):
    """What can be said about two results."""

    BECAUSE = "because"
    CANNOT_ATTRIBUTE = "cannot-attribute"
    NO_DIFFERENCE = "no-difference"
    NOT_COMPARABLE = "not-comparable"
    UNEXPLAINED = "unexplained"
    NO_SPREAD = "no-spread"


class Figure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One figure of a result.

    Attributes:
        where: the cell, e.g. ``answer, 6000 deep, 1 at once``.
        higher_is_better: false for times.
    """

    where: str
    name: str
    spread: Spread
    unit: str = ""
    higher_is_better: bool = True


class Measured(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One result as comparison sees it, whatever command it is of.

    Attributes:
        receipt: beginning of its digest.
        sound: its own verdict says that it is a measurement.
        loaded: other traffic ran beside.
    """

    receipt: str
    command: str
    created_at: str
    sound: bool
    loaded: bool
    identities: Identities
    figures: tuple[Figure, ...] = ()


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One identity in which two results differ; "" where one of them does not state it."""

    role: str
    first: str
    second: str


class FigureChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One figure of both.

    Attributes:
        ratio: second by first.
        beyond: further apart than both spreads together.
    """

    where: str
    name: str
    first: Spread
    second: Spread
    ratio: float
    beyond: bool
    better: bool | None = None
    unit: str = ""


class Pair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two results.

    Attributes:
        chosen: chosen identities that differ, `unstated` ones that either side leaves open.
        derived: what changed with them: how it came about, where there is one cause.
        because: the one chosen identity, where there is one.
        experiments: measurements that would tell.
    """

    first: str
    second: str
    relation: Relation
    reason: str
    chosen: tuple[Difference, ...] = ()
    unstated: tuple[str, ...] = ()
    derived: tuple[Difference, ...] = ()
    changes: tuple[FigureChange, ...] = ()
    because: str = ""
    experiments: tuple[str, ...] = ()


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Each result against the first one."""

    measured: tuple[Measured, ...]
    pairs: tuple[Pair, ...]


DOCUMENTS = {"compare": Comparison}
