"""What people reported of a release, backend and device: dated, counted by device class."""

from __future__ import annotations

from datetime import date
from enum import StrEnum

import msgspec


class Effect(StrEnum):
    """What was seen."""

    WORKS = "works"
    SLOW = "slow"
    WRONG = "wrong"
    """Answers are wrong, garbled or empty."""
    CRASHES = "crashes"
    REFUSES = "refuses"
    """vLLM does not start."""


BAD_EFFECTS = frozenset({Effect.WRONG, Effect.CRASHES, Effect.REFUSES})
"""What stands in the way of serving; slow only costs."""


class DeviceClass(StrEnum):
    """How near a device's field reports are to a GB10; never presented as the same."""

    GB10 = "gb10"
    SM12X = "sm12x"
    OTHER = "other"


class FieldReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One place where it was reported.

    Attributes:
        source: thread, page or log, precise enough to look it up again.
        date: of the report, as precise as it is known: ``2026-08`` or ``2026-08-14``.
        device: class of the device it was seen on.
        seen: what was seen there, in a line.
    """

    source: str
    date: str
    device: DeviceClass
    seen: str


class FieldRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing known about a pick, with who reported it.

    Attributes:
        id: ``family/slug``.
        effect: what happens.
        cause: as far as it is known ("" where it isn't).
        releases: it was seen in, as a PEP 440 specifier ("" for unknown or all).
        certain: the thread settled on it; else it is an open report.
        reports: at least one.
    """

    id: str
    title: str
    effect: Effect
    cause: str
    remedy: str
    releases: str
    certain: bool
    checked: date
    reports: tuple[FieldReport, ...]

    @property
    def bad(self) -> bool:
        """It speaks against the pick."""
        return self.effect in BAD_EFFECTS

    def count(self, device: DeviceClass) -> int:
        """How many of its reports come from that class of device."""
        return sum(report.device is device for report in self.reports)
