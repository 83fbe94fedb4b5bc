"""How well ``fit`` predicts the boot log: exact arithmetic, and the pool from flags alone.

Run ``python -m benchmarks.fit_accuracy`` in the repository, with ``--peers DIR`` for the tools
installed into the environment DIR (``python -m benchmarks.fit_peers DIR`` makes one).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from benchmarks.fit_calibration import (
    KIND,
    batched_tokens,
    calibrate,
    of_kind,
    spent,
    total_gib,
    usable,
)
from benchmarks.fit_peers import tables
from tests.unit.memory.boots import DEVICES, Boot, read_boots, read_layout

from sparkproof.core.memory_plan import Origin
from sparkproof.core.serve_args import ServeArgs
from sparkproof.facts.rest_model import Calibration, calibration
from sparkproof.memory.budget import GIB, Weights, plan_budget
from sparkproof.memory.kv_plan import ROUNDING_BYTES, KvShape, plan_kv


class Prediction(msgspec.Struct, frozen=True):
    """A pool with its interval, GiB."""

    boot: Boot
    pool: float
    low: float
    high: float

    @property
    def printed(self) -> float:
        return self.boot.kv_gib or 0.0

    @property
    def error(self) -> float:
        return abs(self.pool - self.printed) / self.printed

    @property
    def covered(self) -> bool:
        return self.low <= self.printed <= self.high

    @property
    def width(self) -> float:
        return self.high - max(self.low, 0.0)


def before_rest(boot: Boot) -> float:
    """What utilization and weights leave, GiB."""
    return spent(boot) + (boot.kv_gib or 0.0)


def predict(boot: Boot, found: Calibration) -> Prediction:
    """By one calibration, as for a box that is not in it."""
    tokens, left = batched_tokens(boot), before_rest(boot)
    low, high = found.range_gib(tokens, DEVICES[boot.device].capability)
    usual = found.line.rest_gib(tokens) + found.graphs_gib
    return Prediction(boot, left - usual, left - high, left - low)


def leave_one_box_out(boots: Sequence[Boot]) -> list[Prediction]:
    """Line, spread and all from the other boxes alone."""
    found = []
    for box in sorted({boot.box for boot in boots}):
        of_others = calibrate([boot for boot in boots if boot.box != box])
        found += [predict(boot, of_others) for boot in boots if boot.box == box]
    return found


def as_fit(boot: Boot) -> Prediction:
    """What `fit` itself says with the shipped facts, given the weights as loaded."""
    asked = msgspec.structs.replace(boot.shape().settings, utilization=boot.utilization)
    shape = KvShape(read_layout(boot.config), asked)
    weights = Weights(int((boot.load_gib or 0.0) * GIB), loaded=True, layers=40)
    total = int(total_gib(boot) * GIB)
    kind = DEVICES[boot.device].capability
    pool = plan_budget(shape, ServeArgs(), weights, total, capability=kind).line("kv")
    assert pool.origin is Origin.ESTIMATED
    return Prediction(boot, pool.bytes / GIB, pool.low_bytes / GIB, pool.high_bytes / GIB)


def naive(boots: Sequence[Boot]) -> list[Prediction]:
    lefts = [(boot, before_rest(boot)) for boot in boots]
    return [Prediction(boot, left, left, left) for boot, left in lefts]


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
            f"  {boot.id:19} {boot.box or boot.device:14} printed {boot.kv_gib:7.2f}"
            f"  predicted {item.pool:7.2f}  [{item.low:6.2f}, {item.high:6.2f}]"
            f"  {100 * item.error:5.1f} %{mark}"
        )
    boxes: dict[str, bool] = {}
    for item in predictions:
        boxes[item.boot.box] = boxes.get(item.boot.box, True) and item.covered
    width = statistics.median(item.width for item in predictions)
    share = statistics.median(item.width / item.printed for item in predictions)
    print(
        f"  median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %,"
        f" interval holds {100 * covered:.0f} % of boots and {sum(boxes.values())} of"
        f" {len(boxes)} boxes whole, median width {width:.1f} GiB, {100 * share:.0f} % of the pool"
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
    known = of_kind(boots)
    elsewhere = [boot for boot in usable(boots) if boot.device != KIND]
    shipped = calibration()
    print(
        f"\nshipped: {shipped.line.fixed_gib} GiB and {shipped.line.per_1024_tokens_gib} per 1024"
        f" tokens, {shipped.spread:.1%} off at most; asked {shipped.level:.0%} of unseen boxes,"
        f" holds {shipped.holds:.0%} at least"
    )
    for item in shipped.without:
        print(f"  {item.box:14} left out: {item.boots} boots, off by up to {item.off:.1%}")
    show("pool from flags alone, each box left out", leave_one_box_out(known))
    show("pool from flags alone, as fit says it", [as_fit(boot) for boot in known])
    show("other devices, as fit says it", [as_fit(boot) for boot in elsewhere])
    show("naive: utilization times total less weights", naive(known))
    if options.peers:
        tables(options.peers / "bin" / "python", boots)


if __name__ == "__main__":
    main()
