"""Figures against hand-made records."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.exchange import StreamReading
from sparkproof.core.observations.load_run import Cell, CellRun, ClientHealth, RequestRecord
from sparkproof.core.observations.server_snapshot import EngineCounts, between
from sparkproof.load.metrics import (
    decode_tokens_per_s,
    percentile,
    spread_of,
    summarize_cell,
    token_gaps_ms,
)
from sparkproof.load.prompts import ASK_WORDS, compose, words_for
from sparkproof.load.schedule import arrivals, make_plan, order_of

HEALTH = ClientHealth(wall_s=1, cpu_share=0.1, lag_p50_ms=0, lag_p95_ms=0, lag_max_ms=0)
CELL = Cell(mode="raw", depth=100, output=7, concurrency=1, requests=1)


def record(sent_s: float = 0.0, tokens: tuple[int, ...] = (1, 2, 4)) -> RequestRecord:
    moments = tuple(100_000 * (n + 1) for n in range(3))
    reading = StreamReading(
        first_token_us=moments[0],
        first_content_us=moments[0],
        ended_us=moments[-1],
        arrivals_us=moments,
        tokens=tokens,
        prompt_tokens=100,
        completion_tokens=7,
        done=True,
    )
    return RequestRecord(sent_s=sent_s, status=200, reading=reading)


def run(*records: RequestRecord) -> CellRun:
    return CellRun(cell=0, repeat=0, started_at="", requests=records, health=HEALTH)


def test_decode_speed_leaves_out_what_came_with_the_prefill() -> None:
    assert decode_tokens_per_s(record()) == pytest.approx(6 / 0.2)
    assert decode_tokens_per_s(record(tokens=(3, 2, 2))) == pytest.approx(4 / 0.2)


def test_a_gap_before_several_tokens_is_shared_among_them() -> None:
    assert token_gaps_ms(record()) == [50.0, 50.0, 25.0, 25.0, 25.0, 25.0]
    assert token_gaps_ms(record(tokens=())) == []


def test_a_cell() -> None:
    summary = summarize_cell(0, CELL, [run(record()), run(record(sent_s=1.0))])
    assert summary.ttft_s is not None
    assert summary.ttft_s.values == (0.1, 0.1)
    assert summary.prefill_tokens_per_s is not None
    assert summary.prefill_tokens_per_s.median == pytest.approx(1000)
    assert summary.output_tokens_per_s is not None
    assert summary.output_tokens_per_s.median == pytest.approx(7 / 0.3)
    assert summary.tokens_per_chunk == pytest.approx(14 / 6)
    assert (summary.repeats, summary.failed, summary.depth) == (2, 0, 100)
    assert summary.acceptance_rate is None


def test_failed_requests_are_counted_and_give_no_figure() -> None:
    broken = RequestRecord(sent_s=0, status=500)
    summary = summarize_cell(0, CELL, [run(broken)])
    assert (summary.repeats, summary.failed, summary.ttft_s) == (0, 1, None)


def test_percentiles_and_spreads() -> None:
    assert percentile([], 0.5) is None
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile([0, 10], 0.99) == pytest.approx(9.9)
    spread = spread_of([1.0, None, 3.0])
    assert spread is not None
    assert (spread.median, spread.width) == (2.0, 2.0)
    assert spread_of([None]) is None


def test_acceptance_is_the_servers_own() -> None:
    before = EngineCounts(drafts=10, drafted=30, accepted=5, accepted_at=(5, 0, 0))
    after = EngineCounts(drafts=20, drafted=60, accepted=20, accepted_at=(12, 5, 3))
    window = between(before, after)
    assert window.acceptance_rate == pytest.approx(0.5)
    assert window.acceptance_length == pytest.approx(2.5)
    assert window.acceptance_at == pytest.approx((0.7, 0.5, 0.3))
    assert not window.restarted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (EngineCounts(start_s=1.0), EngineCounts(start_s=2.0)),
        (EngineCounts(finished=9.0), EngineCounts(finished=3.0)),
    ],
)
def test_a_restart_is_seen(before: EngineCounts, after: EngineCounts) -> None:
    assert between(before, after).restarted


def test_prompts_differ_from_the_first_word_on_and_are_as_long_as_asked() -> None:
    one, two = compose(100, "a"), compose(100, "b")
    assert len(one.split()) == len(two.split()) == 100
    assert one.split()[1] != two.split()[1]
    assert compose(100, "a") == one
    assert len(compose(50, "a", ask=True).split()) == 50 + ASK_WORDS
    assert words_for(1300, 100, 130) == 1000


def test_rounds_come_one_after_the_other() -> None:
    plan = make_plan(modes=("raw",), depths=(1, 2), output=8, concurrencies=(1,), repeats=2)
    assert list(order_of(plan)) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_an_open_loop_keeps_its_rate() -> None:
    moments = arrivals(10.0, 2000, "x")
    assert moments[0] == 0
    assert moments == tuple(sorted(moments))
    assert moments[-1] == pytest.approx(200, rel=0.1)


@pytest.mark.parametrize(
    "more",
    [
        {"concurrencies": (1,), "rates": (1.0,)},
        {"concurrencies": (0,)},
        {"rates": (-1.0,)},
        {"rates": (float("nan"),)},
        {"modes": ("loud",), "concurrencies": (1,)},
        {"output": 1, "concurrencies": (1,)},
    ],
)
def test_plans_that_are_none(more: dict[str, object]) -> None:
    base: dict[str, object] = {"modes": ("raw",), "depths": (8,), "output": 8}
    with pytest.raises(UsageError):
        make_plan(**{**base, **more})  # type: ignore[arg-type]
