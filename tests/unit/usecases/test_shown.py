"""What a server showed before: receipts of the same deployment, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import digest
from sparkproof.core.identities import Identities
from sparkproof.core.receipt import Receipt
from sparkproof.core.results.proof import Shown
from sparkproof.core.verdict import Verdict
from sparkproof.receipts.receipt import seal
from sparkproof.render.lines import plain_text
from sparkproof.render.select_text import render_select
from sparkproof.usecases.bench.identities import stated_identities
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.select import select
from sparkproof.usecases.shown import find_failures_shown, find_shown, shown_criteria


class Measured(msgspec.Struct, frozen=True):
    identities: Identities


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "x"}), encoding="utf-8")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> ReceiptStore:
    return ReceiptStore(tmp_path / "receipts")


def deployment(checkpoint: Path, *args: str) -> Deployment:
    return Deployment(checkpoint=str(checkpoint), artifact="vllm==0.33.0", args=args, name="x")


def keep(
    store: ReceiptStore,
    command: str,
    verdict: Verdict = Verdict.PASS,
    *,
    of: Deployment | None = None,
    result: Measured | None = None,
) -> None:
    report = make_report(command, result, verdict=verdict, summary=f"a {command}")
    inputs = {"deployment": digest(of)} if of is not None else {"server": "sha256:1"}

    def sealed(previous: str) -> Receipt:
        return seal(report, inputs=inputs, previous=previous)

    store.append(sealed)


def said(found: tuple[Shown, ...]) -> list[tuple[str, Verdict, str]]:
    return [(item.command, item.verdict, item.same) for item in found]


def test_the_newest_receipt_of_each_gate_counts(store: ReceiptStore, checkpoint: Path) -> None:
    mine = deployment(checkpoint, "--moe-backend", "marlin")
    keep(store, "smoke", Verdict.FAIL, of=mine)
    keep(store, "smoke", of=mine)
    keep(store, "prove", of=mine)
    keep(store, "soak", Verdict.FAIL, of=deployment(checkpoint))
    keep(store, "bench")
    assert said(find_shown(store, mine)) == [("smoke", Verdict.PASS, "deployment")]


def test_a_measurement_of_the_same_choices_counts_too(
    store: ReceiptStore, checkpoint: Path
) -> None:
    ran = deployment(checkpoint, "--moe-backend", "marlin", "--max-num-seqs", "4")
    keep(store, "bench", of=ran, result=Measured(stated_identities(ran, {}, {})))
    alike = deployment(checkpoint, "--moe-backend=marlin", "--port", "1")
    (found,) = find_shown(store, alike)
    assert (found.command, found.same) == ("bench", "checkpoint, artifact and choices")
    assert find_shown(store, deployment(checkpoint)) == ()
    other = msgspec.structs.replace(alike, artifact="vllm==0.32.0")
    assert find_shown(store, other) == ()
    warmer = msgspec.structs.replace(alike, env={"VLLM_X": "1"})
    assert find_shown(store, warmer) == ()


def test_another_checkpoint_of_that_name_is_another_one(
    store: ReceiptStore, checkpoint: Path
) -> None:
    ran = deployment(checkpoint)
    keep(store, "bench", result=Measured(stated_identities(ran, {}, {})))
    assert len(find_shown(store, ran)) == 1
    (checkpoint / "config.json").write_text('{"model_type": "y"}', encoding="utf-8")
    assert find_shown(store, ran) == ()


def test_an_empty_store_shows_nothing(store: ReceiptStore, checkpoint: Path) -> None:
    assert find_shown(store, deployment(checkpoint)) == ()


def test_it_is_told_and_never_folded(store: ReceiptStore, checkpoint: Path) -> None:
    mine = deployment(checkpoint)
    keep(store, "soak", Verdict.FAIL, of=mine)
    keep(store, "smoke", of=mine)
    found = find_shown(store, mine)
    assert {item.verdict for item in shown_criteria(found)} == {Verdict.SKIPPED}
    (told,) = find_failures_shown(found)
    assert (told.rule, told.subject) == ("shown/failed", "soak")


def test_a_selection_shows_it_column_by_column(store: ReceiptStore) -> None:
    folder = str(Path(__file__).parents[3] / "examples" / "qwen3.6-35b-a3b-w4a4" / "checkpoint")
    run = Deployment(folder, artifact="vllm==0.33.0", args=("--max-num-seqs", "8"))
    other = msgspec.structs.replace(run, args=("--max-num-seqs", "9"))
    keep(store, "smoke", Verdict.FAIL, of=run)
    report = select((run, other), vllm="0.33.0", offline=True, store=store)
    assert report.result is not None
    first, second = (column.shown or () for column in report.result.columns)
    assert ([item.command for item in first], second) == (["smoke"], ())
    assert [f.rule for f in report.findings if f.rule.startswith("shown/")] == ["shown/failed"]
    shown = [item for item in report.criteria if "shown/smoke" in item.name]
    assert [item.verdict for item in shown] == [Verdict.SKIPPED]
    text = plain_text(render_select(report.result))
    assert "shown here: smoke" in text
    assert "not yet" in text
    assert report.verdict is not Verdict.FAIL
