"""How long a line that brings nothing is waited for, on a clock that we turn."""

from __future__ import annotations

import pytest

from sparkproof.adapters.patience import PROGRESS_BYTES, DroppedError, Pace, Patience

BROKEN = DroppedError("broke off")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


def waited(takes_s: float, gained_bytes: list[int]) -> tuple[float, int]:
    """Time and number of attempts that break after `takes_s` until nobody tries again."""
    clock = Clock()
    patience = Patience(30.0, pause=clock.pause, clock=clock)
    for at, gained in enumerate(gained_bytes):
        clock.now += takes_s
        try:
            patience.rest(BROKEN, gained)
        except DroppedError:
            return clock.now - 100.0, at + 1
    raise AssertionError("never given up")


def test_a_line_that_breaks_at_once_is_tried_a_few_times() -> None:
    took, attempts = waited(0.0, [0] * 10)
    assert attempts == 4
    assert took < 30


def test_a_line_that_stalls_is_not_tried_again() -> None:
    assert waited(30.0, [0] * 10) == (30.0, 1)


def test_what_brought_something_is_taken_up_once_more() -> None:
    took, attempts = waited(30.0, [PROGRESS_BYTES, PROGRESS_BYTES - 1, 0])
    assert attempts == 2
    assert took < 62


def test_not_even_progress_is_taken_up_for_ever() -> None:
    assert waited(0.0, [PROGRESS_BYTES] * 1000)[1] == 64


def test_a_drip_is_told_from_a_slow_line() -> None:
    clock = Clock()
    slow, drip = Pace(30.0, clock), Pace(30.0, clock)
    told = []
    for _ in range(10):
        clock.now += 10
        assert not slow.dripping(PROGRESS_BYTES)
        told.append(drip.dripping(100))
    assert told[:3] == [False] * 3
    assert all(told[3:])


def test_the_error_is_the_lines_own() -> None:
    with pytest.raises(DroppedError) as caught:
        Patience(0.0, pause=lambda _: None).rest(BROKEN)
    assert caught.value is BROKEN
