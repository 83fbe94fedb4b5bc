"""How many prompts see a corruption of a given rate, and what a count of differences says.

Everything is exact for its model; nothing is simulated or taken from a table.

- Shares: C. Clopper and E. Pearson, Biometrika 1934.
- Paired answers, right or wrong: the sign test on the pairs that differ (Q. McNemar, Psychometrika
  1947, in its exact form), one-sided: only a treatment that is worse counts.
- Difference of paired proportions: the share of differing pairs by Clopper-Pearson, times the
  direction among them by Clopper-Pearson given their number, each at the square root of the level.
  Wider than the score interval of R. Newcombe (Statistics in Medicine 1998), but it keeps its level
  for every rate and size, also at no difference at all.
- Speed: Student's t on the logarithms of the ratios of paired rounds.

An alpha or level is a probability, a rate a share of prompts between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sparkproof.core.ab import Interval, SpeedRatio
from sparkproof.gates.exact import beta_share, binomial_at_least, binomial_chance, t_quantile

ALPHA = 0.05
POWER = 0.9
LEVEL = 0.95
PROMPTS_LIMIT = 100_000
"""Nobody asks more; a smaller rate is answered by `None`."""

_HALVINGS = 60
_FAR = 8.0
_CLOSE = 1e-9


def power_at(n: int, rate: float, alpha: float = ALPHA, noise: float = 0.0) -> float:
    """The chance that `n` prompts show a corruption of `rate`.

    Args:
        n: prompts asked of both arms.
        rate: share of prompts that the treatment gets wrong in addition to the noise.
        alpha: false alarms allowed; without noise there are none, and it plays no part.
        noise: share of prompts that come out differently when the control is asked twice, half of
            them to the worse. At 0 one difference is enough; above 0 the sign test decides.
    """
    rate = min(rate, 1.0 - noise)
    if noise <= 0.0:
        return 1.0 if rate >= 1.0 and n else -math.expm1(n * math.log1p(-rate)) if n else 0.0
    differing = noise + rate
    to_the_worse = (noise / 2 + rate) / differing
    mean, spread = n * differing, math.sqrt(n * differing * (1.0 - differing))
    first = max(0, math.floor(mean - _FAR * spread - _FAR))
    last = min(n, math.ceil(mean + _FAR * spread + _FAR))
    total, critical = 0.0, 0
    for m in range(first, last + 1):
        critical = _critical(m, alpha, critical)
        chance = binomial_chance(m, n, differing)
        if critical <= m and chance > 0.0:
            total += chance * binomial_at_least(critical, m, to_the_worse)
    return min(1.0, total)


def _critical(m: int, alpha: float, start: int) -> int:
    """The smallest number out of `m` that the sign test at `alpha` calls worse; never falls in m.

    `m + 1` where none is enough.
    """
    k = start
    while k <= m and binomial_at_least(k, m, 0.5) > alpha:
        k += 1
    return k


def prompts_needed(
    rate: float, power: float = POWER, alpha: float = ALPHA, noise: float = 0.0
) -> int | None:
    """How many prompts detect a corruption of `rate` with `power`: 230 for 1 % with 90 %.

    The power at the number returned is at least `power` exactly; with noise it wavers a little
    beyond, since counts are whole. None where `PROMPTS_LIMIT` prompts are too few.

    Raises:
        ValueError: a rate, power or alpha that is not between 0 and 1, or noise beyond what a rate
            leaves room for.
    """
    _check_plan(rate, power, alpha, noise)
    if rate + noise > 1.0:
        raise ValueError(f"noise {noise} leaves no room for a rate of {rate}")
    high = 1
    while power_at(high, rate, alpha, noise) < power:
        if high >= PROMPTS_LIMIT:
            return None
        high = min(PROMPTS_LIMIT, 2 * high)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if power_at(middle, rate, alpha, noise) >= power:
            high = middle
        else:
            low = middle
    return high


def detectable_rate(
    n: int, power: float = POWER, alpha: float = ALPHA, noise: float = 0.0
) -> float | None:
    """The smallest corruption rate that `n` prompts would have shown with `power`.

    None where no rate would have been seen (no prompts, or too few against the noise).

    Raises:
        ValueError: as `prompts_needed`.
    """
    _check_plan(0.5, power, alpha, noise)
    low, high = 0.0, 1.0 - noise
    if n < 1 or power_at(n, high, alpha, noise) < power:
        return None
    if noise <= 0.0:
        return -math.expm1(math.log1p(-power) / n)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if high - low < _CLOSE:
            break
        if power_at(n, middle, alpha, noise) >= power:
            high = middle
        else:
            low = middle
    return high


def _check_plan(rate: float, power: float, alpha: float, noise: float) -> None:
    for name, value in (("rate", rate), ("power", power), ("alpha", alpha)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} {value} is not between 0 and 1")
    if not 0.0 <= noise < 1.0:
        raise ValueError(f"noise {noise} is not between 0 and 1")


def clopper_pearson(k: int, n: int, level: float = LEVEL) -> Interval:
    """The share behind `k` of `n`, two-sided; 0 to 1 where `n` is 0.

    Raises:
        ValueError: `k` is not within 0 to `n`, or `level` not between 0 and 1.
    """
    tail = (1.0 - level) / 2
    return Interval(low=at_least(k, n, 1.0 - tail), high=at_most(k, n, 1.0 - tail), level=level)


def at_most(k: int, n: int, level: float = LEVEL) -> float:
    """The one-sided upper bound: with 0 of 230 at most 1.3 % (level 0.95).

    Raises:
        ValueError: as `clopper_pearson`.
    """
    return 1.0 - at_least(n - k, n, level)


def at_least(k: int, n: int, level: float = LEVEL) -> float:
    """The one-sided lower bound.

    Raises:
        ValueError: as `clopper_pearson`.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no share")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level {level} is not between 0 and 1")
    if k == 0:
        return 0.0
    if k == n:
        return float(math.exp(math.log1p(-level) / n))
    low, high = 0.0, k / n  # the chance of k or more rises with the share
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if beta_share(k, n - k + 1, middle) > 1.0 - level:
            high = middle
        else:
            low = middle
    return low


def mcnemar_p(worse: int, better: int) -> float:
    """How often chance alone gives `worse` or more of the pairs that differ (one-sided, exact).

    Args:
        worse: pairs in which the control is right and the treatment wrong.
        better: the other way round.
    """
    return binomial_at_least(worse, worse + better, 0.5)


def paired_difference(worse: int, better: int, n: int, level: float = LEVEL) -> Interval:
    """The control's accuracy less the treatment's; positive is a loss.

    Args:
        worse, better: pairs that differ, as in `mcnemar_p`.
        n: all pairs.
        level: kept for every true rate.

    Raises:
        ValueError: more pairs differ than there are.
    """
    each = math.sqrt(level)
    differing = clopper_pearson(worse + better, n, each)
    direction = clopper_pearson(worse, worse + better, each)
    down, up = 2 * direction.low - 1.0, 2 * direction.high - 1.0
    return Interval(
        low=down * (differing.low if down > 0 else differing.high),
        high=up * (differing.high if up > 0 else differing.low),
        level=level,
    )


def speed_ratio(pairs: Sequence[tuple[float, float]], level: float = LEVEL) -> SpeedRatio | None:
    """The treatment's speed over the control's.

    The rounds are taken as independent and their log ratios as normal. Let arms take turns in going
    first (A B, B A), or a drift of the machine counts as a difference.

    Args:
        pairs: control and treatment of each round, in the same unit (tokens/s, not seconds).
        level: of the interval.

    Returns:
        None without a round.

    Raises:
        ValueError: a speed is not a positive number.
    """
    if any(not 0.0 < value < math.inf for pair in pairs for value in pair):
        raise ValueError("a speed is not a positive number")
    n = len(pairs)
    if not n:
        return None
    logs = [math.log(treatment) - math.log(control) for control, treatment in pairs]
    mean = math.fsum(logs) / n
    if n == 1:
        return SpeedRatio(ratio=math.exp(mean), interval=None, rounds=1)
    variance = math.fsum((x - mean) ** 2 for x in logs) / (n - 1)
    half = t_quantile((1.0 + level) / 2, n - 1) * math.sqrt(variance / n)
    half = min(half, 600.0)  # the exponential of more is no number
    interval = Interval(low=math.exp(mean - half), high=math.exp(mean + half), level=level)
    return SpeedRatio(ratio=math.exp(mean), interval=interval, rounds=n)
