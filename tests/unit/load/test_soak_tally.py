"""Totals of a soak: whatever the order of breaks, restarts and failures."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.server_snapshot import EngineCounts
from sparkproof.core.observations.soak_run import (
    Ending,
    EndRecord,
    Kind,
    Outcome,
    Record,
    SessionRecord,
    SoakPlan,
    SoakRecord,
    WatchRecord,
)
from sparkproof.load.done import Done
from sparkproof.load.sketch import Sketch
from sparkproof.load.soak_tally import Tally
from sparkproof.load.soak_timeline import Timeline

PLAN = SoakPlan(
    model="tiny",
    seed="s",
    concurrency=2,
    requests=40,
    duration_s=0.0,
    kinds=(Kind.RAW,),
    prompt_low=16,
    prompt_high=64,
    output_low=16,
    output_high=16,
    timeout_s=60.0,
    words_per_token=0.75,
    alone=2,
)


def asked(n: int, at: float, **more: Any) -> SoakRecord:
    known: dict[str, Any] = {"status": 200, "outcome": Outcome.OK, "seconds": 1.0}
    known |= {"prompt_tokens": 48, "completion_tokens": 16, "ttft_s": 0.25, **more}
    return SoakRecord(n=n, kind=Kind.RAW, name=known.pop("name", "raw"), at=at, **known)


def look(at: float, *, start: float = 1.0, **counts: Any) -> WatchRecord:
    seen = EngineCounts(start_s=start, **counts)
    return WatchRecord(at=at, health=200, in_flight=2, counts=seen)


def tallied(*records: Record) -> Tally:
    tally = Tally(PLAN)
    tally.take_all(records)
    return tally


def test_what_happened_between_two_stretches_is_nobody_s() -> None:
    tally = tallied(
        SessionRecord(at=100.0, start_s=1.0),
        look(100.0, preemptions=10.0, finished=5.0),
        asked(0, 100.0),
        look(102.0, preemptions=13.0, finished=6.0),
        EndRecord(at=103.0, ending=Ending.INTERRUPTED),
        SessionRecord(at=9000.0, start_s=1.0, done=1),
        look(9000.0, preemptions=90.0, finished=800.0),
        asked(1, 9000.0),
        look(9002.0, preemptions=91.0, finished=801.0),
        EndRecord(at=9002.0, ending=Ending.DONE),
    )
    assert tally.pressure().preemptions == 4
    assert tally.seconds == pytest.approx(5.0)
    assert not tally.loaded
    assert [s.ending for s in tally.sessions] == [Ending.INTERRUPTED, Ending.DONE]
    assert [s.done for s in tally.sessions] == [0, 1]
    assert not any(s.anew or s.restarted for s in tally.sessions)


def test_records_that_simply_end_were_killed() -> None:
    first = (SessionRecord(at=0.0, start_s=1.0), asked(0, 0.0), asked(2, 1.0))
    tally = tallied(*first, SessionRecord(at=50.0, start_s=7.0, done=2))
    assert tally.sessions[0].ending is Ending.KILLED
    assert 0 in tally.done
    assert 1 not in tally.done
    tally.take(EndRecord(at=51.0, ending=Ending.DONE))
    assert tally.sessions[1].anew  # another process of the server


def test_a_restart_in_the_middle_is_no_negative_count() -> None:
    tally = tallied(
        SessionRecord(at=0.0, start_s=1.0),
        look(0.0, start=1.0, preemptions=50.0),
        look(1.0, start=9.0, preemptions=0.0),
        look(2.0, start=9.0, preemptions=3.0),
        EndRecord(at=2.0, ending=Ending.DONE),
    )
    assert tally.pressure().preemptions == 3
    assert tally.sessions[0].restarted


@pytest.mark.parametrize(
    ("others", "finished", "running", "loaded"),
    [
        ("", 2.0, 2.0, False),
        ("4 are running", 2.0, 2.0, True),
        ("", 9.0, 2.0, True),
        ("", 2.0, 5.0, True),
    ],
)
def test_loaded_is_what_we_did_not_send(
    others: str, finished: float, running: float, loaded: bool
) -> None:
    tally = tallied(
        SessionRecord(at=0.0, others=others),
        look(0.0, finished=0.0),
        asked(0, 0.0),
        asked(1, 0.0),
        look(1.0, finished=finished, running=running),
        EndRecord(at=1.0, ending=Ending.DONE),
    )
    assert tally.loaded is loaded


def test_each_way_of_failing_is_named_with_the_request_at_which_it_began() -> None:
    died: dict[str, Any] = {"outcome": Outcome.ENGINE_DEAD, "status": 500, "detail": "gone"}
    tally = tallied(
        SessionRecord(at=10.0),
        asked(3, 10.0),
        asked(5, 11.0, **died, seconds=0.5),
        asked(4, 10.5, **died, seconds=1.2),
        asked(6, 12.0, outcome=Outcome.REFUSED, status=0),
    )
    rows = [(f.outcome, f.count, f.n, f.into_s) for f in tally.failures()]
    assert rows == [(Outcome.ENGINE_DEAD, 2, 5, 1.5), (Outcome.REFUSED, 1, 6, 3.0)]
    assert (tally.requests, tally.failed) == (4, 3)


def test_probes_count_only_where_they_held_alone() -> None:
    tally = tallied(
        SessionRecord(at=0.0),
        asked(0, 0.0, name="count", held=True),
        asked(1, 0.0, name="week", held=False, sound=False, outcome=Outcome.OK),
        asked(2, 1.0, name="count", held=True),
        asked(3, 1.0, name="count", held=False),
        asked(4, 1.0, name="week", held=False),
    )
    assert (tally.probes, tally.held) == (2, 1)
    assert tally.sound_alone == ["count"]


def test_a_kind_that_is_declined_alone_is_no_failure() -> None:
    declined = asked(0, 0.0, name="tools", outcome=Outcome.NOT_TAKEN, status=400, detail="no")
    tally = tallied(SessionRecord(at=0.0), declined)
    assert tally.not_taken == {"tools": "no"}
    assert tally.failed == 0


def test_a_request_that_stands_twice_in_the_records_counts_once() -> None:
    tally = tallied(SessionRecord(at=0.0), asked(0, 1.0), asked(1, 2.0), asked(0, 3.0))
    assert tally.requests == 2


@pytest.mark.parametrize("n", [-1, 40])
def test_a_request_that_was_never_planned_is_refused(n: int) -> None:
    with pytest.raises(FormatError, match="never planned"):
        tallied(SessionRecord(at=0.0), asked(n, 1.0))


def test_done_in_any_order_holds_only_what_is_out_of_turn() -> None:
    numbers = list(range(1000))
    random.Random(1).shuffle(numbers)
    done = Done()
    for number in numbers:
        assert number not in done
        done.add(number)
        done.add(number)
        assert number in done
    assert len(done) == 1000
    assert 1000 not in done
    assert done._beyond == set()


def test_quantiles_are_off_by_a_fortieth_at_most() -> None:
    pick = random.Random(2)
    values = sorted(pick.lognormvariate(0, 1.5) for _ in range(5000))
    sketch = Sketch()
    for value in values:
        sketch.add(value)
    for share in (0.1, 0.5, 0.9, 0.99):
        assert sketch.quantile(share) == pytest.approx(
            values[math.ceil(share * 5000) - 1], rel=0.026
        )
    assert sketch.longest == values[-1]
    assert Sketch().quantile(0.5) is None
    assert len(sketch._buckets) < 300


def test_a_timeline_of_any_length_has_so_many_rows_and_loses_no_request() -> None:
    timeline = Timeline()
    for second in range(0, 100_000, 7):
        timeline.request(float(second), 1.0, failed=second % 70 == 0)
    bins = timeline.bins()
    assert len(bins) <= 120
    assert sum(b.requests for b in bins) == len(range(0, 100_000, 7))
    assert [b.start_s for b in bins] == sorted(b.start_s for b in bins)
