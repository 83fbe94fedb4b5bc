"""Conditions: three-valued evaluation, simplification, what an open answer hangs on."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import (
    FALSE,
    TRUE,
    All,
    Any,
    Condition,
    DeviceTest,
    EnvTest,
    Gate,
    Leaf,
    Not,
    Setting,
    Tri,
    all_of,
    any_of,
    compare,
    evaluate,
    negate,
    open_leaves,
    render_condition,
)

GB10 = ComputeCapability(12, 1)


class Known:
    """Answers gates by name; everything else is open."""

    def __init__(self, capability: ComputeCapability = GB10, **gates: Tri) -> None:
        self.capability = capability
        self._gates = gates

    def leaf(self, item: Leaf) -> Tri:
        return self._gates.get(item.name, Tri.UNKNOWN) if isinstance(item, Gate) else Tri.UNKNOWN


A, B = Gate("a"), Gate("b")
TABLE = {Tri.YES: True, Tri.NO: False}


@pytest.mark.parametrize(("a", "b"), list(itertools.product(Tri, Tri)))
def test_an_open_part_leaves_the_whole_open_only_where_it_matters(a: Tri, b: Tri) -> None:
    answers = Known(a=a, b=b)
    possible_a = [TABLE[a]] if a in TABLE else [True, False]
    possible_b = [TABLE[b]] if b in TABLE else [True, False]
    pairs = list(itertools.product(possible_a, possible_b))
    for condition, truth in (
        (all_of((A, B)), {x and y for x, y in pairs}),
        (any_of((A, B)), {x or y for x, y in pairs}),
        (negate(A), {not x for x, _ in pairs}),
    ):
        wanted = Tri.of(truth.pop()) if len(truth) == 1 else Tri.UNKNOWN
        assert evaluate(condition, answers) is wanted


@pytest.mark.parametrize(
    ("test", "capability", "holds"),
    [
        (DeviceTest("family", 120), "12.1", True),
        (DeviceTest("family", 120), "11.0", False),
        (DeviceTest("==", 90), "9.0", True),
        (DeviceTest(">=", 100), "9.0", False),
        (DeviceTest("minor", 3), "10.3", True),
        (DeviceTest("<", 121), "12.0", True),
    ],
)
def test_device_tests_read_the_number_as_vllm_writes_it(
    test: DeviceTest, capability: str, holds: bool
) -> None:
    assert evaluate(test, Known(ComputeCapability.parse(capability))) is Tri.of(holds)


def test_constants_vanish_and_nesting_flattens() -> None:
    assert all_of((TRUE, A, All((B, A)))) == All((A, B))
    assert any_of((FALSE, A)) == A
    assert all_of((A, FALSE)) == FALSE
    assert any_of((Any((A, B)), TRUE)) == TRUE
    assert all_of(()) == TRUE
    assert any_of(()) == FALSE
    assert negate(Not(A)) == A


def test_only_the_parts_that_decide_are_named_as_open() -> None:
    condition = all_of((any_of((A, B)), Gate("c")))
    assert open_leaves(condition, Known(a=Tri.YES)) == (Gate("c"),)
    assert open_leaves(condition, Known(c=Tri.NO)) == ()


@pytest.mark.parametrize(
    ("left", "op", "right", "holds"),
    [
        ("a,b", "contains", "b", True),
        ("ab", "contains", "b", False),
        ("fp8_e4m3", "startswith", "fp8", True),
        ("int8_per_token_head", "endswith", "per_token_head", True),
        (None, "<", 3, False),
        (None, "==", None, True),
        (4, ">=", 4, True),
        ("", "truthy", True, False),
    ],
)
def test_comparisons_are_pythons_and_never_raise(
    left: str | int | None, op: str, right: str | int | bool | None, holds: bool
) -> None:
    assert compare(left, op, right) is holds


def test_conditions_survive_json() -> None:
    condition = all_of(
        (A, negate(any_of((DeviceTest("family", 120), EnvTest("VLLM_X", "==", "1")))), Setting("p"))
    )
    encoded = msgspec.json.encode(condition)
    assert msgspec.json.decode(encoded, type=Condition) == condition


def test_a_condition_reads_as_a_line() -> None:
    text = render_condition(all_of((DeviceTest("family", 120), Gate("package:flashinfer"))))
    assert text == "(capability 12.x and package:flashinfer)"
