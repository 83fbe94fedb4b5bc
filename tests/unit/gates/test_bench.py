"""A benchmark that is none says so, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.gates.rewritten import (
    Change,
    hidden_errors,
    renamed_metrics,
    rewritten,
    with_body,
)

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.report import Report
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.server_port import Ask, Reply, ServerPort
from sparkproof.core.verdict import Verdict
from sparkproof.gates.bench import derive
from sparkproof.load.schedule import make_plan
from sparkproof.receipts.compare import compare
from sparkproof.render.bench_html import bench_page
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.usecases.bench.command import Arm, bench, report_bench
from sparkproof.usecases.compare import measured_of

PLAN = make_plan(modes=("answer",), depths=(64,), output=24, concurrencies=(1,), repeats=3)


def run(behaviour: dict[str, Any] | None = None, **more: Any) -> Report[BenchResult]:
    port = FakePort(StandIn(Behaviour(**(behaviour or {}))))
    return bench(
        Arm("http://stand-in", more.pop("deployment", None), more.pop("box", "")),
        more.pop("plan", PLAN),
        port=port,
        **more,
    )


def run_on(port: ServerPort) -> Report[BenchResult]:
    return bench(Arm("http://stand-in"), PLAN, port=port)


def quiet(report: Report[BenchResult]) -> Report[BenchResult]:
    """Judged as if the client had been idle: tests share their machine."""
    assert report.result is not None
    calm = msgspec.json.decode(
        b'{"wall_s": 1, "cpu_share": 0.1, "lag_p50_ms": 0, "lag_p95_ms": 0, "lag_max_ms": 0}',
        type=type(report.result.runs[0].health),
    )
    runs = tuple(msgspec.structs.replace(r, health=calm) for r in report.result.runs)
    return report_bench(derive(msgspec.structs.replace(report.result, runs=runs)))


def test_names_that_nobody_knows_show_nothing() -> None:
    report = quiet(run_on(rewritten(renamed_metrics, extra_traffic=2)))
    told = {c.name: c.verdict for c in report.criteria}
    assert told["bench/alone"] is Verdict.SKIPPED
    assert told["bench/engine"] is Verdict.SKIPPED
    assert told["bench/prefix"] is Verdict.SKIPPED


def test_one_counter_of_traffic_is_enough_to_see_it() -> None:
    def change(ask: Ask, reply: Reply) -> Reply:
        if ask.path != "/metrics":
            return reply
        return with_body(reply, reply.body.replace(b"vllm:request_success", b"other"))

    report = quiet(run_on(rewritten(change, extra_traffic=2)))
    assert "bench/loaded" in {f.rule for f in report.findings}


@pytest.mark.parametrize(
    ("change", "words"),
    [(hidden_errors, "upstream connect error"), (None, "in place of a stream")],
)
def test_what_is_no_stream_is_not_measured(change: Change | None, words: str) -> None:
    def whole(ask: Ask, reply: Reply) -> Reply:
        return msgspec.structs.replace(reply, content_type="application/json")

    with pytest.raises(UnreachableError, match=words):
        run_on(rewritten(change or whole))


def test_a_sound_measurement_tells_the_scripted_figures() -> None:
    report = quiet(run({"ttft_s": 0.2, "interval_s": 0.01}))
    assert report.verdict is Verdict.PASS
    assert report.result is not None
    cell = report.result.cells[0]
    assert cell.ttft_s is not None
    assert cell.ttft_s.median == pytest.approx(0.2)
    assert cell.decode_tokens_per_s is not None
    assert cell.decode_tokens_per_s.median == pytest.approx(100)
    assert cell.itl_p99_ms is not None
    assert cell.itl_p99_ms.median == pytest.approx(10, rel=0.01)
    assert cell.depth == pytest.approx(64, abs=2)


@pytest.mark.parametrize(
    ("behaviour", "verdict", "rule"),
    [
        ({"honours_length": False}, Verdict.INCONCLUSIVE, "bench/length"),
        ({"gives_usage": False}, Verdict.INCONCLUSIVE, "bench/no-count"),
        ({"preemptions": 1}, Verdict.INCONCLUSIVE, "bench/preempted"),
        ({"restarts_after": 5}, Verdict.INCONCLUSIVE, "bench/restarted"),
        ({"dies_after": 4}, Verdict.INCONCLUSIVE, "bench/failed-requests"),
        ({"extra_traffic": 2}, Verdict.PASS, "bench/loaded"),
    ],
)
def test_what_spoils_it_is_named(behaviour: dict[str, Any], verdict: Verdict, rule: str) -> None:
    report = quiet(run(behaviour))
    assert rule in {f.rule for f in report.findings}
    assert report.verdict is verdict


def test_beside_other_traffic_it_is_labelled_with_how_much() -> None:
    report = quiet(run({"extra_traffic": 1}))
    assert report.result is not None
    assert report.result.loaded
    assert report.result.others == 9
    assert report.summary.endswith(", loaded")


def test_prefix_hits_are_found_where_something_shares_prompts() -> None:
    class Rewriting(FakePort):
        """A proxy that sends everybody's prompt as the same one."""

        async def send(self, ask: Any) -> Any:
            if ask.body and "completions" in ask.path:
                body = msgspec.json.decode(ask.body)
                same = [{"role": "user", "content": "word " * 64}]
                body |= {"messages": same, "cache_salt": ""}
                ask = msgspec.structs.replace(ask, body=msgspec.json.encode(body))
            return await super().send(ask)

    report = quiet(bench(Arm("http://x"), PLAN, port=Rewriting(StandIn(Behaviour()))))
    assert "bench/prefix-hits" in {f.rule for f in report.findings}


def test_a_client_that_was_late_is_no_instrument() -> None:
    report = run()
    assert report.result is not None
    runs = tuple(
        msgspec.structs.replace(r, health=msgspec.structs.replace(r.health, lag_p95_ms=80.0))
        for r in report.result.runs
    )
    late = report_bench(derive(msgspec.structs.replace(report.result, runs=runs)))
    assert late.verdict is Verdict.INCONCLUSIVE
    assert "bench/client-saturated" in {f.rule for f in late.findings}


def test_several_tokens_a_chunk_are_counted_as_several() -> None:
    report = quiet(run({"tokens_per_chunk": 4, "drafts": True}))
    assert report.result is not None
    cell = report.result.cells[0]
    assert cell.tokens_per_chunk == 4
    assert cell.acceptance_length == pytest.approx(2.8, abs=0.1)
    assert cell.itl_p50_ms is not None
    assert cell.itl_p50_ms.median == pytest.approx(1.25)


@pytest.mark.parametrize(("every", "uneven"), [(10, True), (2, False), (1000, False)])
def test_a_few_answers_far_behind_the_others_are_named(every: int, uneven: bool) -> None:
    class Dragging(FakePort):
        """One answer in so many takes ten times as long."""

        sent = 0

        async def send(self, ask: Any) -> Any:
            reply = await super().send(ask)
            self.sent += "completions" in ask.path
            if self.sent % every:
                return reply
            late = tuple((10 * moment, piece) for moment, piece in reply.pieces)
            return msgspec.structs.replace(reply, pieces=late, ended_s=10 * reply.ended_s)

    plan = make_plan(
        modes=("raw",), depths=(64,), output=24, concurrencies=(2,), repeats=3, requests=10
    )
    report = quiet(bench(Arm("http://x"), plan, port=Dragging(StandIn(Behaviour()))))
    assert ("bench/uneven-streams" in {f.rule for f in report.findings}) is uneven
    assert report.verdict is Verdict.PASS


def test_two_repeats_have_no_spread() -> None:
    plan = msgspec.structs.replace(PLAN, repeats=2)
    assert "bench/few-repeats" in {f.rule for f in quiet(run(plan=plan)).findings}


def test_an_open_loop_and_thinking() -> None:
    plan = make_plan(modes=("thinking",), depths=(64,), output=16, rates=(500.0,), requests=4)
    report = quiet(run(plan=plan))
    assert report.result is not None
    cell = report.result.cells[0]
    assert cell.requests == 12
    assert cell.reasoning_s is not None
    assert cell.content_s is not None
    assert cell.content_s.median > cell.reasoning_s.median
    assert cell.prefill_tokens_per_s is None


def test_identities_hold_what_was_stated_and_no_secret() -> None:
    stated = Deployment(
        checkpoint="qwen",
        artifact="vllm==0.33.0",
        args=("--api-key", "sk-verysecret"),
        env={"HF_TOKEN": "hf_x"},
    )
    report = run(deployment=stated, box="spark-1")
    assert report.result is not None
    chosen = report.result.identities.chosen
    assert set(chosen) == {
        "checkpoint",
        "artifact",
        "arguments",
        "environment",
        "box",
        "load",
        "tool",
    }
    assert "verysecret" not in str(chosen)
    assert "hf_x" not in str(chosen)
    assert report.result.identities.derived["vllm"] == "0.32.0"


def test_a_server_that_can_not_be_measured() -> None:
    with pytest.raises(UnreachableError, match="does not answer the kind of request"):
        run({"template_error": "no"})


def test_the_page_needs_nothing_from_outside_and_escapes_what_it_shows() -> None:
    page = bench_page(run({"names": ("<script>alert(1)</script>",)}))
    assert "<script" not in page
    assert "http-equiv" in page
    assert "src=" not in page
    assert page.count("<svg") >= 3


def test_two_servers_are_measured_in_turns(tmp_path: Path) -> None:
    """A slower one, told apart by the one thing that was changed."""
    store = ReceiptStore(tmp_path)
    stated = Deployment(checkpoint="qwen", artifact="vllm==0.33.0")
    quick = Arm("http://a", stated, "spark-1")
    changed = msgspec.structs.replace(stated, args=("--enforce-eager",))
    eager = Arm("http://b", changed, "spark-1")
    order: list[str] = []

    class Noted(FakePort):
        async def send(self, ask: Any) -> Any:
            if b"ignore_eos" in ask.body and (not order or order[-1] != self.name):
                order.append(self.name)
            return await super().send(ask)

    ports = [
        Noted(StandIn(Behaviour(interval_s=interval)), name=name)
        for name, interval in (("a", 0.005), ("b", 0.01))
    ]
    report = bench(quick, PLAN, against=eager, store=store, port=ports[0], other=ports[1])
    assert order == ["a", "b"] * 4  # warm-up, then three rounds
    assert report.result is not None
    (_, first), (_, second) = store.read_all()
    assert not isinstance(first, FormatError)
    assert not isinstance(second, FormatError)
    assert (second.hash, first.hash) == (report.receipt, report.result.against)
    pair = compare([measured_of("a", second), measured_of("b", first)]).pairs[0]
    assert [d.role for d in pair.chosen] == ["arguments"]
