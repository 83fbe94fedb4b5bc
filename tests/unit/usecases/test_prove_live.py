"""What was predicted beside what a server shows, and one verdict over the parts."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.usecases.live_samples import PLAN, fit_of, match, proof, proof_result, snapshot

from sparkproof.core.deployment import Deployment
from sparkproof.core.finding import Severity
from sparkproof.core.results.live_proof import LiveProof, Match, Part, PartName, Topic
from sparkproof.core.verdict import Verdict, fold
from sparkproof.usecases.prove.live_match import Plans, judge_match, match_log, match_server
from sparkproof.usecases.prove.live_plan import plan_bench
from sparkproof.usecases.prove.live_summary import facts_used, report_live

DEPLOYMENT = Deployment("models/m", artifact="vllm==0.33.0", served_names=("tiny",))


def rows(plans: Plans, **seen: str) -> dict[str, Match]:
    found = match_server(proof_result(), DEPLOYMENT, snapshot(**seen), "tiny", plans)
    return {row.name: row for row in found}


def test_a_server_that_is_what_was_proven_agrees_in_every_row() -> None:
    found = rows(Plans(cut=PLAN, fit=fit_of(PLAN)))
    assert {name: row.agrees for name, row in found.items()} == dict.fromkeys(
        (
            "version",
            "served names",
            "checkpoint's folder",
            "max_model_len",
            "prefix caching",
            "speculation",
            "KV blocks",
            "block size",
            "KV tokens of 64 blocks",
            "maximum concurrency",
        ),
        True,
    )
    criterion, findings = judge_match(tuple(found.values()))
    assert (criterion.verdict, findings) == (Verdict.PASS, ())


@pytest.mark.parametrize(
    ("seen", "name"),
    [
        ({"version": "0.32.0"}, "version"),
        ({"length": "2048"}, "max_model_len"),
        ({"block_size": "32"}, "block size"),
        ({"kv_cache_size_tokens": "1025"}, "KV tokens of 64 blocks"),
        ({"kv_cache_max_concurrency": "1.02"}, "maximum concurrency"),
        ({"enable_prefix_caching": "False"}, "prefix caching"),
        ({"drafting": "yes"}, "speculation"),
        ({"name": "other"}, "served names"),
    ],
)
def test_one_difference_fails_and_is_named(seen: dict[str, str], name: str) -> None:
    found = rows(Plans(cut=PLAN), **seen)
    assert [row.name for row in found.values() if row.agrees is False] == [name]
    criterion, (finding,) = judge_match(tuple(found.values()))
    assert criterion.verdict is Verdict.FAIL
    assert name in criterion.reason
    assert (finding.rule, finding.severity) == ("proof/server-differs", Severity.ERROR)


def test_blocks_of_a_pool_whose_bytes_the_server_tells_are_exact() -> None:
    plans = Plans(cut=PLAN, of_bytes=64)
    row = rows(plans, kv_cache_memory_bytes="64")["KV blocks of 64 bytes"]
    assert (row.agrees, row.exact) == (True, True)
    assert rows(plans, kv_cache_memory_bytes="64", num_gpu_blocks="63")[row.name].agrees is False


def test_flags_that_the_cache_configuration_repeats_are_compared() -> None:
    args = ("--gpu-memory-utilization", "0.90", "--mamba-cache-mode=align", "--max-num-seqs", "8")
    deployment = msgspec.structs.replace(DEPLOYMENT, args=args)
    server = snapshot(gpu_memory_utilization="0.9", mamba_cache_mode="none")
    found = match_server(proof_result(), deployment, server, "tiny", Plans())
    flags = {row.name: row.agrees for row in found if row.name.startswith("--")}
    assert flags == {"--gpu-memory-utilization": True, "--mamba-cache-mode": False}


def test_a_pool_outside_of_its_estimate_warns_and_does_not_fail() -> None:
    low, high = (msgspec.structs.replace(PLAN, blocks=n) for n in (80, 120))
    row = rows(Plans(cut=PLAN, fit=fit_of(PLAN, low, high)))["KV blocks"]
    assert (row.agrees, row.exact) == (False, False)
    criterion, (finding,) = judge_match((row, match("version", agrees=True)))
    assert (criterion.verdict, criterion.warning) == (Verdict.PASS, True)
    assert finding.rule == "proof/pool-outside-estimate"


def test_what_a_server_does_not_tell_neither_agrees_nor_differs() -> None:
    found = rows(Plans(cut=PLAN), silent="yes")
    assert {found[name].agrees for name in ("block size", "KV tokens of 64 blocks")} == {None}
    assert judge_match((match("x"),))[0].verdict is Verdict.INCONCLUSIVE


def test_backends_are_open_without_a_log() -> None:
    (row,) = match_log(proof_result())
    assert (row.topic, row.predicted, row.agrees) == (Topic.BACKEND, "FLASH_ATTN", None)
    assert "--log" in row.likely


def part(name: PartName, verdict: Verdict, summary: str = "so") -> Part:
    return Part(name=name, verdict=verdict, summary=summary)


@pytest.mark.parametrize(
    "verdicts",
    [
        (Verdict.PASS, Verdict.SKIPPED, Verdict.PASS),
        (Verdict.PASS, Verdict.ERROR, Verdict.SKIPPED),
        (Verdict.FAIL, Verdict.PASS, Verdict.PASS),
        (Verdict.PASS, Verdict.PASS, Verdict.INCONCLUSIVE),
    ],
)
def test_the_verdict_is_the_fold_of_the_parts(verdicts: tuple[Verdict, ...]) -> None:
    names = (PartName.STATIC, PartName.MATCH, PartName.SMOKE)
    parts = tuple(part(n, v, f"{n} says so") for n, v in zip(names, verdicts, strict=True))
    report = report_live(proof(), LiveProof(server="http://x", parts=parts), (), ())
    assert report.verdict is fold(verdicts)
    assert [c.name for c in report.criteria] == ["static", "match", "smoke"]
    worst = [p for p in parts if p.verdict is report.verdict]
    assert worst[0].name in report.summary
    if report.verdict is not Verdict.PASS:
        assert worst[0].summary in report.summary


def test_a_pass_says_what_was_left_out() -> None:
    parts = (part(PartName.STATIC, Verdict.PASS), part(PartName.LOG, Verdict.SKIPPED, "no log"))
    report = report_live(proof(), LiveProof(server="http://x", parts=parts), (), ())
    assert report.result is not None
    assert report.result.live is not None
    assert report.summary.endswith("left out: log")
    assert "log: no log" in report.result.live.not_exercised


def test_running_against_the_proof_is_said() -> None:
    parts = (part(PartName.STATIC, Verdict.FAIL), part(PartName.SMOKE, Verdict.PASS))
    report = report_live(proof(), LiveProof(server="http://x", parts=parts), (), ())
    assert [f.rule for f in report.findings] == ["proof/runs-nevertheless"]


@pytest.mark.parametrize(("limit", "depth"), [(262144, 1024), (1024, 832), (64, 1), (0, 1024)])
def test_the_benchmark_fits_into_the_served_length(limit: int, depth: int) -> None:
    plan = plan_bench(snapshot(length=str(limit)), "tiny", None, quick=False)
    assert {cell.depth for cell in plan.cells} == {depth}
    assert {cell.concurrency for cell in plan.cells} == {1, 8}
    assert all(cell.depth + cell.output <= limit for cell in plan.cells) or not limit


def test_facts_have_their_day() -> None:
    found = list(facts_used(("hardware/gb10", "gates/operators", "backends/none", "x")))
    assert {item.id.partition("/")[0] for item in found} == {"hardware", "gates"}
    assert all(item.source and len(item.checked) == 10 for item in found)


def test_a_wrong_block_size_is_one_finding_with_what_follows_under_it() -> None:
    seen = {
        "block_size": "32",
        "kv_cache_size_tokens": "2048",
        "kv_cache_max_concurrency": "2.0",
        "num_gpu_blocks": "64",
    }
    found = rows(Plans(cut=PLAN), **seen)
    following = ("KV tokens of 64 blocks", "maximum concurrency")
    assert {row.name for row in found.values() if row.follows == "block size"} == set(following)
    criterion, (finding,) = judge_match(tuple(found.values()))
    assert finding.subject == "block size"
    assert finding.message.endswith(f"; with it differ {', '.join(following)}")
    assert criterion.reason.endswith("in block size")


def test_another_context_length_explains_the_concurrency() -> None:
    found = rows(Plans(cut=PLAN), length="2048", kv_cache_max_concurrency="0.5")
    assert found["maximum concurrency"].follows == "max_model_len"
    _, (finding,) = judge_match(tuple(found.values()))
    assert finding.subject == "max_model_len"


@pytest.mark.parametrize("text", ["nan", "inf", "None"])
def test_a_concurrency_that_is_no_number_is_not_shown(text: str) -> None:
    row = rows(Plans(cut=PLAN), kv_cache_max_concurrency=text)["maximum concurrency"]
    assert (row.agrees, row.seen) == (None, "")
