"""The device that a log was written on, beside the one that a proof is about."""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.observations.boot_log import BootLog
from sparkproof.core.results.proof import Agreement

DEVICE, OTHER_DEVICE = "device", "another device"
_PLATFORM = "cuda"
"""What every device is that a proof can be about."""
_NEAR = 0.05
"""Relative difference of two boxes' reported memory, by what firmware and system keep."""
_WORD = re.compile(r"[a-z]+")
_TOTALS = ("device_total_gib", "refused_total_gib")


class ExpectedDevice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The device of a proof.

    Attributes:
        capability: as ``12.1``.
        total_gib: memory that it reports; None where no boot has shown it.
    """

    title: str
    capability: str
    total_gib: float | None = None


def compare_device(expected: ExpectedDevice, boot: BootLog) -> Agreement:
    """One row: another platform, capability or size of memory is another device.

    A platform alone agrees with every device of it: then the log does not say.
    """
    platform, capability = _platform(boot), _text(boot, "device_capability")
    total = next((v for name in _TOTALS if (v := boot.number_of(name)) is not None), None)
    name = _text(boot, "device_name")
    observed = ", ".join(
        filter(None, (name or platform, capability, f"{total:.2f} GiB" if total else ""))
    )
    predicted = expected.title + (f", {expected.total_gib:.2f} GiB" if expected.total_gib else "")
    near = _near(total, expected.total_gib)
    if (
        platform not in ("", _PLATFORM)
        or capability not in ("", expected.capability)
        or near is False
    ):
        likely = f"{OTHER_DEVICE} than the one that was proven"
        return Agreement(DEVICE, predicted, observed, False, likely)
    if capability or near:
        return Agreement(DEVICE, predicted, observed, True)
    return Agreement(DEVICE, predicted, observed, None, "the log does not say")


def _near(total: float | None, expected: float | None) -> bool | None:
    if not total or not expected:
        return None
    return abs(total - expected) <= _NEAR * expected


def _platform(boot: BootLog) -> str:
    """``cuda`` of ``cuda``, ``device(type='cuda')`` or ``cuda:0``; "" where nothing tells."""
    told = _text(boot, "platform") or boot.argument("device_config") or ""
    words = [word for word in _WORD.findall(told.lower()) if word not in ("device", "type")]
    return words[0] if words and words[0] not in ("auto", "none") else ""


def _text(boot: BootLog, name: str) -> str:
    value = boot.first(name)
    return str(value) if value is not None else ""
