"""Capabilities and architecture labels."""

from __future__ import annotations

import pytest

from sparkproof.core.capability import Arch, ComputeCapability
from sparkproof.core.errors import UsageError


@pytest.mark.parametrize(
    ("label", "number", "suffix", "capability"),
    [
        ("sm_121", 121, "", "12.1"),
        ("sm_120f", 120, "f", "12.0"),
        ("compute_90a", 90, "a", "9.0"),
        ("lto_80", 80, "", "8.0"),
    ],
)
def test_labels(label: str, number: int, suffix: str, capability: str) -> None:
    arch = Arch.parse(label)
    assert (arch.number, arch.suffix, str(arch.capability)) == (number, suffix, capability)
    assert str(arch) == f"sm_{number}{suffix}"
    assert ComputeCapability.parse(capability).number == number


@pytest.mark.parametrize("text", ["", "sm_", "sm_1", "sm_1200x", "sm_120b", "12.1", "sm_120f\nx"])
def test_other_labels_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no architecture label"):
        Arch.parse(text)


@pytest.mark.parametrize(
    "text", ["", "12", "12.", "a.b", "12.10", "1.2.3", "-1.0", "\uff11\uff12.1"]
)
def test_other_capabilities_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"major\.minor|no compute capability"):
        ComputeCapability.parse(text)


def test_capabilities_are_ordered() -> None:
    texts = ["12.1", "9.0", "10.3", "12.0"]
    assert sorted(map(ComputeCapability.parse, texts)) == [
        ComputeCapability(9, 0),
        ComputeCapability(10, 3),
        ComputeCapability(12, 0),
        ComputeCapability(12, 1),
    ]
