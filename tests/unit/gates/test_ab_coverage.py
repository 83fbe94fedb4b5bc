"""Coverage, power and false alarms counted out over every outcome there is, and speed simulated."""

from __future__ import annotations

import math
import random

import pytest

from sparkproof.gates.ab_statistics import (
    clopper_pearson,
    mcnemar_p,
    paired_difference,
    power_at,
    speed_ratio,
)

_LEVEL = 0.95


def _chance(n: int, worse: int, better: int, p: float, q: float) -> float:
    ways = math.comb(n, worse) * math.comb(n - worse, better)
    return float(ways * p**worse * q**better * (1 - p - q) ** (n - worse - better))


def _outcomes(n: int) -> list[tuple[int, int]]:
    return [(worse, better) for worse in range(n + 1) for better in range(n + 1 - worse)]


@pytest.mark.parametrize("n", [7, 20, 60])
def test_a_share_is_covered_as_often_as_stated(n: int) -> None:
    intervals = [clopper_pearson(k, n, _LEVEL) for k in range(n + 1)]
    for p in (0.001, 0.01, 0.1, 0.33, 0.5, 0.97):
        covered = math.fsum(
            _chance(n, k, 0, p, 0.0)
            for k, interval in enumerate(intervals)
            if interval.low <= p <= interval.high
        )
        assert covered >= _LEVEL


@pytest.mark.parametrize("n", [6, 15])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_difference_is_covered_as_often_as_stated(n: int, level: float) -> None:
    intervals = {pair: paired_difference(*pair, n, level) for pair in _outcomes(n)}
    for p, q in ((0.0, 0.0), (0.01, 0.0), (0.1, 0.1), (0.3, 0.02), (0.02, 0.6), (0.9, 0.05)):
        covered = math.fsum(
            _chance(n, *pair, p, q)
            for pair, interval in intervals.items()
            if interval.low - 1e-12 <= p - q <= interval.high + 1e-12
        )
        assert covered >= level


@pytest.mark.parametrize(("noise", "rate"), [(0.1, 0.2), (0.02, 0.3), (0.3, 0.0)])
def test_power_is_what_all_outcomes_add_up_to(noise: float, rate: float) -> None:
    n, alpha = 24, 0.05
    seen = math.fsum(
        _chance(n, worse, better, noise / 2 + rate, noise / 2)
        for worse, better in _outcomes(n)
        if mcnemar_p(worse, better) <= alpha
    )
    assert power_at(n, rate, alpha, noise) == pytest.approx(seen, rel=1e-8)
    assert rate > 0 or seen <= alpha


@pytest.mark.parametrize("rounds", [2, 3, 6])
def test_a_ratio_is_covered_as_often_as_stated(rounds: int) -> None:
    pick, runs, held = random.Random(5), 1500, 0
    for _ in range(runs):
        pairs = [
            (100 * math.exp(pick.gauss(0, 0.1)), 127 * math.exp(pick.gauss(0, 0.1)))
            for _ in range(rounds)
        ]
        found = speed_ratio(pairs, _LEVEL)
        assert found is not None
        assert found.interval is not None
        held += found.interval.low <= 1.27 <= found.interval.high
    error = 3 * math.sqrt(_LEVEL * (1 - _LEVEL) / runs)
    assert abs(held / runs - _LEVEL) <= error
