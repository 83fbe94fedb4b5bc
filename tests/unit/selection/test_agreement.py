"""Backends that real GB10 boots logged, beside what is predicted from shipped surfaces."""

from __future__ import annotations

import pytest
from benchmarks.selection_agreement import AGREE, DISAGREE, Boot, load_boots, predictions

from sparkproof.facts.surfaces import shipped_surfaces

SHIPPED = [
    boot for boot in load_boots() if boot.between and set(boot.between) <= set(shipped_surfaces())
]


def test_most_boots_can_be_asked_of_shipped_surfaces() -> None:
    assert len(SHIPPED) >= 7


@pytest.mark.parametrize("boot", SHIPPED, ids=lambda boot: boot.id)
def test_a_logged_backend_is_predicted_or_the_difference_is_explained(boot: Boot) -> None:
    for observed in boot.observed:
        found = predictions(boot, observed)
        assert found, observed.role
        answer = AGREE if observed.backend in found else DISAGREE
        assert (answer == DISAGREE) is bool(observed.explained), (observed, found)
