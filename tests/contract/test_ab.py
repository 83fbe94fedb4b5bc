"""An A/B run over stand-ins: what it says of sound, tied, corrupt, mute and mistaken arms."""

from __future__ import annotations

import itertools
import stat
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.contract.ab_arms import (
    CONTROL,
    TASKS,
    TREATMENT,
    arm,
    only,
    outcome,
    rules,
    run,
    stand_in,
)

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import digest
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.observations.ab_run import AbAnswer
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbOutcome, AbResult
from sparkproof.core.results.compare import Relation
from sparkproof.core.server_port import Ask, Reply
from sparkproof.core.verdict import Verdict
from sparkproof.gates.ab import make_cells
from sparkproof.gates.ab_judge import derive
from sparkproof.testing.stand_in import FakePort
from sparkproof.testing.stand_in_answer import Response
from sparkproof.usecases.ab.arms import ArmRef
from sparkproof.usecases.ab.cause import attribute
from sparkproof.usecases.ab.report import report_ab


def test_two_sound_servers_show_no_difference_and_say_what_would_have_been_seen(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    cells = tuple(make_cells((1, 2)))
    report = run(tmp_path, arm(CONTROL), arm(started=5), say=said.append, cells=cells)
    assert (report.verdict, outcome(report)) == (Verdict.PASS, AbOutcome.NO_DIFFERENCE)
    assert "could have seen 17 %" in report.summary
    assert said.index("detects 17 % corruption with 90 % power at 12 prompts") == 1
    assert "ab/little-power" in rules(report)
    warm = next(c for c in report.criteria if c.name == "ab/warm")
    assert not warm.warning  # the second time, the cache knew the prompts


def test_a_tie_that_falls_the_other_way_is_harmless(tmp_path: Path) -> None:
    report = run(tmp_path, arm(CONTROL, ties=0.5), arm(started=5, ties=0.5, tie_falls=True))
    assert (report.verdict, outcome(report)) == (Verdict.PASS, AbOutcome.HARMLESS)


def test_a_sure_token_replaced_is_corruption_and_the_task_is_shown(tmp_path: Path) -> None:
    report = run(tmp_path, arm(CONTROL), arm(started=5, corrupts=0.2))
    assert (report.verdict, outcome(report)) == (Verdict.FAIL, AbOutcome.CORRUPTS)
    finding = next(f for f in report.findings if f.rule == "ab/corrupts")
    assert "in place of" in finding.evidence[0].what


def test_without_log_probabilities_scores_decide(tmp_path: Path) -> None:
    mute: dict[str, Any] = {"lacks_logprobs": True, "lacks_ids": True}
    many = run(tmp_path, arm(CONTROL, **mute), arm(started=5, corrupts=0.7, **mute))
    assert outcome(many) is AbOutcome.CORRUPTS
    assert only(many).corrupted == 0
    few = run(tmp_path, arm(CONTROL, **mute), arm(started=5, corrupts=0.1, salt="few", **mute))
    assert outcome(few) is AbOutcome.INCONCLUSIVE
    assert "ab/unexplained" in rules(few)


class Garbling(FakePort):
    """Something on the line rewrites the text, and leaves the tokens as they were."""

    async def send(self, ask: Ask) -> Reply:
        reply = await super().send(ask)
        pieces = reply.pieces
        for key in (b'"text": "', b'"content": "'):
            pieces = tuple((t, piece.replace(key + b"20", key + b"21")) for t, piece in pieces)
        return msgspec.structs.replace(reply, pieces=pieces)


def test_the_same_tokens_with_another_text_are_corruption(tmp_path: Path) -> None:
    arms = [stand_in(started=number) for number in (0, 5)]
    for server in arms:
        server.answers = dict.fromkeys(server.answers, "20 21 22")
    report = run(tmp_path, FakePort(arms[0], name=CONTROL), Garbling(arms[1], name=TREATMENT))
    assert outcome(report) is AbOutcome.CORRUPTS


def test_each_treatment_of_a_sweep_has_its_own_verdict(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        arm(CONTROL),
        arm("http://k1", started=5),
        arm("http://k2", started=6, corrupts=0.3),
    )
    assert report.result is not None
    told = [treatment.outcome for treatment in report.result.treatments]
    assert told == [AbOutcome.NO_DIFFERENCE, AbOutcome.CORRUPTS]
    assert report.verdict is Verdict.FAIL


def test_a_server_against_itself_is_noise_and_never_corrupt(tmp_path: Path) -> None:
    port = arm(CONTROL, ties=0.5)
    assert outcome(run(tmp_path, port, port, refs=[ArmRef(CONTROL)], aa=True)) is (
        AbOutcome.NO_DIFFERENCE
    )


class Fickle(FakePort):
    """Corrupts every other answer to the same prompt: no control at all."""

    async def send(self, ask: Ask) -> Reply:
        assert isinstance(self.stand_in, TaskStandInType)
        self.stand_in.corrupts = 0.9 if next(_TURNS) % 2 else 0.0
        return await super().send(ask)


_TURNS = itertools.count()
TaskStandInType = type(stand_in())


def test_a_control_that_contradicts_itself_is_none(tmp_path: Path) -> None:
    fickle = Fickle(stand_in(), name=CONTROL)
    for refs, ports in (([ArmRef(CONTROL)], (fickle, fickle)), (None, (fickle, arm(started=5)))):
        report = run(tmp_path, *ports, refs=refs, aa=refs is not None)
        assert "ab/unsound-control" in rules(report)
        assert report.verdict is not Verdict.PASS
    assert outcome(run(tmp_path, fickle, fickle, refs=[ArmRef(CONTROL)], aa=True)) is (
        AbOutcome.INCONCLUSIVE
    )


def test_the_same_server_under_two_names_is_refused(tmp_path: Path) -> None:
    server = stand_in()
    with pytest.raises(UsageError, match="the same server"):
        run(tmp_path, FakePort(server, name=CONTROL), FakePort(server, name=TREATMENT))
    apart = run(tmp_path, arm(CONTROL), arm())  # one start time, yet counters of their own
    assert outcome(apart) is AbOutcome.NO_DIFFERENCE


class OtherTokens(TaskStandInType):  # type: ignore[misc, valid-type]
    """Cuts texts differently."""

    def respond(self, method: str, path: str, body: bytes, key: str = "") -> Response:
        if path == "/tokenize":
            body = body.replace(b"0.22.0", b"0. 22.0")
        answer: Response = super().respond(method, path, body, key)
        return answer


def test_another_tokenizer_is_named_and_nothing_is_asked(tmp_path: Path) -> None:
    report = run(tmp_path, arm(CONTROL), FakePort(OtherTokens(started=5.0), name=TREATMENT))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert rules(report) == {"ab/other-tokenizer"}
    assert report.result is not None
    assert report.result.passes == ()


class Elsewhere(TaskStandInType):  # type: ignore[misc, valid-type]
    """Serves another checkpoint."""

    def respond(self, method: str, path: str, body: bytes, key: str = "") -> Response:
        answer: Response = super().respond(method, path, body, key)
        pieces = tuple((t, p.replace(b"/models/m", b"/models/other")) for t, p in answer.pieces)
        return answer._replace(pieces=pieces)


def other_checkpoint(**more: Any) -> FakePort:
    plain = stand_in(started=5, behaviour={"shift": 0.4}, **more)
    fields = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    return FakePort(Elsewhere(**fields), name=TREATMENT)


def test_another_checkpoint_is_named_unless_it_is_meant(tmp_path: Path) -> None:
    report = run(tmp_path, arm(CONTROL), other_checkpoint())
    assert rules(report) == {"ab/other-checkpoint"}
    assert report.verdict is Verdict.INCONCLUSIVE
    meant = run(tmp_path, arm(CONTROL), other_checkpoint(corrupts=0.7), differ=("checkpoint",))
    assert outcome(meant) is AbOutcome.CORRUPTS
    assert only(meant).corrupted == 0  # by the scores alone


def test_one_name_with_another_fingerprint_is_compared_and_not_attributed(tmp_path: Path) -> None:
    shifted = arm(started=5, behaviour={"shift": 0.4}, corrupts=0.3)
    report = run(tmp_path, arm(CONTROL), shifted)
    assert "ab/fingerprint-apart" in rules(report)
    assert only(report).relation is Relation.CANNOT_ATTRIBUTE


def test_a_server_that_restarts_meanwhile_is_told(tmp_path: Path) -> None:
    report = run(tmp_path, arm(CONTROL), arm(started=5, behaviour={"restarts_after": 20}))
    assert "ab/restarted" in rules(report)
    assert outcome(report) is AbOutcome.INCONCLUSIVE


def deployment(*args: str, **more: Any) -> Deployment:
    return Deployment(
        schema=1,
        name="x",
        checkpoint="m",
        artifact="vllm==0.32.0",
        device="gb10",
        args=args,
        **more,
    )


@pytest.mark.parametrize(
    ("flags", "relation", "said"),
    [
        (("--speculative-config", "{}"), Relation.BECAUSE, "arguments (--speculative-config)"),
        (("--kv-cache-dtype=fp8", "--block-size", "32"), Relation.CANNOT_ATTRIBUTE, "--block-size"),
        ((), Relation.UNEXPLAINED, "every chosen identity is the same"),
    ],
)
def test_a_cause_is_named_where_one_thing_differs(
    tmp_path: Path, flags: tuple[str, ...], relation: Relation, said: str
) -> None:
    refs = [ArmRef(CONTROL, deployment()), ArmRef(TREATMENT, deployment(*flags))]
    report = run(tmp_path, arm(CONTROL), arm(started=5, corrupts=0.3), refs=refs, box="spark")
    assert only(report).relation is relation
    assert said in only(report).reason
    assert (relation is Relation.BECAUSE) is (said in report.summary)


def test_a_stored_result_is_judged_again_to_the_same(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path / "receipts")
    report = run(tmp_path, arm(CONTROL), arm(started=5, corrupts=0.2), store=store)
    _, receipt = store.find("latest")
    stored = msgspec.json.decode(receipt.report, type=Report[AbResult]).result
    assert stored is not None
    bare = msgspec.structs.replace(stored, treatments=(), noise=())
    assert report_ab(attribute(derive(bare))).criteria == report.criteria


class Stopped(FakePort):
    """Interrupts the run at its n-th request."""

    left = 30

    async def send(self, ask: Ask) -> Reply:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return await super().send(ask)


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    stopped = Stopped(stand_in(started=5, corrupts=0.2), name=TREATMENT)
    first = run(tmp_path, arm(CONTROL), stopped)
    assert first.result is not None
    assert first.result.interrupted
    assert "--resume" in first.next_steps[0]
    control = arm(CONTROL)
    second = run(tmp_path, control, stopped, resume="latest")
    assert second.result is not None
    whole = run(tmp_path, arm(CONTROL), arm(started=5, corrupts=0.2))
    assert whole.result is not None
    assert not second.result.interrupted
    assert second.result.resumed_after > 0
    assert second.result.pairs == whole.result.pairs
    streamed = [r for _, r in control.stand_in.asked if r.get("stream")]
    asked = sum(p.asked for p in whole.result.passes if p.arm == 0)
    assert len(streamed) < asked  # what was answered is not asked again
    with pytest.raises(UsageError, match="another plan"):
        run(tmp_path, arm(CONTROL), stopped, resume="latest", prompts=13)


def edited(path: Path, old: bytes, new: bytes) -> str:
    """The records with one thing changed in them, and a head that fits them."""
    head, *rest = path.read_bytes().replace(old, new, 1).splitlines()
    fields = msgspec.json.decode(head)
    fields["plan_digest"] = digest(fields["plan"])
    path.write_bytes(b"\n".join([msgspec.json.encode(fields), *rest, b""]))
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"task":', b'"task":9', "never planned"),
        (b'"arm":0', b'"arm":-1', "never planned"),
        (b'"power":', b'"strength":1,"power":', "no plan of ab"),
        (b'"status":', b'"status":"x","was":', "no record"),
    ],
)
def test_records_that_are_none_of_this_run_are_one_error(
    tmp_path: Path, old: bytes, new: bytes, said: str
) -> None:
    run(tmp_path, arm(CONTROL), arm(started=5))
    (path,) = tmp_path.rglob("ab-*.jsonl")
    with pytest.raises(FormatError, match=said) as caught:
        run(tmp_path, arm(CONTROL), arm(started=5), resume=edited(path, old, new))
    assert path.name in str(caught.value)


OWN = b"""{"id": "a", "prompt": "%s", "expected": "x", "max_tokens": 64}
{"id": "b", "prompt": "other", "scorer": "contains", "expected": "river", "max_tokens": 9}
"""


def own_tasks(folder: Path, program: str) -> dict[str, Any]:
    prompt = next(t.prompt for t in TASKS if t.prompt and t.expected)
    path = folder / "tasks.jsonl"
    path.write_bytes(OWN % msgspec.json.encode(prompt)[1:-1])
    scorer = folder / "scorer.py"
    scorer.write_text(
        f"import json, sys\nfor line in sys.stdin:\n    row = json.loads(line)\n    {program}\n"
    )
    scorer.chmod(scorer.stat().st_mode | stat.S_IXUSR)
    command = f"'{sys.executable}' '{scorer}'"
    return {"tasks": str(path), "scorer_command": command, "prompts": 0}


def test_a_program_of_the_users_scores_their_tasks(tmp_path: Path) -> None:
    wish = own_tasks(tmp_path, 'print(json.dumps({"exact": row["expected"] == "x"}), flush=True)')
    report = run(tmp_path, arm(CONTROL), arm(started=5), **wish)
    assert {row.task_kind: row.treatment for row in only(report).accuracy} == {"own": 4}


@pytest.mark.parametrize("program", ["raise RuntimeError(row['id'])", "print('sound')"])
def test_a_scorer_that_throws_is_one_error_with_its_task(tmp_path: Path, program: str) -> None:
    wish = own_tasks(tmp_path, program)
    with pytest.raises(FormatError, match="task a") as caught:
        run(tmp_path, arm(CONTROL), arm(started=5), **wish)
    assert "--resume" in caught.value.hint


def test_a_server_that_no_task_fits_into_is_refused(tmp_path: Path) -> None:
    short: dict[str, Any] = {"behaviour": {"max_model_len": 80}}
    with pytest.raises(UsageError, match="no bundled task fits"):
        run(tmp_path, arm(CONTROL, **short), arm(started=5, **short))


def test_arms_that_make_no_comparison_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to compare with"):
        run(tmp_path, arm(CONTROL))
    with pytest.raises(UsageError, match="every arm has a command"):
        run(tmp_path, arm(CONTROL), arm(), refs=[ArmRef(CONTROL), ArmRef(CONTROL, None, "true")])


def test_an_answer_takes_little_room(tmp_path: Path) -> None:
    """What a journal holds can be read back by its type."""
    report = run(tmp_path, arm(CONTROL), arm(started=5))
    assert report.result is not None
    lines = (tmp_path / report.result.records).read_bytes().splitlines()[1:]
    answers = [line for line in lines if b'"type":"answer"' in line]
    found = [msgspec.json.decode(line, type=AbAnswer) for line in answers]
    assert {answer.ok for answer in found} == {True}
    assert all(token.nats is not None for answer in found for token in answer.tokens)
