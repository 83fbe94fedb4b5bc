"""The whole gate on the stand-in: every way of being wrong is found, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.gates.rewritten import hidden_errors, rewritten, with_body

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import UnreachableError
from sparkproof.core.report import Report
from sparkproof.core.results.smoke import LogSays, SmokeResult
from sparkproof.core.server_port import Ask, Failure, Reply
from sparkproof.core.verdict import Verdict
from sparkproof.gates.smoke import judge_smoke, plan_drafts
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.usecases.smoke import report_smoke, smoke


def ask(behaviour: dict[str, Any] | None = None, **more: Any) -> Report[SmokeResult]:
    port = FakePort(StandIn(Behaviour(**(behaviour or {}))))
    return smoke("http://stand-in", port=port, seed="s", **more)


def rules_of(report: Report[SmokeResult]) -> set[str]:
    return {finding.rule for finding in report.findings}


def criterion(report: Report[SmokeResult], name: str) -> Verdict:
    return next(c.verdict for c in report.criteria if c.name == f"smoke/{name}")


def test_a_sound_server() -> None:
    report = ask()
    assert (report.verdict, rules_of(report)) == (Verdict.PASS, set())
    assert criterion(report, "tools") is Verdict.PASS
    assert criterion(report, "speculation") is Verdict.SKIPPED


@pytest.mark.parametrize(
    ("behaviour", "verdict", "rule"),
    [
        ({"garbage": "one-token"}, Verdict.FAIL, "smoke/garbage"),
        ({"garbage": "noise"}, Verdict.FAIL, "smoke/garbage"),
        ({"version": "0.1.dev18498"}, Verdict.FAIL, "smoke/version-unstamped"),
        ({"vllm": False}, Verdict.INCONCLUSIVE, "smoke/not-vllm"),
        ({"tool_parser": "wrong"}, Verdict.FAIL, "response/wrong-parser"),
        ({"reasoning_parser": "none"}, Verdict.PASS, "response/think-leak"),
        ({"reasoning_parser": "eager"}, Verdict.PASS, "response/answer-in-reasoning"),
        ({"template_error": "Only user and assistant roles"}, Verdict.FAIL, "response/template"),
        ({"structured": False}, Verdict.FAIL, "smoke/structured"),
        ({"prefix_hits": False}, Verdict.PASS, "smoke/prefix-silent"),
        ({"drafts": True, "accepted": (0.0, 0.0)}, Verdict.PASS, "smoke/none-accepted"),
    ],
)
def test_what_is_wrong_is_named(behaviour: dict[str, Any], verdict: Verdict, rule: str) -> None:
    report = ask(behaviour)
    assert report.verdict is verdict
    worst = [c for c in report.criteria if c.verdict is verdict]
    if verdict is Verdict.INCONCLUSIVE:
        assert worst[0].reason in report.summary
    assert rule in rules_of(report)


def test_what_was_promised_is_held_against_it() -> None:
    promised = Deployment(
        checkpoint="x",
        artifact="vllm==0.33.0",
        args=(
            *("--served-model-name", "tiny", "agent", "--kv-cache-dtype", "fp8"),
            *("--tool-call-parser", "hermes"),
            *("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3}'),
        ),
    )
    report = ask({"tool_parser": "missing"}, deployment=promised)
    assert rules_of(report) >= {
        "smoke/version-differs",
        "smoke/name-not-served",
        "smoke/kv-dtype",
        "smoke/not-drafting",
        "response/no-parser",
    }


def test_tools_that_nobody_promised_are_not_missed() -> None:
    report = ask({"tool_parser": "missing"})
    assert report.verdict is Verdict.PASS
    assert criterion(report, "tools") is Verdict.SKIPPED


def test_speculation_is_told_as_the_server_counts_it() -> None:
    report = ask({"drafts": True})
    assert report.result is not None
    assert report.result.window is not None
    assert report.result.window.acceptance_rate == pytest.approx(0.6, abs=0.05)
    assert report.result.window.acceptance_length == pytest.approx(2.8, abs=0.1)


def test_a_prefix_shorter_than_a_block_can_hit_nothing() -> None:
    report = ask({"block_size": 4096, "max_model_len": 2048})
    assert report.verdict is Verdict.PASS
    reason = next(c.reason for c in report.criteria if c.name == "smoke/prefix")
    assert reason.startswith("no hit possible")


def test_a_trusted_receipts_fingerprint_tells_models_apart() -> None:
    result = ask().result
    assert result is not None
    shifted = ask({"shift": -0.4}).result
    assert shifted is not None
    from sparkproof.gates.fingerprint import compare_fingerprints  # noqa: PLC0415

    assert result.fingerprint is not None
    assert shifted.fingerprint is not None
    change = compare_fingerprints(result.fingerprint, shifted.fingerprint)
    report = report_smoke(msgspec.structs.replace(shifted, change=change))
    assert report.verdict is Verdict.FAIL
    assert "smoke/fingerprint-differs" in rules_of(report)


def test_the_boot_log_adds_what_only_it_tells() -> None:
    result = ask().result
    assert result is not None
    says = LogSays(
        async_scheduling=False,
        async_why="n-gram",
        largest_graph=8,
        max_num_seqs=4,
        speculative_tokens=3,
    )
    criteria, findings = judge_smoke(msgspec.structs.replace(result, log=says))
    assert {f.rule for f in findings} == {"smoke/async-off", "smoke/graphs"}
    assert all(c.verdict in (Verdict.PASS, Verdict.SKIPPED) for c in criteria)
    criteria, _ = judge_smoke(msgspec.structs.replace(result, log=LogSays()))
    assert not any("give it with --log" in c.reason for c in criteria)


def test_a_stored_result_is_judged_as_the_fresh_one_was() -> None:
    report = ask({"garbage": "noise", "drafts": True})
    stored = msgspec.json.decode(msgspec.json.encode(report), type=Report[SmokeResult])
    assert stored.result is not None
    again = report_smoke(stored.result)
    assert (again.verdict, again.criteria, again.findings) == (
        report.verdict,
        report.criteria,
        report.findings,
    )


def test_warm_only_asks_for_the_shapes_and_no_more() -> None:
    report = ask({"first_extra_s": 25.0}, warm_only=True)
    assert report.verdict is Verdict.PASS
    assert report.result is not None
    costs = {cost.shape: cost for cost in report.result.costs}
    assert costs["chat"].first_s == pytest.approx(25, abs=0.1)
    assert costs["chat"].again_s < 1
    assert len(report.result.exchanges) == 2 * (3 + 8)


def test_nobody_there() -> None:
    with pytest.raises(UnreachableError, match="does not answer"):
        smoke("http://x", port=FakePort(failure=Failure.REFUSED))
    with pytest.raises(UnreachableError, match="wants a key"):
        ask({"key": "secret"})


class Loading(FakePort):
    """Comes up when it has been asked for its health once."""

    looks = 0

    async def send(self, ask: Ask) -> Reply:
        if ask.path == "/health" and not self.looks:
            self.looks += 1
            return Reply(0, failure=Failure.REFUSED, detail="nothing listens on port 8000")
        return await super().send(ask)


def test_what_is_waited_for_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkproof.usecases.smoke._POLL_S", 0.0)
    said: list[str] = []
    port = Loading(StandIn(), name="http://tiny")
    report = smoke("", port=port, seed="s", wait_s=600, say=said.append)
    assert report.verdict is Verdict.PASS
    waiting, *stages = said
    assert waiting.startswith("waiting for http://tiny: nothing listens on port 8000, ")
    assert stages[0].startswith("warming up tiny at http://tiny")
    assert len(stages) > 1


def test_an_error_in_a_200_is_quoted_and_blames_no_name() -> None:
    report = smoke("http://x", port=rewritten(hidden_errors), seed="s")
    assert report.verdict is Verdict.FAIL
    assert "upstream connect error" in report.summary
    assert "smoke/name-not-served" not in rules_of(report)
    warm = smoke("http://x", port=rewritten(hidden_errors), seed="s", warm_only=True)
    assert "upstream connect error" in warm.summary
    assert warm.next_steps == ("sparkproof explain smoke/no-answer",)


def test_what_is_left_open_says_where_to_go_on() -> None:
    report = ask({"vllm": False})
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.next_steps == ("sparkproof explain smoke/not-vllm",)


def test_what_is_to_be_drafted_stands_in_the_prompt_already() -> None:
    for planned in plan_drafts("tiny"):
        prompt = msgspec.json.decode(planned.body)["prompt"]
        before, begun = prompt.rsplit("\n", 1)
        rest = before.partition(begun)[2].split("\n")[0].split()
        assert len(rest) > 40


@pytest.mark.parametrize(
    ("owner", "engine"),
    [("llamacpp", "llama.cpp"), ("library", "Ollama"), ("sglang", "SGLang")],
)
def test_another_engine_is_named_and_asked_nothing(owner: str, engine: str) -> None:
    def change(ask: Ask, reply: Reply) -> Reply:
        assert ask.method == "GET"
        return with_body(reply, reply.body.replace(b"proxy", owner.encode()))

    report = smoke("http://x", port=rewritten(change, vllm=False), seed="s")
    assert report.verdict is Verdict.FAIL
    assert rules_of(report) == {"smoke/other-engine"}
    assert report.summary == f"this is {engine}, not vLLM"


def test_a_server_that_tells_its_version_is_believed() -> None:
    def change(ask: Ask, reply: Reply) -> Reply:
        if ask.path != "/v1/models":
            return reply
        return with_body(reply, reply.body.replace(b'"vllm"', b'"library"'))

    assert smoke("http://x", port=rewritten(change), seed="s").verdict is Verdict.PASS


def test_a_redirect_tells_where_to() -> None:
    def change(ask: Ask, reply: Reply) -> Reply:
        return Reply(307, detail="redirects to https://elsewhere.example/v1/models")

    with pytest.raises(UnreachableError, match="https://elsewhere"):
        smoke("http://x", port=rewritten(change), seed="s")
