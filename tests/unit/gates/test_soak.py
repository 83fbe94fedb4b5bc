"""What a soak asks, and how it judges all that came back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.load.test_soak_tally import PLAN, asked, look, tallied

from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Confidence, Evidence
from sparkproof.core.observations.server_snapshot import EngineCounts, Served, ServerSnapshot
from sparkproof.core.observations.soak_run import (
    Ending,
    EndRecord,
    Kind,
    Outcome,
    Record,
    SessionRecord,
    SoakPlan,
    WatchRecord,
)
from sparkproof.core.results.log import Cause
from sparkproof.core.results.soak import LogSeen, ProcessSeen, SoakResult
from sparkproof.core.server_port import ANSWER_LIMIT_BYTES
from sparkproof.core.verdict import Verdict, fold
from sparkproof.gates.coherence import QUESTIONS
from sparkproof.gates.soak import judge_soak
from sparkproof.gates.soak_mix import Mix
from sparkproof.gates.soak_plan import Wishes, check_wishes, draft_plan
from sparkproof.usecases.soak.report import report_soak

CACHE = {"kv_cache_size_tokens": "5120", "block_size": "128"}
SNAPSHOT = ServerSnapshot(
    address="http://x",
    healthy=200,
    models=(Served("tiny", 1024),),
    counts=EngineCounts(cache=CACHE),
)
LONG = msgspec.structs.replace(
    PLAN,
    kinds=(Kind.RAW, Kind.ANSWER, Kind.THINKING, Kind.TOOLS),
    alone=4 + len(QUESTIONS),
    requests=400,
    prompt_high=400,
    output_high=200,
    shared_prefix=0.5,
    prefix_tokens=128,
)
DEAD = b'{"error": {"message": "EngineCore encountered an issue. See stack trace", "code": 500}}'
ILLEGAL = b'{"error": {"message": "CUDA error: an illegal memory access was encountered"}}'


def body(n: int, plan: SoakPlan = LONG) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(Mix(plan).request(n).ask.body)
    return found


def test_a_request_follows_from_the_plan_and_its_number() -> None:
    numbers = range(60)
    once = [Mix(LONG).request(n).ask for n in numbers]
    again = [Mix(LONG).request(n).ask for n in reversed(numbers)]
    assert once == again[::-1]
    assert len({ask.body for ask in once[LONG.alone :]}) == 60 - LONG.alone
    other = msgspec.structs.replace(LONG, seed="other")
    assert Mix(other).request(30).ask != once[30]


def test_no_answer_may_take_more_memory_than_its_tokens_need() -> None:
    asks = [Mix(LONG).request(n).ask for n in range(40)]
    most = (1 << 20) + LONG.output_high * 4096
    assert {ask.limit_bytes for ask in asks} == {min(most, ANSWER_LIMIT_BYTES)}


def test_each_kind_and_each_probe_is_first_asked_alone() -> None:
    first = [Mix(LONG).request(n) for n in range(LONG.alone)]
    assert {r.name for r in first} == {*LONG.kinds, *(q.name for q in QUESTIONS)}
    assert not any(r.streamed for r in first)


def test_the_mix_has_what_was_asked_for() -> None:
    mix = Mix(LONG)
    later = [mix.request(n) for n in range(LONG.alone, 400)]
    assert {r.kind for r in later} == {*LONG.kinds, Kind.PROBE}
    assert {r.name for r in later if r.kind is Kind.PROBE} == {q.name for q in QUESTIONS}
    shared = sum(r.shared for r in later)
    assert 0.35 < shared / len(later) < 0.6
    salts = {msgspec.json.decode(r.ask.body)["cache_salt"] for r in later if r.shared}
    assert len(salts) == 1
    lengths = [msgspec.json.decode(r.ask.body)["max_tokens"] for r in later]
    assert min(lengths) < 30
    assert max(lengths) > 150
    without = {mix.request(n, {"tools"}).kind for n in range(LONG.alone, 100)}
    assert Kind.TOOLS not in without


def test_lengths_are_forced_but_for_tools_and_probes() -> None:
    for n in range(LONG.alone, 80):
        request = Mix(LONG).request(n)
        forced = request.kind in (Kind.RAW, Kind.ANSWER, Kind.THINKING)
        assert body(n).get("ignore_eos", False) is forced
        assert ("tools" in body(n)) is (request.kind is Kind.TOOLS)


@pytest.mark.parametrize(
    "wishes",
    [
        Wishes(concurrency=0),
        Wishes(concurrency=10_000),
        Wishes(requests=5, duration_s=5),
        Wishes(requests=-1),
        Wishes(shared_prefix=1.5),
        Wishes(preempt=True, longest=100),
        Wishes(timeout_s=0),
    ],
)
def test_wishes_that_nobody_can_grant(wishes: Wishes) -> None:
    with pytest.raises(UsageError):
        check_wishes(wishes)


def test_the_plan_to_preempt_is_made_from_what_the_server_tells() -> None:
    plan = draft_plan(Wishes(preempt=True), SNAPSHOT, "tiny", "s", 0.75)
    assert plan.concurrency * (plan.prompt_low + plan.output_low) > plan.pool_tokens == 5120
    blind = msgspec.structs.replace(SNAPSHOT, counts=None)
    with pytest.raises(UsageError, match="does not tell"):
        draft_plan(Wishes(preempt=True), blind, "tiny", "s", 0.75)
    usual = draft_plan(Wishes(), SNAPSHOT, "tiny", "s", 0.75)
    assert (usual.last, usual.concurrency, usual.preempt) == (400, 8, False)


def result_of(*records: Record, plan: SoakPlan = PLAN, **more: Any) -> SoakResult:
    tally = tallied(*records)
    return SoakResult(
        snapshot=SNAPSHOT,
        plan=plan,
        records="soak-1.jsonl",
        requests=tally.requests,
        ok=tally.requests - tally.failed,
        seconds=tally.seconds,
        health=tally.health,
        kinds=tally.kinds(),
        failures=tally.failures(),
        pressure=tally.pressure(),
        sessions=tuple(tally.sessions),
        probes=tally.probes,
        held=tally.held,
        ties=tally.ties,
        held_alone=tuple(tally.held_alone),
        sound_alone=tuple(tally.sound_alone),
        not_taken=tally.not_taken,
        others=tally.others,
        loaded=tally.loaded,
        **more,
    )


def sound_run(*records: Record, preemptions: float = 0.0) -> tuple[Record, ...]:
    return (
        SessionRecord(at=0.0, start_s=1.0),
        look(0.0, preemptions=0.0, running=0.0, kv_usage=0.0, finished=0.0),
        asked(0, 0.0),
        asked(1, 0.0, name="count", held=True),
        *(asked(n, 1.0 + n) for n in range(2, 30)),
        *records,
        look(40.0, preemptions=preemptions, running=2.0, kv_usage=0.5, finished=30.0),
        EndRecord(at=40.0, ending=Ending.DONE),
    )


def judged(result: SoakResult) -> tuple[Verdict, set[str], dict[str, Verdict]]:
    criteria, findings = judge_soak(result)
    answers = {c.name: c.verdict for c in criteria}
    return fold(answers.values()), {f.rule for f in findings}, answers


@pytest.mark.parametrize(
    ("status", "answer"),
    [(0, Verdict.INCONCLUSIVE), (503, Verdict.INCONCLUSIVE), (404, Verdict.PASS)],
)
def test_an_engine_whose_health_never_answered_is_not_called_alive(
    status: int, answer: Verdict
) -> None:
    result = msgspec.structs.replace(
        result_of(*sound_run()),
        health=status,
        snapshot=msgspec.structs.replace(SNAPSHOT, healthy=status),
    )
    verdict, _, answers = judged(result)
    assert verdict is answers["soak/alive"] is answer


def test_a_pass_says_what_it_did_not_exercise() -> None:
    verdict, rules, _ = judged(result_of(*sound_run()))
    assert (verdict, rules) == (Verdict.PASS, {"soak/no-preemption"})
    verdict, rules, _ = judged(result_of(*sound_run(preemptions=80.0)))
    assert (verdict, rules) == (Verdict.PASS, set())


def test_preemption_that_was_asked_for_and_did_not_happen_is_no_pass() -> None:
    plan = msgspec.structs.replace(PLAN, preempt=True)
    verdict, rules, _ = judged(result_of(*sound_run(), plan=plan))
    assert (verdict, rules) == (Verdict.INCONCLUSIVE, {"soak/no-preemption"})
    assert judged(result_of(*sound_run(preemptions=1.0), plan=plan))[0] is Verdict.PASS


@pytest.mark.parametrize(
    ("record", "rule"),
    [
        (asked(30, 30.0, outcome=Outcome.ENGINE_DEAD, status=500), "soak/engine-dead"),
        (asked(30, 30.0, outcome=Outcome.ILLEGAL_ACCESS, status=500), "soak/illegal-access"),
        (asked(30, 30.0, outcome=Outcome.TIMEOUT), "soak/failed-requests"),
        (asked(30, 30.0, outcome=Outcome.GARBAGE, detail="!"), "soak/garbage"),
        (look(30.0, start=9.0), "soak/restarted"),
    ],
)
def test_whatever_failed_fails_and_says_so(record: Record, rule: str) -> None:
    verdict, rules, _ = judged(result_of(*sound_run(record)))
    assert verdict is Verdict.FAIL
    assert rule in rules


def test_a_dead_server_is_told_with_the_request_and_the_log_s_cause() -> None:
    cause = Cause(
        "spec/illegal-access",
        "an illegal memory access under speculation",
        "spec",
        True,
        Confidence.REPORTED,
        "",
        (),
        (Evidence("server.log", "CUDA error: an illegal memory access was encountered", 7),),
        1,
    )
    died = asked(30, 30.0, outcome=Outcome.TRUNCATED, detail="the line broke")
    gone = look(41.0)
    gone = msgspec.structs.replace(gone, health=0, counts=None)
    end = EndRecord(at=41.0, ending=Ending.GONE)
    run = (*sound_run(died)[:-1], gone, end)
    log = LogSeen(name="server.log", new_bytes=9, errors=1, first_error="boom", cause=cause)
    criteria, findings = judge_soak(result_of(*run, log=log))
    assert findings[0].rule == "soak/illegal-access"
    assert "at request 30 (raw), 31.0 s in" in findings[0].message
    assert "an illegal memory access under speculation" in findings[0].message
    assert fold(c.verdict for c in criteria) is Verdict.FAIL
    _, findings = judge_soak(result_of(*run))
    assert findings[0].rule == "soak/engine-dead"


def test_a_server_that_stops_answering_at_the_very_end_is_dead() -> None:
    silent = msgspec.structs.replace(look(39.5), health=0, counts=None)
    *most, last, end = sound_run()
    assert "soak/engine-dead" in judged(result_of(*most, last, silent, end))[1]
    stopped = EndRecord(at=40.0, ending=Ending.INTERRUPTED)
    assert "soak/engine-dead" not in judged(result_of(*most, last, silent, stopped))[1]


def test_a_process_that_is_gone_is_dead_whatever_else_answers() -> None:
    process = ProcessSeen(pid=7, first_rss_bytes=1, last_rss_bytes=1, peak_rss_bytes=1, gone=True)
    assert "soak/engine-dead" in judged(result_of(*sound_run(), process=process))[1]


@pytest.mark.parametrize("ending", [Ending.INTERRUPTED, Ending.STUCK])
def test_what_was_not_finished_is_no_pass(ending: Ending) -> None:
    run = (*sound_run(preemptions=3.0)[:-1], EndRecord(at=40.0, ending=ending))
    verdict, _, answers = judged(result_of(*run))
    assert answers["soak/whole"] is Verdict.INCONCLUSIVE
    assert verdict is (Verdict.FAIL if ending is Ending.STUCK else Verdict.INCONCLUSIVE)


def test_warnings_pass_with_their_findings() -> None:
    anew = (
        *sound_run(preemptions=3.0)[:-1],
        EndRecord(at=40.0, ending=Ending.KILLED),
        SessionRecord(at=50.0, start_s=2.0, others="5 are running", done=30),
        asked(30, 50.0, name="count", held=False),
        EndRecord(at=51.0, ending=Ending.DONE),
    )
    log = LogSeen(name="server.log", new_bytes=9, errors=2, first_error="boom")
    verdict, rules, _ = judged(result_of(*anew, log=log))
    assert verdict is Verdict.PASS
    assert rules == {
        "soak/started-anew",
        "soak/loaded",
        "soak/probe-changed",
        "soak/log-errors",
    }


@pytest.mark.parametrize(
    ("held", "alone", "ties", "verdict", "rule"),
    [
        (0, ("count", "week"), 0, Verdict.FAIL, "soak/probes-lost"),
        (0, ("count",), 0, Verdict.PASS, "soak/probe-changed"),  # one question is one word
        (0, ("count", "week"), 6, Verdict.PASS, "soak/probe-changed"),
        (1, ("count", "week"), 0, Verdict.PASS, "soak/probe-changed"),
    ],
)
def test_all_probes_lost_are_no_rounding(
    held: int, alone: tuple[str, ...], ties: int, verdict: Verdict, rule: str
) -> None:
    run = result_of(*sound_run())
    told = {"probes": 6, "held": held, "ties": ties, "held_alone": alone}
    _, found, criteria = judged(msgspec.structs.replace(run, **told))
    assert rule in found
    assert criteria["soak/text"] is verdict


def test_where_no_probe_was_right_alone_nobody_can_tell() -> None:
    run = result_of(*sound_run())
    blind = msgspec.structs.replace(run, held_alone=(), probes=0, held=0)
    _, found, criteria = judged(blind)
    assert "soak/none-right-alone" in found
    assert criteria["soak/text"] is Verdict.INCONCLUSIVE
    declined = msgspec.structs.replace(blind, not_taken={"count": "400"})
    assert judged(declined)[2]["soak/text"] is Verdict.PASS


def test_a_corrupted_probe_fails() -> None:
    late = asked(30, 31.0, name="count", held=False, outcome=Outcome.CORRUPTED, detail="x")
    _, found, criteria = judged(result_of(*sound_run(late)))
    assert {"soak/corrupted"} <= found
    assert criteria["soak/text"] is Verdict.FAIL
    assert criteria["soak/answered"] is Verdict.PASS


def test_a_server_that_tells_nothing_is_not_taken_for_one_without_preemption() -> None:
    run = [
        msgspec.structs.replace(r, counts=None) if isinstance(r, WatchRecord) else r
        for r in sound_run()
    ]
    verdict, rules, answers = judged(
        result_of(*run, plan=msgspec.structs.replace(PLAN, preempt=True))
    )
    assert verdict is Verdict.INCONCLUSIVE
    assert answers["soak/streams"] is answers["soak/alone"] is Verdict.SKIPPED
    assert "soak/no-preemption" in rules


def test_preemption_is_recommended_only_where_it_can_be_seen() -> None:
    told = report_soak(result_of(*sound_run()))
    assert told.next_steps == (f"sparkproof soak {SNAPSHOT.address} --preempt",)
    blind = [
        msgspec.structs.replace(r, counts=EngineCounts()) if isinstance(r, WatchRecord) else r
        for r in sound_run()
    ]
    untold = report_soak(result_of(*blind))
    assert untold.verdict is Verdict.PASS
    assert untold.next_steps == (f"sparkproof bench {SNAPSHOT.address}",)
    assert not any("--preempt" in finding.remedy for finding in untold.findings)
    assert "soak/alone" in {c.name for c in untold.criteria if c.verdict is Verdict.SKIPPED}


@pytest.mark.parametrize(("sound", "verdict"), [(1, Verdict.INCONCLUSIVE), (2, Verdict.PASS)])
def test_a_few_short_answers_that_look_like_text_do_not_speak_for_the_rest(
    sound: int, verdict: Verdict
) -> None:
    result = msgspec.structs.replace(
        result_of(*sound_run(preemptions=1.0)),
        plan=msgspec.structs.replace(PLAN, alone=4),
        sound_alone=("count", "week")[:sound],
    )
    assert judged(result)[0] is verdict
