"""Which events of a kernel's log can belong to the end of one boot.

The kernel counts processes of the whole machine and a container counts its own, and their clocks
may be set to different zones. So an equal process number is proof, another one is none; and times
are compared as they stand first, then with their zones apart.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from sparkproof.core.observations.boot_log import BootLog, Outcome
from sparkproof.formats.kernel_log import KernelEvent
from sparkproof.formats.stamps import parse_moment, seconds_after

_SLACK_S = 120.0
_NOTICED_S = 600.0
"""A front end may notice late that its engine is gone; it never notices early."""
_ZONE_STEP_S = 900.0
_ZONE_STEPS = 14 * 4
_LOUD = frozenset({Outcome.FAILED, Outcome.DIED})


class Fit(Enum):
    """How an event's time lies to the boot's end."""

    OWN = "own"
    POSSIBLE = "possible"
    """With another zone, or without a time at all."""
    FOREIGN = "foreign"


class Ending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What else is known of the end.

    Attributes:
        killed: the container ended by SIGKILL or is flagged as taken by the OOM killer.
        finished: when its container ended, as the engine prints it ("" for unknown).
    """

    killed: bool = False
    finished: str = ""


def is_own(event: KernelEvent, boot: BootLog, ending: Ending) -> bool:
    """Whether an event may be told as this boot's."""
    fit = fit_of(event, boot, ending)
    if not event.victim or fit is not Fit.POSSIBLE:
        return fit is not Fit.FOREIGN
    return event.victim in boot.pids or ending.killed


def fit_of(event: KernelEvent, boot: BootLog, ending: Ending) -> Fit:
    """How the event's time lies to the boot's end."""
    at = parse_moment(event.at)
    if at is None:
        return Fit.POSSIBLE
    end = parse_moment(ending.finished)
    if end is not None and end.has_zone and at.has_zone:
        return Fit.OWN if abs(seconds_after(end, at)) <= _SLACK_S else Fit.FOREIGN
    loud = boot.outcome in _LOUD
    first = parse_moment(boot.started_at if loud else boot.last_at)
    last = parse_moment(boot.last_at)
    if first is None or last is None:
        return Fit.POSSIBLE
    after_first = seconds_after(first, at)
    after_last = seconds_after(last, at) if loud else float("-inf")
    for step in range(_ZONE_STEPS + 1):
        for shift in (step * _ZONE_STEP_S, -step * _ZONE_STEP_S):
            if after_first + shift >= -_SLACK_S and after_last + shift <= _NOTICED_S:
                return Fit.POSSIBLE if step else Fit.OWN
    return Fit.FOREIGN
