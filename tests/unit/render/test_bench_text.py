"""One row a cell on a page of 100 columns; what can't be told is not a zero."""

from __future__ import annotations

from typing import Any

from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.results.bench import BenchResult, CellSummary, Spread
from sparkproof.load.schedule import make_plan
from sparkproof.render.bench_text import render_bench
from sparkproof.render.lines import plain_text

PLAN = make_plan(
    modes=("thinking",),
    depths=(100_000,),
    output=256,
    concurrencies=(128,),
    rates=(),
    requests=0,
    repeats=3,
)


def spread(median: float) -> Spread:
    return Spread(median, median * 0.93, median * 1.08, (median,) * 3)


def shown(**more: Any) -> list[str]:
    cell = CellSummary(
        **{
            "cell": 0,
            "repeats": 3,
            "requests": 384,
            "failed": 0,
            "depth": 100_003.0,
            "ttft_s": spread(9.123),
            "decode_tokens_per_s": spread(24.6),
            "output_tokens_per_s": spread(1751.2),
            "itl_p50_ms": spread(40.1),
            "itl_p99_ms": spread(156.1),
            **more,
        }
    )
    result = BenchResult(
        snapshot=ServerSnapshot(address="http://tiny"), plan=PLAN, model="m", cells=(cell,)
    )
    return plain_text(render_bench(result)).splitlines()


def test_a_row_of_large_figures_is_one_line() -> None:
    rows = shown()
    (row,) = (line for line in rows if line.startswith("  thinking  "))
    assert row.split()[-2:] == ["40.1", "156.1"]
    assert rows.index(row) == rows.index(next(r for r in rows if "TTFT ms" in r)) + 1
    assert max(map(len, rows)) <= 100


def test_tokens_that_arrive_together_have_no_time_between_them() -> None:
    bunched = "\n".join(shown(itl_p50_ms=spread(0.0)))
    assert " n/a  156.1" in bunched
    assert "most of them arrive several in one" in bunched
    mute = "\n".join(shown(itl_p50_ms=None, itl_p99_ms=None))
    assert "the server gives no running count" in mute
    assert "no time between tokens" not in "\n".join(shown())
