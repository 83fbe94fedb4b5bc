"""The pool's interval on a box that was not measured: by boxes left out, and what narrows it."""

from __future__ import annotations

import msgspec
import pytest
from benchmarks.fit_accuracy import as_fit, leave_one_box_out
from benchmarks.fit_calibration import KIND, calibrate, of_kind, quantile, usable
from tests.unit.memory.boots import read_boots, read_layout

from sparkproof.core.serve_args import ServeArgs
from sparkproof.facts.memory_book import rules_of
from sparkproof.facts.rest_model import calibration
from sparkproof.memory.budget import GIB, Budget, Known, Weights, plan_budget
from sparkproof.memory.kv_plan import KvShape
from sparkproof.memory.settings import Device, resolve_settings

GB10 = Device("12.1", 121.69)
BOOTS = read_boots()
MEASURED = of_kind(BOOTS)


FEW = ServeArgs(utilization=0.6)
MANY = ServeArgs(utilization=0.6, batched_tokens=65536)


def planned(capability: str, known: Known | None = None, asked: ServeArgs = FEW) -> Budget:
    layout = read_layout("qwen3.6-35b-a3b")
    shape = KvShape(layout, resolve_settings(layout, asked, rules_of("0.27.1"), GB10))
    weights = Weights(22 * GIB, loaded=True, layers=40)
    return plan_budget(shape, asked, weights, int(121.69 * GIB), known, capability=capability)


def width(budget: Budget) -> int:
    pool = budget.line("kv")
    assert pool.low_bytes < pool.bytes < pool.high_bytes
    return pool.high_bytes - pool.low_bytes


def test_the_shipped_calibration_is_what_the_boots_give() -> None:
    others = [boot for boot in usable(BOOTS) if boot.device != KIND]
    made, shipped = calibrate(MEASURED, others), calibration()
    plain = {"checked": shipped.checked, "without": ()}
    assert msgspec.structs.replace(made, **plain) == msgspec.structs.replace(shipped, **plain)
    for ours, theirs in zip(made.without, shipped.without, strict=True):
        assert (ours.box, ours.boots, ours.line) == (theirs.box, theirs.boots, theirs.line)
        assert ours.off == pytest.approx(theirs.off, abs=0.001)


def test_boxes_left_out_of_everything_are_held_as_often_as_is_said() -> None:
    found = leave_one_box_out(MEASURED)
    assert calibration().holds >= calibration().level
    assert sum(item.covered for item in found) / len(found) >= calibration().level
    assert all(as_fit(boot).covered for boot in MEASURED)


@pytest.mark.parametrize(
    ("scores", "level", "expected"),
    [
        ([0.3, 0.1, 0.2, 0.5, 0.4], 0.8, (0.5, 5 / 6)),
        ([0.3, 0.1, 0.2, 0.5, 0.4], 0.5, (0.3, 3 / 6)),
        ([0.2, 0.1], 0.8, (0.2, 2 / 3)),
    ],
)
def test_a_quantile_of_few_boxes_is_the_cautious_one(
    scores: list[float], level: float, expected: tuple[float, float]
) -> None:
    assert quantile(scores, level) == pytest.approx(expected)


def test_a_device_that_no_boot_was_on_has_the_wider_interval() -> None:
    assert width(planned("9.0")) > 2 * width(planned("12.1"))
    assert "no boot on such a device" in planned("9.0").line("kv").why


def test_the_log_of_this_setup_narrows_it() -> None:
    own = Known(rest_bytes=16 * GIB, graph_estimate_bytes=GIB // 2)
    pool = planned("12.1", own, MANY).line("kv")
    assert pool.low_bytes == pool.bytes == pool.high_bytes
    beside_graphs = planned("12.1", Known(rest_bytes=16 * GIB), MANY)
    assert width(beside_graphs) < width(planned("12.1", asked=MANY))


def test_what_no_boot_has_shown_of_b12x_comes_on_top() -> None:
    doubled = msgspec.structs.replace(MANY, moe_backend="flashinfer_b12x")
    assert width(planned("12.1", asked=doubled)) > width(planned("12.1", asked=MANY))
