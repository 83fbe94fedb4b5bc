"""The loader's choice, as documented: one table for GB10 and its neighbours."""

from __future__ import annotations

import pytest

from sparkproof.core.capability import Arch, ComputeCapability
from sparkproof.core.delivery import Route
from sparkproof.core.observations.device_code import CodeKind, Entry
from sparkproof.devicecode.loader import PayloadChoice, choose_entry
from sparkproof.facts.loading import load_rules


def entries(text: str) -> list[Entry]:
    """``sm_120f ptx_80 lto_120``: cubins, PTX, LTO-IR."""
    kinds = {"sm": CodeKind.CUBIN, "ptx": CodeKind.PTX, "lto": CodeKind.LTO_IR}
    return [
        Entry(kind=kinds[kind], arch=Arch.parse(f"sm_{arch}"))
        for kind, arch in (word.split("_") for word in text.split())
    ]


@pytest.mark.parametrize(
    ("device", "container", "index", "route"),
    [
        ("12.1", "sm_121", 0, Route.NATIVE),
        ("12.1", "sm_121a", 0, Route.NATIVE),
        ("12.1", "sm_121f", 0, Route.NATIVE),
        ("12.1", "sm_120f", 0, Route.FAMILY),
        ("12.1", "sm_120", 0, Route.SAME_MAJOR),
        ("12.1", "sm_120a", -1, Route.NONE),
        ("12.1", "sm_100f sm_103a sm_110 sm_90a sm_90", -1, Route.NONE),
        ("12.1", "ptx_80", 0, Route.PTX_JIT),
        ("12.1", "ptx_121a", 0, Route.PTX_JIT),
        ("12.1", "ptx_120f", 0, Route.PTX_JIT),
        ("12.1", "ptx_120a", -1, Route.NONE),
        ("12.1", "ptx_90a ptx_100f ptx_103a", -1, Route.NONE),
        ("12.1", "lto_120 lto_121", -1, Route.NONE),
        ("12.1", "", -1, Route.NONE),
        ("12.1", "sm_120 ptx_121 sm_120f sm_121", 3, Route.NATIVE),
        ("12.1", "ptx_80 sm_120 sm_120f", 2, Route.FAMILY),
        ("12.1", "sm_120a ptx_80 ptx_90 ptx_120", 3, Route.PTX_JIT),
        ("12.1", "sm_80 sm_90 ptx_80 sm_120", 3, Route.SAME_MAJOR),
        ("12.0", "sm_121 sm_121f", -1, Route.NONE),
        ("12.0", "sm_120a sm_120", 0, Route.NATIVE),
        ("12.0", "ptx_121", -1, Route.NONE),
        ("9.0", "sm_80 sm_90a ptx_80", 1, Route.NATIVE),
        ("9.0", "sm_80 ptx_80", 1, Route.PTX_JIT),
        ("8.9", "sm_80 sm_86", 1, Route.SAME_MAJOR),
        ("8.0", "sm_86", -1, Route.NONE),
        ("10.3", "sm_100f sm_100a", 0, Route.FAMILY),
        ("10.0", "sm_103f", -1, Route.NONE),
        ("11.0", "sm_100f ptx_100", 1, Route.PTX_JIT),
    ],
)
def test_choice(device: str, container: str, index: int, route: Route) -> None:
    choice = choose_entry(entries(container), ComputeCapability.parse(device), load_rules())
    assert (choice.index, choice.route) == (index, route)


@pytest.mark.parametrize(
    ("container", "kept"),
    [
        ("sm_80 sm_120 sm_90", 1),
        ("sm_80 ptx_80 sm_120f", 2),
        ("ptx_120a sm_90 sm_100a", 2),
        ("ptx_90a ptx_100a", 1),
        ("lto_120", -1),
    ],
)
def test_the_payload_kept_is_the_chosen_one_or_the_best_to_name(container: str, kept: int) -> None:
    choice = PayloadChoice(ComputeCapability(12, 1), load_rules())
    found = -1
    for index, entry in enumerate(entries(container)):
        if choice(index, entry):
            found = index
    assert found == kept


def test_the_next_container_starts_anew() -> None:
    choice = PayloadChoice(ComputeCapability(12, 1), load_rules())
    assert choice(0, entries("sm_121")[0])
    assert choice(0, entries("sm_80")[0])


def test_every_rule_is_dated_and_of_a_known_source() -> None:
    for rule in load_rules():
        assert rule.source
        assert rule.title
        assert rule.checked.year >= 2026
