"""How well ``fit`` predicts the boot log: exact arithmetic, and the pool from flags alone.

Run ``python -m benchmarks.fit_accuracy`` in the repository, with ``--peers DIR`` for the tools
installed into the environment DIR (``python -m benchmarks.fit_peers DIR`` makes one).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from benchmarks.fit_peers import tables
from tests.unit.memory.boots import Boot, read_boots

from sparkproof.facts.memory_book import estimates
from sparkproof.memory.kv_plan import ROUNDING_BYTES, plan_kv

TOTAL_GIB = 121.69
SHARE = 0.8
"""What the published interval should hold."""


class Model(msgspec.Struct, frozen=True):
    """Rest in GiB = fixed + slope for every 1024 batched tokens."""

    fixed: float
    slope: float

    def rest(self, tokens: int) -> float:
        return self.fixed + self.slope * tokens / 1024


class Prediction(msgspec.Struct, frozen=True):
    boot: Boot
    pool: float
    low: float
    high: float

    @property
    def error(self) -> float:
        printed = self.boot.kv_gib or 0.0
        return abs(self.pool - printed) / printed

    @property
    def covered(self) -> bool:
        return self.low <= (self.boot.kv_gib or 0.0) <= self.high


def spent(boot: Boot) -> float:
    """What a boot spent beside weights and pool, graph estimate included, GiB."""
    assert boot.utilization is not None
    assert boot.kv_gib is not None
    assert boot.load_gib is not None
    return boot.utilization * (boot.total_gib or TOTAL_GIB) - boot.kv_gib - boot.load_gib


def usable(boots: Iterable[Boot]) -> list[Boot]:
    return [
        boot
        for boot in boots
        if boot.device == "gb10" and boot.load_gib and boot.kv_gib and boot.utilization
    ]


def fit_model(boots: Sequence[Boot]) -> Model:
    """Least absolute deviation over a grid; every box has the same weight."""
    per_box = {boot.box: sum(1 for other in boots if other.box == boot.box) for boot in boots}
    graphs = estimates()["graph_estimate"].value
    grid = itertools.product([step / 10 for step in range(81)], [step / 200 for step in range(81)])

    def loss(model: Model) -> float:
        return sum(
            abs(spent(boot) - graphs - model.rest(boot.batched_tokens)) / per_box[boot.box]
            for boot in boots
        )

    return min((Model(fixed, slope) for fixed, slope in grid), key=loss)


def residuals(model: Model, boots: Sequence[Boot]) -> list[float]:
    graphs = estimates()["graph_estimate"].value
    return sorted(spent(boot) - graphs - model.rest(boot.batched_tokens) for boot in boots)


def leave_one_box_out(boots: Sequence[Boot]) -> list[Prediction]:
    graphs = estimates()["graph_estimate"].value
    found = []
    for box in sorted({boot.box for boot in boots}):
        others = [boot for boot in boots if boot.box != box]
        model = fit_model(others)
        spread = residuals(model, others)
        low, high = spread[0], spread[-1]
        for boot in (boot for boot in boots if boot.box == box):
            assert boot.utilization is not None
            assert boot.load_gib is not None
            request = boot.utilization * (boot.total_gib or TOTAL_GIB)
            pool = request - boot.load_gib - graphs - model.rest(boot.batched_tokens)
            found.append(Prediction(boot, pool, pool - high, pool - low))
    return found


def shipped(boots: Sequence[Boot]) -> list[Prediction]:
    """With the constants that the package ships."""
    book = estimates()
    found = []
    for boot in boots:
        assert boot.utilization is not None
        assert boot.load_gib is not None
        request = boot.utilization * (boot.total_gib or TOTAL_GIB) - boot.load_gib
        blocks = boot.batched_tokens / 1024

        def rest(pick: Callable[[str], float], blocks: float = blocks) -> float:
            return (
                pick("rest_fixed") + pick("rest_per_1024_tokens") * blocks + pick("graph_estimate")
            )

        found.append(
            Prediction(
                boot,
                request - rest(lambda name: book[name].value),
                request - rest(lambda name: book[name].high),
                request - rest(lambda name: book[name].low),
            )
        )
    return found


def naive(boots: Sequence[Boot]) -> list[Prediction]:
    found = []
    for boot in boots:
        assert boot.utilization is not None
        assert boot.load_gib is not None
        pool = boot.utilization * (boot.total_gib or TOTAL_GIB) - boot.load_gib
        found.append(Prediction(boot, pool, pool, pool))
    return found


def exact_rows(boots: Iterable[Boot]) -> list[tuple[str, str, str, str]]:
    rows = []
    for boot in boots:
        shape = boot.shape()
        rounding = ROUNDING_BYTES if boot.kv_gib is not None else 0
        plan = plan_kv(shape, boot.pool_bytes, rounding_bytes=rounding)
        length = shape.settings.max_model_len
        span = range(plan.blocks_if_less, plan.blocks_if_more + 1)
        possible = [shape.printed(blocks, length)[0] for blocks in span]
        verdict = "exact" if boot.printed.tokens in possible else "WRONG"
        play = f"{len(possible) - 1} blocks" if len(possible) > 1 else "none"
        rows.append((boot.id, f"{boot.printed.tokens:,}", verdict, play))
    return rows


def show(title: str, predictions: Sequence[Prediction]) -> None:
    errors = [item.error for item in predictions]
    covered = sum(item.covered for item in predictions) / len(predictions)
    print(f"\n{title}: {len(errors)} boots")
    for item in predictions:
        boot = item.boot
        mark = "" if item.covered else "  outside"
        print(
            f"  {boot.id:18} {boot.box:14} printed {boot.kv_gib:7.2f}  predicted {item.pool:7.2f}"
            f"  [{item.low:6.2f}, {item.high:6.2f}]  {100 * item.error:5.1f} %{mark}"
        )
    print(
        f"  median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %,"
        f" interval holds {100 * covered:.0f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, help="environment with kvfit, hf-mem and sparkfit")
    options = parser.parse_args()
    boots = read_boots()
    rows = exact_rows(boots)
    print("printed tokens, given the pool")
    for row in rows:
        print("  {:28} {:>12}  {:6} play {}".format(*row))
    print(f"  {sum(row[2] == 'exact' for row in rows)} of {len(rows)} exact")
    known = usable(boots)
    model = fit_model(known)
    spread = residuals(model, known)
    print(f"\nfitted to all: fixed {model.fixed:.2f}, {model.slope:.3f} per 1024 tokens")
    print("residuals", " ".join(f"{item:.2f}" for item in spread))
    show("pool from flags alone, each box left out", leave_one_box_out(known))
    show("pool from flags alone, constants as shipped", shipped(known))
    show("naive: utilization times total less weights", naive(known))
    if options.peers:
        tables(options.peers / "bin" / "python", boots)


if __name__ == "__main__":
    main()
