"""When requests are sent: closed loop (so many in flight) or open loop (so many a second)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.load_run import Cell, LoadPlan

MODES = ("answer", "thinking", "raw")
_MAX_STREAMS = 4096
_MAX_RATE = 10_000
_MAX_COUNT = 2_000_000


def make_plan(
    *,
    modes: Sequence[str],
    depths: Sequence[int],
    output: int,
    concurrencies: Sequence[int] = (),
    rates: Sequence[float] = (),
    requests: int = 0,
    repeats: int = 3,
) -> LoadPlan:
    """The grid: every mode, depth and load.

    Args:
        requests: per cell and repeat; 0 for as many as the load needs.

    Raises:
        UsageError: both loops at once, or figures that are none.
    """
    loads = _loads(concurrencies, rates)
    _check_sizes((*depths, output - 1, repeats, requests or 1))
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise UsageError(f"unknown mode `{unknown[0]}`", hint=f"one of {', '.join(MODES)}")
    cells = tuple(
        Cell(
            mode=mode,
            depth=depth,
            output=output,
            concurrency=concurrency,
            rate_per_s=rate,
            requests=requests or (2 * concurrency if concurrency > 1 else 3 if concurrency else 20),
        )
        for mode, depth, (concurrency, rate) in itertools.product(modes, depths, loads)
    )
    return LoadPlan(cells, repeats)


def _loads(concurrencies: Sequence[int], rates: Sequence[float]) -> list[tuple[int, float]]:
    """(streams, requests a second) of each, one of them 0."""
    if concurrencies and rates:
        raise UsageError(
            "closed and open loop in one run", hint="give --concurrency or --rate, not both"
        )
    if any(c < 1 or c > _MAX_STREAMS for c in concurrencies) or any(
        not 0 < r <= _MAX_RATE for r in rates
    ):
        raise UsageError(
            f"a load is 1 to {_MAX_STREAMS} streams, or a rate above 0 and up to {_MAX_RATE}",
            hint="e.g. --concurrency 1 --concurrency 8, or --rate 2",
        )
    return [(c, 0.0) for c in concurrencies] + [(0, r) for r in rates]


def _check_sizes(sizes: Sequence[int]) -> None:
    if not all(1 <= size <= _MAX_COUNT for size in sizes):
        raise UsageError(
            "depth, repeats and requests are at least 1, output at least 2 tokens, "
            f"and none is above {_MAX_COUNT}",
            hint="e.g. --depth 6000 --output 256 --repeats 3",
        )


def order_of(plan: LoadPlan) -> Iterator[tuple[int, int]]:
    """(repeat, cell): whole rounds one after the other, so that drift meets every cell alike."""
    return itertools.product(range(plan.repeats), range(len(plan.cells)))


def arrivals(rate_per_s: float, count: int, seed: str) -> tuple[float, ...]:
    """Moments of an open loop: exponential gaps, the first at 0."""
    pick = random.Random(seed)  # noqa: S311 - a schedule, not keys
    gaps = [0.0, *(pick.expovariate(rate_per_s) for _ in range(count - 1))]
    return tuple(itertools.accumulate(gaps))
