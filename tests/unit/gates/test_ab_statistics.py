"""Numbers that can be checked by hand, from tables, or with whole fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sparkproof.gates.ab_statistics import (
    at_most,
    clopper_pearson,
    detectable_rate,
    mcnemar_p,
    paired_difference,
    power_at,
    prompts_needed,
    speed_ratio,
)
from sparkproof.gates.exact import beta_share, binomial_at_least, t_quantile


@pytest.mark.parametrize(("rate", "prompts"), [(0.01, 230), (0.05, 45), (0.001, 2302), (0.5, 4)])
def test_prompts_that_a_corruption_needs(rate: float, prompts: int) -> None:
    assert prompts_needed(rate) == prompts
    assert 1 - (1 - rate) ** prompts >= 0.9 > 1 - (1 - rate) ** (prompts - 1)
    seen = detectable_rate(prompts)
    assert seen is not None
    assert seen <= rate


def test_noise_makes_it_dear() -> None:
    clean, noisy = prompts_needed(0.05), prompts_needed(0.05, noise=0.02)
    assert clean is not None
    assert noisy is not None
    assert noisy > 3 * clean
    assert power_at(noisy, 0.05, noise=0.02) >= 0.9
    assert prompts_needed(0.0001, noise=0.02) is None


def test_too_few_prompts_see_nothing() -> None:
    assert detectable_rate(0) is None
    assert detectable_rate(3, noise=0.02) is None  # three worse of three are chance, at 5 %
    assert power_at(0, 0.5) == 0.0
    assert power_at(1, 1.0) == 1.0


@pytest.mark.parametrize("plan", [(0.0, 0.9, 0.05, 0), (0.1, 1.0, 0.05, 0), (0.6, 0.9, 0.05, 0.5)])
def test_a_plan_that_is_none(plan: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError):
        prompts_needed(*plan)


def test_the_sign_test() -> None:
    # n-gram speculation in the field: 20 of 20 extractions right without, 0 of 20 with it
    assert mcnemar_p(20, 0) == pytest.approx(2.0**-20, rel=1e-9)
    assert mcnemar_p(0, 0) == 1.0
    assert mcnemar_p(1, 0) == 0.5
    assert mcnemar_p(3, 1) == pytest.approx(5 / 16)


def test_the_difference_of_paired_answers() -> None:
    lost = paired_difference(20, 0, 20)
    assert lost.low > 0.48
    assert lost.high == 1.0
    same = paired_difference(0, 0, 230)
    assert -0.019 < same.low < 0 < same.high < 0.019


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(0, 20, 0.0, 0.1684335), (3, 10, 0.0667395, 0.6524529), (20, 20, 0.8315665, 1.0)],
)
def test_clopper_pearson_as_in_tables(k: int, n: int, low: float, high: float) -> None:
    found = clopper_pearson(k, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-7)


def test_shares_at_the_edge() -> None:
    assert at_most(0, 230) == pytest.approx(1 - 0.05 ** (1 / 230))
    nothing = clopper_pearson(0, 0)
    assert (nothing.low, nothing.high) == (0.0, 1.0)
    with pytest.raises(ValueError, match="3 of 2"):
        clopper_pearson(3, 2)
    with pytest.raises(ValueError, match="level"):
        clopper_pearson(1, 2, 1.0)


@pytest.mark.parametrize(("k", "n"), [(1, 1), (3, 7), (40, 50), (700, 1000)])
@pytest.mark.parametrize("p", [Fraction(1, 100), Fraction(1, 3), Fraction(7, 10)])
def test_binomial_tails_against_whole_fractions(k: int, n: int, p: Fraction) -> None:
    exact = sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))
    assert binomial_at_least(k, n, float(p)) == pytest.approx(float(exact), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("half", [500, 5_000, 49_999])
def test_large_tails_keep_their_symmetry(half: int) -> None:
    upper = binomial_at_least(half + 1, 2 * half + 1, 0.5)  # an odd number of fair coins
    assert upper == pytest.approx(0.5, rel=1e-9)
    assert beta_share(half, half, 0.5) == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("share", "degrees", "value"),
    [(0.975, 1, 12.7062047), (0.975, 2, 4.3026527), (0.975, 30, 2.0422725), (0.9, 3, 1.6377444)],
)
def test_students_t_as_in_tables(share: float, degrees: int, value: float) -> None:
    assert t_quantile(share, degrees) == pytest.approx(value, abs=1e-6)
    assert t_quantile(0.5, degrees) == pytest.approx(0.0, abs=1e-7)


def test_speed() -> None:
    found = speed_ratio([(100.0, 127.0), (98.0, 126.0), (101.0, 128.0)])
    assert found is not None
    assert found.interval is not None
    assert 1.2 < found.interval.low < 1.27 < found.ratio < 1.28 < found.interval.high < 1.35
    assert speed_ratio([]) is None
    once = speed_ratio([(10.0, 20.0)])
    assert once is not None
    assert once.interval is None
    assert once.ratio == pytest.approx(2.0)
    with pytest.raises(ValueError, match="positive"):
        speed_ratio([(0.0, 1.0)])
