"""What the live commands print, on the stand-in with its own clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.golden.conftest import Golden
from tests.unit.gates.test_bench import quiet
from tests.unit.receipts.test_compare import SLOW, measured

from sparkproof.load.schedule import make_plan
from sparkproof.receipts.compare import compare
from sparkproof.render.bench_text import render_bench
from sparkproof.render.compare_text import render_compare
from sparkproof.render.lines import plain_text
from sparkproof.render.report_text import render_frame
from sparkproof.render.smoke_text import render_smoke
from sparkproof.render.why_text import render_why
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.usecases.bench.command import Arm, bench
from sparkproof.usecases.compare import report_comparison
from sparkproof.usecases.smoke import smoke
from sparkproof.usecases.why import why


def port(**behaviour: Any) -> FakePort:
    return FakePort(StandIn(Behaviour(**behaviour)))


@pytest.mark.parametrize(
    ("name", "behaviour"),
    [
        ("sound", {"drafts": True, "first_extra_s": 24.0}),
        ("garbage", {"garbage": "one-token"}),
        ("unstamped", {"version": "0.1.dev18498"}),
    ],
)
def test_smoke(name: str, behaviour: dict[str, Any], golden: Golden) -> None:
    report = smoke("http://x", port=port(**behaviour), seed="golden")
    assert report.result is not None
    body = render_smoke(report.result, report.criteria)
    golden(f"live/smoke-{name}.txt", plain_text(render_frame(report, body)))


def test_why(tmp_path: Path, golden: Golden) -> None:
    request = tmp_path / "request.json"
    messages = [{"role": "user", "content": "What is the capital of Peru?"}]
    request.write_bytes(msgspec.json.encode({"messages": messages, "max_tokens": 8}))
    report = why("http://x", replay=request, port=port(thinks=True, think_tokens=40))
    assert report.result is not None
    golden("live/why-starved.txt", plain_text(render_frame(report, render_why(report.result))))


@pytest.mark.parametrize(("name", "behaviour"), [("sound", {"drafts": True}), ("loaded", {})])
def test_bench(name: str, behaviour: dict[str, Any], golden: Golden) -> None:
    plan = make_plan(
        modes=("answer", "thinking"), depths=(64,), output=32, concurrencies=(1, 4), repeats=3
    )
    more = {"extra_traffic": 1} if name == "loaded" else {}
    server = port(ttft_s=0.2, interval_s=0.0125, **behaviour, **more)
    report = quiet(bench(Arm("http://x"), plan, port=server))
    assert report.result is not None
    body = render_bench(report.result, report.criteria)
    golden(f"live/bench-{name}.txt", plain_text(render_frame(report, body)))


def test_compare(golden: Golden) -> None:
    other = measured(*SLOW, artifact="vllm@sha256:bbbb", derived={"vllm": "0.1.dev18498"})
    several = measured(*SLOW, artifact="vllm@sha256:bbbb", arguments="--enforce-eager")
    report = report_comparison(compare([measured(62.0, 61.5, 62.3), other, several]))
    assert report.result is not None
    golden("live/compare.txt", plain_text(render_frame(report, render_compare(report.result))))
