"""Payloads of ``facts list``, ``show``, ``stale``, ``verify`` and ``matrix``."""

from __future__ import annotations

import msgspec

from sparkproof.core.claims import ClaimAnswer
from sparkproof.core.finding import Evidence


class ClaimRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One claim.

    Attributes:
        said: releases that its source says it of (PEP 440; "" for all, ``never`` for none).
        holds: releases in which it was found true.
        sources: document, section and date, one line each.
        checked: ISO date.
        probe: kinds of question that are asked, e.g. ``backend_in_auto``.
        now: what is the case where it does not hold.
    """

    id: str
    kind: str
    statement: str
    said: str
    holds: str
    sources: tuple[str, ...]
    checked: str
    probe: tuple[str, ...]
    about: tuple[str, ...] = ()
    now: str = ""


class ClaimAnswered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one artifact says of one claim.

    Attributes:
        as_booked: whether that is what our own book says of this release; null if untold, or if
            the release is older than those that the book speaks of.
        claimed: whether the source says it of this release.
        basis: ``artifact``, the release's shipped ``surface``, or the ``record`` of its wheel.
    """

    claim: ClaimRow
    answer: ClaimAnswer
    seen: str
    claimed: bool
    as_booked: bool | None
    basis: str
    evidence: tuple[Evidence, ...] = ()


class FactList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Claims, by family."""

    claims: tuple[ClaimRow, ...]


class ReleaseAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the wheel of one release said."""

    version: str
    answer: ClaimAnswer
    seen: str


class FactPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One claim with its history, oldest release first."""

    claim: ClaimRow
    probe: str
    history: tuple[ReleaseAnswer, ...]


class StaleRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One claim that wants attention, and why."""

    claim: ClaimRow
    why: str
    seen: str = ""


class FactStale(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Claims that the newest release contradicts, and those that somebody has to look at.

    Attributes:
        release: newest release with a record.
        outdated: published statements that are not true of it.
        old: claims that nothing static checks and that were last looked at long ago.
    """

    release: str
    outdated: tuple[StaleRow, ...]
    old: tuple[StaleRow, ...]


class FactVerification(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every claim put to one artifact."""

    version: str
    counts: dict[str, int]
    answers: tuple[ClaimAnswered, ...]


class MatrixRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One claim across releases.

    Attributes:
        answers: one a release, in the order of the matrix's releases.
    """

    claim: ClaimRow
    answers: tuple[ClaimAnswer, ...]


class FactMatrix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Claims by releases, from the records."""

    releases: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


DOCUMENTS = {
    "facts list": FactList,
    "facts show": FactPage,
    "facts stale": FactStale,
    "facts verify": FactVerification,
    "facts matrix": FactMatrix,
}
