"""Distributions, by the regularised incomplete beta function: binomial tails, Student's t.

The continued fraction is evaluated as W. Lentz proposed (Applied Optics 1976). Against exact
rational sums it is good to 1e-10 for up to 1,000 trials, and to 1e-9 for 100,000 (tests hold it to
that).
"""

from __future__ import annotations

import math
from functools import lru_cache

_STEPS = 2_000
_TINY = 1e-300
_CLOSE = 1e-15
_HALVINGS = 100


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for positive `a` and `b`."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast only below its mean
        return 1.0 - _lower_share(b, a, 1.0 - x)
    return _lower_share(a, b, x)


def _lower_share(a: float, b: float, x: float) -> float:
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front += a * math.log(x) + b * math.log1p(-x)
    return min(1.0, math.exp(front) / (a * _fraction(a, b, x)))


def _fraction(a: float, b: float, x: float) -> float:
    """The denominator's continued fraction, by Lentz's method."""
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, _STEPS):
        half = step // 2
        if step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + step - 1) * (a + step))
        else:
            term = half * (b - half) * x / ((a + step - 1) * (a + step))
        d = 1.0 / (1.0 + term * d or _TINY)
        c = 1.0 + term / c or _TINY
        value *= c * d
        if abs(c * d - 1.0) < _CLOSE:
            break
    return value


def binomial_at_least(k: int, n: int, p: float) -> float:
    """The chance of `k` or more successes in `n` trials."""
    if k <= 0:
        return 1.0
    return beta_share(k, n - k + 1, p) if k <= n else 0.0


def binomial_chance(k: int, n: int, p: float) -> float:
    """The chance of exactly `k` successes in `n` trials."""
    if p <= 0.0 or p >= 1.0:
        return float(k == (n if p >= 1.0 else 0))
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))


@lru_cache(maxsize=256)
def t_quantile(share: float, degrees: int) -> float:
    """Student's t: the value that `share` (0.5 to 1) of the distribution lies below.

    Raises:
        ValueError: no degrees of freedom, or a share outside.
    """
    if degrees < 1 or not 0.5 <= share < 1.0:
        raise ValueError(f"no quantile {share} of Student's t with {degrees} degrees of freedom")
    tails = 2.0 * (1.0 - share)
    low, high = 0.0, 1.0  # of degrees / (degrees + t squared), in which the tails rise
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if beta_share(degrees / 2, 0.5, middle) < tails:
            low = middle
        else:
            high = middle
    x = (low + high) / 2
    return math.sqrt(degrees * (1.0 - x) / x)
