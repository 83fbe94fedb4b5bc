"""What stored pairs and passes say, without any run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sparkproof.core.ab import Divergence, DivergenceClass, Score, Side
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.ab_run import AbPass, AbPlan
from sparkproof.core.observations.fingerprint import Fingerprint, PromptTrace
from sparkproof.core.observations.load_run import ClientHealth
from sparkproof.core.observations.server_snapshot import Served, ServerSnapshot, Window
from sparkproof.core.results.ab import AbArm, AbOutcome, AbPair, AbResult, Treatment
from sparkproof.core.verdict import Verdict
from sparkproof.gates.ab import (
    alpha_of,
    fitting,
    make_cells,
    noise_prompts,
    order_of,
    percent,
    plan_words,
    refuse_differences,
    wanted_prompts,
)
from sparkproof.gates.ab_arms import refusals
from sparkproof.gates.ab_findings import judge_ab
from sparkproof.gates.ab_judge import derive
from sparkproof.gates.ab_statistics import ALPHA
from sparkproof.gates.ab_tasks import bundled_tasks

PLAN = AbPlan(
    arms=("control", "treatment"),
    model="",
    task_set="x",
    tasks_digest="sha256:0",
    prompts=20,
    noise_prompts=4,
    cells=tuple(make_cells((1, 8), warm=False)),
    rounds=3,
    detect=0.01,
    power=0.9,
    alpha=ALPHA,
    speed=False,
)
SURE = Divergence(
    kind=DivergenceClass.UNKNOWN,
    at=3,
    control=Side(id=1, nats=-0.01, other_nats=-6.0),
    treatment=Side(id=2, nats=-0.01, other_nats=-6.0),
)
TIE = Divergence(
    kind=DivergenceClass.UNKNOWN,
    at=3,
    control=Side(id=1, nats=-0.7, other_nats=-0.75),
    treatment=Side(id=2, nats=-0.7, other_nats=-0.75),
)
MUTE = Divergence(kind=DivergenceClass.UNKNOWN, at=3, control=Side(id=1), treatment=Side(id=2))
SAME = Divergence(kind=DivergenceClass.IDENTICAL)
RIGHT, WRONG = Score(True), Score(False, "version: '1.2' in place of '1.2.3'")


def arm(name: str, *, root: str = "m", nats: float = -1.0, ids: tuple[int, ...] = (1, 2)) -> AbArm:
    served = Served("tiny", 1024, "vllm", root)
    return AbArm(
        name=name,
        snapshot=ServerSnapshot(address=f"http://{name}", version="0.32.0", models=(served,)),
        model="tiny",
        token_ids=((1, 2), ids),
        fingerprint=Fingerprint("x", (PromptTrace("p", (1, 2), (nats, nats)),)),
    )


def pair(task: int, divergence: Divergence | None = SAME, **more: Any) -> AbPair:
    return AbPair(
        **{
            "arm": 1,
            "task": f"t{task}",
            "task_kind": "json",
            "cell": 0,
            "round": task % 3,
            "divergence": divergence,
            "first": RIGHT,
            "second": RIGHT,
            **more,
        }
    )


def judged(*odd: AbPair, plan: AbPlan = PLAN, **more: Any) -> tuple[Treatment, AbResult]:
    """Both cells full of identical answers, but for the odd ones."""
    taken = {(p.arm, p.cell, p.task) for p in odd}
    plain = [
        filled
        for arm_, count in ((1, plan.prompts), (0, plan.noise_prompts))
        for cell in range(len(plan.cells))
        for n in range(count)
        if (filled := pair(n, arm=arm_, cell=cell)) is not None
        and (arm_, cell, filled.task) not in taken
    ]
    arms = (arm("control"), arm("treatment"))
    result = derive(AbResult(**{"plan": plan, "arms": arms, "pairs": (*odd, *plain), **more}))
    return result.treatments[0], result


def test_one_sure_token_is_enough_and_a_tie_is_not() -> None:
    sure, result = judged(pair(0, SURE, second=WRONG))
    assert sure.outcome is AbOutcome.CORRUPTS
    assert judge_ab(result)[0][2].verdict is Verdict.FAIL
    assert "; 1 right answers lost, 0 won" in sure.sentence
    assert judged(pair(0, TIE))[0].outcome is AbOutcome.HARMLESS
    assert judged()[0].outcome is AbOutcome.NO_DIFFERENCE


def test_losses_are_counted_over_all_cells_as_the_table_counts_them() -> None:
    odd = [pair(n, SURE, cell=cell, second=WRONG) for n in range(2) for cell in range(2)]
    assert "4 right answers lost, 0 won" in judged(*odd)[0].sentence


def test_a_control_that_has_nothing_right_is_no_proof_that_nothing_is_lost() -> None:
    odd = [pair(n, cell=cell, first=WRONG, second=WRONG) for n in range(20) for cell in range(2)]
    treatment, result = judged(*odd)
    assert treatment.outcome is AbOutcome.INCONCLUSIVE
    assert "ab/none-right" in {finding.rule for finding in judge_ab(result)[1]}
    assert judged(*odd[:-1])[0].outcome is AbOutcome.NO_DIFFERENCE  # one is right in both
    alone, noise = judged(*odd, plan=msgspec.structs.replace(PLAN, aa=True))
    assert alone.outcome is AbOutcome.NO_DIFFERENCE  # what a server's noise is, tokens tell
    assert "ab/none-right" in {finding.rule for finding in judge_ab(noise)[1]}


@pytest.mark.parametrize(
    ("second", "outcome"), [(WRONG, AbOutcome.CORRUPTS), (RIGHT, AbOutcome.INCONCLUSIVE)]
)
def test_a_sure_token_in_place_of_nonsense_is_no_fault_where_it_is_right(
    second: Score, outcome: AbOutcome
) -> None:
    odd = [pair(n, cell=cell, first=WRONG, second=WRONG) for n in range(20) for cell in range(2)]
    odd[0] = pair(0, SURE, first=WRONG, second=second)
    assert judged(*odd)[0].outcome is outcome


def test_a_server_against_itself_has_no_treatment_to_leave_out() -> None:
    plan = msgspec.structs.replace(PLAN, aa=True)
    found = {
        aa: next(
            f for f in judge_ab(judged(pair(0, SURE), plan=p)[1])[1] if f.rule == "ab/corrupts"
        )
        for aa, p in ((True, plan), (False, PLAN))
    }
    assert "leave the treatment out" in found[False].remedy
    assert "treatment" not in found[True].remedy


def test_what_was_replaced_is_shown_against_the_control_and_where_they_part() -> None:
    texts = {"first_text": "x" * 90 + "the build bot", "second_text": "x" * 90 + "the buqld bot"}
    treatment, result = judged(pair(0, SURE, first=WRONG, second=WRONG, **texts))
    shown = judge_ab(result)[1][0].evidence[0].what
    assert treatment.outcome is AbOutcome.CORRUPTS
    assert "xxthe buqld bot' in place of" in shown
    assert "version" not in shown


def test_a_tie_that_costs_a_right_answer_now_and_then_is_what_chance_does() -> None:
    lost = [pair(n, TIE, second=WRONG) for n in range(2)]
    won = [pair(n, TIE, first=WRONG) for n in range(2, 4)]
    assert judged(*lost, *won)[0].outcome is AbOutcome.HARMLESS


@pytest.mark.parametrize(("lost", "outcome"), [(6, AbOutcome.CORRUPTS), (4, AbOutcome.HARMLESS)])
def test_scores_alone_need_more_losses_than_chance_has(lost: int, outcome: AbOutcome) -> None:
    plan = msgspec.structs.replace(PLAN, differ=("checkpoint",))
    pairs = [pair(n, None, second=WRONG) for n in range(lost)]
    treatment, _ = judged(*pairs, plan=plan)
    assert treatment.outcome is outcome
    assert treatment.loss is not None
    assert treatment.loss.low <= lost / 20 <= treatment.loss.high


def test_the_sign_test_is_shared_out_over_cells_and_treatments() -> None:
    assert alpha_of(2, 3) == pytest.approx(ALPHA / 6)


def test_losses_that_nobody_can_explain_are_inconclusive() -> None:
    treatment, result = judged(pair(0, MUTE, second=WRONG))
    assert treatment.outcome is AbOutcome.INCONCLUSIVE
    assert [rule for rule, _ in treatment.doubts] == ["ab/unexplained"]
    assert "no log-probabilities" in treatment.sentence
    assert "ab/unexplained" in {f.rule for f in judge_ab(result)[1]}
    assert judged(pair(0, MUTE))[0].outcome is AbOutcome.HARMLESS


def test_a_control_at_odds_with_itself_decides_nothing_by_its_tokens() -> None:
    treatment, result = judged(pair(0, SURE, arm=0), pair(1, SURE))
    assert treatment.outcome is AbOutcome.INCONCLUSIVE
    assert "ab/unsound-control" in {rule for rule, _ in treatment.doubts}
    noise = judge_ab(result)[0][1]
    assert noise.verdict is Verdict.INCONCLUSIVE


def test_fewer_pairs_than_planned_are_told() -> None:
    _, full = judged()
    few = msgspec.structs.replace(
        full, pairs=tuple(p for p in full.pairs if p.task not in {"t1", "t2"})
    )
    treatment = derive(few).treatments[0]
    assert treatment.outcome is AbOutcome.INCONCLUSIVE
    assert treatment.doubts == (("ab/few-pairs", "36 of 40 answers of treatment have a partner"),)


def test_what_would_have_been_seen_follows_from_the_pairs() -> None:
    treatment, _ = judged()
    assert treatment.detectable == pytest.approx(1 - 0.1 ** (1 / 20), rel=1e-3)
    scored, _ = judged(plan=msgspec.structs.replace(PLAN, differ=("checkpoint",)))
    assert scored.detectable is not None
    assert treatment.detectable is not None
    assert scored.detectable > 2 * treatment.detectable  # the sign test needs several


def measured(arm_: int, number: int, speed: float, *, cell: int = 0, **more: Any) -> AbPass:
    health = ClientHealth(
        wall_s=1, cpu_share=0.1, lag_p50_ms=0, lag_p95_ms=more.pop("lag", 0.0), lag_max_ms=0
    )
    return AbPass(
        **{
            "arm": arm_,
            "cell": cell,
            "round": number,
            "started_at": "",
            "health": health,
            "asked": 10,
            "decode_tokens_per_s": speed,
            "ttft_s": 0.1,
            **more,
        }
    )


def rounds(treatment: tuple[float, ...], **more: Any) -> tuple[AbPass, ...]:
    control = (100.0, 101.0, 99.0)
    return tuple(
        measured(arm_, n, speed, cell=cell, **more)
        for cell in range(2)
        for arm_, speeds in enumerate((control, treatment))
        for n, speed in enumerate(speeds)
    )


TIMED = msgspec.structs.replace(PLAN, speed=True)


@pytest.mark.parametrize(
    ("speeds", "said"),
    [
        ((127.0, 128.0, 126.0), "faster by 27 % at 1 and by 27 % at 8, no difference seen"),
        ((80.0, 81.0, 79.0), "slower by 20 % at 1 and by 20 % at 8, no difference seen"),
        ((101.0, 99.0, 100.0), "as fast within the spread at 1 and at 8, no difference seen"),
    ],
)
def test_speed_and_quality_stand_in_one_sentence(speeds: tuple[float, ...], said: str) -> None:
    treatment, _ = judged(plan=TIMED, passes=rounds(speeds))
    assert treatment.sentence.startswith(said)


@pytest.mark.parametrize(
    ("more", "plan", "reason"),
    [
        ({"lag": 9.0}, {}, "the client could not keep up"),
        ({"window": Window(finished=12)}, {}, "other traffic ran beside"),
        ({"window": Window(preemptions=1)}, {}, "requests were preempted"),
        ({"window": Window(restarted=True)}, {}, "an arm was restarted"),
        ({"partial": True}, {}, "no round was measured whole"),
        ({}, {"one_url": True}, "the arms were not interleaved"),
    ],
)
def test_speeds_that_are_no_measurement_say_why(
    more: dict[str, Any], plan: dict[str, Any], reason: str
) -> None:
    timed = msgspec.structs.replace(TIMED, **plan)
    treatment, result = judged(plan=timed, passes=rounds((127.0, 128.0, 126.0), **more))
    assert reason in treatment.speed_doubts
    assert "speed inconclusive" in treatment.sentence
    assert "ab/speed-doubtful" in {f.rule for f in judge_ab(result)[1]}


def test_a_restart_between_passes_is_seen_by_the_start_time() -> None:
    passes = [measured(1, n, 100.0, start_s=float(n > 1)) for n in range(3)]
    treatment, _ = judged(passes=tuple(passes))
    assert [rule for rule, _ in treatment.doubts] == ["ab/restarted"]


@pytest.mark.parametrize(
    ("other", "differ", "rule"),
    [
        (arm("treatment"), (), ""),
        (arm("treatment", ids=(9,)), (), "ab/other-tokenizer"),
        (arm("treatment", ids=(9,)), ("checkpoint",), ""),
        (arm("treatment", root="other", nats=-3.0), (), "ab/other-checkpoint"),
        (arm("treatment", root="other"), (), ""),  # another name of the same weights
        (arm("treatment", nats=-3.0), (), ""),  # kernels that compute something else
    ],
)
def test_arms_that_can_not_be_compared_are_named(
    other: AbArm, differ: tuple[str, ...], rule: str
) -> None:
    found = refusals(arm("control"), other, differ)
    assert [name for name, _ in found] == ([rule] if rule else [])


def test_without_a_fingerprint_the_name_decides() -> None:
    bare = [
        msgspec.structs.replace(arm(name, root=root), fingerprint=None)
        for name, root in (("control", "m"), ("treatment", "n"))
    ]
    assert [rule for rule, _ in refusals(bare[0], bare[1], ())] == ["ab/other-checkpoint"]


def test_the_plan_says_what_it_can_see() -> None:
    count = wanted_prompts(0.01, 0.9, alpha_of(4, 1), ())
    assert count == 230
    plan = msgspec.structs.replace(PLAN, prompts=count)
    assert plan_words(plan) == "detects 1 % corruption with 90 % power at 230 prompts"
    assert wanted_prompts(0.01, 0.9, alpha_of(4, 1), ("checkpoint",)) > 4 * count
    few = msgspec.structs.replace(PLAN, prompts=4, differ=("checkpoint",))
    assert "too few" in plan_words(few)
    assert noise_prompts(230) == 58
    with pytest.raises(UsageError):
        refuse_differences(("speed",))


def test_every_prompt_is_in_one_round_and_the_arms_take_turns() -> None:
    assert sorted({PLAN.round_of(n) for n in range(PLAN.prompts)}) == [0, 1, 2]
    arms = [arm_ for number, batch, arm_ in order_of(PLAN) if batch == 8]
    assert arms == [0, 1, 1, 0, 0, 1]
    assert PLAN.noise_tasks() == (0, 5, 10, 15)


def test_tasks_longer_than_the_served_length_are_left_out() -> None:
    tasks = bundled_tasks(24)
    fits = fitting(arm("control"), 0.6)
    kept = [task for task in tasks if fits(task)]
    assert 0 < len(kept) < len(tasks)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.01, "1 %"), (0.0043, "0.43 %"), (0.174, "17 %"), (0.0, "0 %"), (1, "100 %")],
)
def test_shares_are_written_short(share: float, text: str) -> None:
    assert percent(share) == text
