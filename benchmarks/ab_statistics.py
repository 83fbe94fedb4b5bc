"""The statistics of the A/B gate against simulation: coverage, power, false alarms, classes.

Every figure is a share of simulated runs with a fixed seed, beside what it should be and the
Monte-Carlo error (three standard errors). No server is asked.

    python -m benchmarks.ab_statistics [--runs 20000] [--out FILE]
"""

from __future__ import annotations

import argparse
import bisect
import datetime
import itertools
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sparkproof.core.ab import DivergenceClass
from sparkproof.gates.ab_divergence import compare_answers
from sparkproof.gates.ab_statistics import (
    ALPHA,
    LEVEL,
    POWER,
    clopper_pearson,
    detectable_rate,
    mcnemar_p,
    paired_difference,
    prompts_needed,
    speed_ratio,
)

Row = dict[str, Any]


class Token(NamedTuple):
    """As a record of an answer holds it."""

    id: int
    nats: float | None
    top: tuple[tuple[int, float], ...]


def share_of(runs: int, hit: Callable[[], bool]) -> tuple[float, float]:
    """The share of runs that hit, and three standard errors of it (never less than a few runs')."""
    share = sum(hit() for _ in range(runs)) / runs
    return share, max(3 * math.sqrt(share * (1 - share) / runs), 3 / runs)


@cache
def sums(n: int, p: float) -> tuple[float, ...]:
    """The chance of k successes or fewer in n trials, for every k, by whole numbers."""
    exact = Fraction(p)
    up, down = exact.numerator, exact.denominator - exact.numerator
    chances = [math.comb(n, k) * up**k * down ** (n - k) / exact.denominator**n for k in range(n)]
    return (*itertools.accumulate(chances), 1.0)


def binomial(pick: random.Random, n: int, p: float) -> int:
    """Successes in n trials."""
    return bisect.bisect_right(sums(n, p), pick.random()) if 0.0 < p < 1.0 else round(n * p)


def trinomial(pick: random.Random, n: int, worse: float, better: float) -> tuple[int, int]:
    """Prompts that come out worse, and better."""
    differing = binomial(pick, n, worse + better)
    down = binomial(pick, differing, worse / (worse + better)) if differing else 0
    return down, differing - down


def row(what: str, found: tuple[float, float], should: str, limit: float, **about: Any) -> Row:
    """One line of the result; `holds` allows for the Monte-Carlo error."""
    share, error = found
    high = should == "at most"
    holds = share - error <= limit if high else share + error >= limit
    return {
        "what": what,
        **about,
        "share": round(share, 5),
        "error": round(error, 5),
        "should_be": f"{should} {limit}",
        "holds": holds,
    }


def shares(pick: random.Random, runs: int) -> Iterator[Row]:
    """Does Clopper-Pearson hold the true share?"""
    interval = cache(clopper_pearson)
    for n in (20, 100, 230):
        for p in (0.002, 0.01, 0.05, 0.3, 0.9):

            def hit(n: int = n, p: float = p) -> bool:
                found = interval(binomial(pick, n, p), n)
                return found.low <= p <= found.high

            yield row("clopper-pearson", share_of(runs, hit), "at least", LEVEL, n=n, p=p)


def differences(pick: random.Random, runs: int) -> Iterator[Row]:
    """Does the interval of paired answers hold the true loss?"""
    interval = cache(paired_difference)
    for n in (20, 60, 230):
        for worse, better in ((0.0, 0.0), (0.01, 0.0), (0.05, 0.05), (0.3, 0.02), (0.95, 0.0)):

            def hit(n: int = n, worse: float = worse, better: float = better) -> bool:
                found = interval(*trinomial(pick, n, worse, better), n)
                return found.low <= worse - better + 1e-12 and found.high >= worse - better - 1e-12

            found = share_of(runs, hit)
            about = {"n": n, "worse": worse, "better": better}
            yield row("paired difference", found, "at least", LEVEL, **about)


def speeds(pick: random.Random, runs: int) -> Iterator[Row]:
    """Does the interval of a ratio hold it, with normal noise and with heavier tails?"""
    noises: dict[str, Callable[[], float]] = {
        "normal, 5 %": lambda: pick.gauss(0, 0.05),
        "normal, 30 %": lambda: pick.gauss(0, 0.3),
        "one round in ten is 5 times as noisy": lambda: pick.gauss(
            0, 0.25 if pick.random() < 0.1 else 0.05
        ),
    }
    for name, noise in noises.items():
        for rounds in (2, 3, 5, 10):

            def hit(rounds: int = rounds, noise: Callable[[], float] = noise) -> bool:
                pairs = [(100 * math.exp(noise()), 127 * math.exp(noise())) for _ in range(rounds)]
                found = speed_ratio(pairs)
                assert found is not None
                assert found.interval is not None
                return found.interval.low <= 1.27 <= found.interval.high

            found = share_of(runs, hit)
            yield row("speed ratio", found, "at least", LEVEL, rounds=rounds, noise=name)


def powers(pick: random.Random, runs: int) -> Iterator[Row]:
    """Is a corruption of the stated rate seen as often as stated, and none where there is none?"""
    p_value = cache(mcnemar_p)
    for rate, noise in ((0.01, 0.0), (0.05, 0.0), (0.05, 0.01), (0.05, 0.05), (0.1, 0.1)):
        n = prompts_needed(rate, noise=noise)
        assert n is not None
        seen = detectable_rate(n, noise=noise)
        assert seen is not None
        for true in (rate, seen, 0.0):

            def hit(n: int = n, true: float = true, noise: float = noise) -> bool:
                worse, better = trinomial(pick, n, noise / 2 + true, noise / 2)
                return worse > 0 if noise == 0 else p_value(worse, better) <= ALPHA

            about = {"n": n, "rate": round(true, 6), "noise": noise}
            found = share_of(runs, hit)
            if true:
                yield row("power", found, "at least", POWER, **about)
            else:
                yield row("false alarms", found, "at most", ALPHA if noise else 0.0, **about)


def classes(pick: random.Random, runs: int) -> Iterator[Row]:
    """What is called corruption where rounding alone moves the gap between two tokens?

    The gap in the control is even between 0 and 6 nats, which is where a flip could come from; the
    treatment's differs by a normal move. Only pairs that flip are judged. The last move is beyond
    what other kernels or FP8 were seen to do (a standard deviation of 0.5): there a sure token can
    flip, and scores have to decide.
    """
    for move in (0.05, 0.1, 0.2, 0.3, 0.5, 0.8):
        flips: list[DivergenceClass] = []
        while len(flips) < runs // 4:
            gap = pick.uniform(0, 6)
            after = gap - pick.gauss(0, move)
            if after < 0:
                flips.append(compare_answers([_token(1, gap)], [_token(2, -after)]).kind)
        called = flips.count(DivergenceClass.CORRUPTION) / len(flips)
        ties = flips.count(DivergenceClass.NEAR_TIE) / len(flips)
        found = (called, 3 / len(flips))
        about = {"move_nats": move, "near_tie": round(ties, 4), "flips": len(flips)}
        limit = 0.001 if move <= 0.5 else 1.0
        yield row("rounding called corruption", found, "at most", limit, **about)


def _token(token: int, gap: float) -> Token:
    """One of two tokens that share all probability, `gap` nats above its rival."""
    own = -math.log1p(math.exp(-gap))
    return Token(token, own, ((token, own), (3 - token, own - gap)))


_PARTS = (shares, differences, speeds, powers, classes)


def main() -> int:
    """Simulate all, print what does not hold, keep everything."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--runs", type=int, default=20_000)
    reader.add_argument("--seed", type=int, default=1)
    default = Path(__file__).parent / "results/ab_statistics.json"
    reader.add_argument("--out", type=Path, default=default)
    asked = reader.parse_args()
    rows = [found for part in _PARTS for found in part(random.Random(asked.seed), asked.runs)]
    kept = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "runs": asked.runs,
        "seed": asked.seed,
        "rows": rows,
    }
    asked.out.write_text(json.dumps(kept, indent=1) + "\n")
    broken = [found for found in rows if not found["holds"]]
    for found in broken:
        print(json.dumps(found))
    print(f"{len(rows) - len(broken)} of {len(rows)} figures hold")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
