"""Laws of the judgement: no order matters, twice is once, and a sure token always counts."""

from __future__ import annotations

import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.gates.test_ab_judge import MUTE, RIGHT, SAME, SURE, TIE, WRONG, judged, pair

from sparkproof.core.results.ab import AbOutcome, AbPair
from sparkproof.gates.ab_judge import derive

_RANK = [
    AbOutcome.NO_DIFFERENCE,
    AbOutcome.HARMLESS,
    AbOutcome.INCONCLUSIVE,
    AbOutcome.CORRUPTS,
]


def pairs_of(arm: int, most: int) -> st.SearchStrategy[list[AbPair]]:
    one = st.builds(
        pair,
        st.integers(0, most - 1),
        st.sampled_from([SAME, TIE, MUTE]),
        arm=st.just(arm),
        cell=st.integers(0, 1),
        first=st.sampled_from([RIGHT, WRONG]),
        second=st.sampled_from([RIGHT, WRONG]),
    )
    return st.lists(one, max_size=12, unique_by=lambda p: (p.cell, p.task))


@settings(max_examples=40)
@given(pairs_of(1, 20), pairs_of(0, 4), st.randoms(use_true_random=False))
def test_the_order_of_pairs_does_not_matter_and_twice_is_once(
    odd: list[AbPair], noise: list[AbPair], shuffler: random.Random
) -> None:
    treatment, result = judged(*odd, *noise)
    assert derive(result) == result
    mixed = list(result.pairs)
    shuffler.shuffle(mixed)
    again = derive(msgspec.structs.replace(result, pairs=tuple(mixed))).treatments[0]
    assert (again.outcome, again.cells, again.detectable) == (
        treatment.outcome,
        treatment.cells,
        treatment.detectable,
    )


@settings(max_examples=40)
@given(pairs_of(1, 19), pairs_of(0, 4))
def test_a_sure_token_replaced_is_never_excused(odd: list[AbPair], noise: list[AbPair]) -> None:
    before, _ = judged(*odd, *noise)
    after, _ = judged(*odd, *noise, pair(19, SURE))
    assert after.outcome is AbOutcome.CORRUPTS
    assert _RANK.index(after.outcome) >= _RANK.index(before.outcome)
