"""A stored result of each gate is judged again, and looks the same on a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.contract.ab_arms import CONTROL, arm, run

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbResult
from sparkproof.core.verdict import Verdict
from sparkproof.gates.soak_plan import Wishes
from sparkproof.load.schedule import make_plan
from sparkproof.render.ab_html import ab_page
from sparkproof.render.export import render_export, render_judgement
from sparkproof.render.lines import plain_text
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.usecases.bench.command import Arm, bench
from sparkproof.usecases.keep import keep
from sparkproof.usecases.receipt_export import read_report
from sparkproof.usecases.receipt_judge import judge_receipt
from sparkproof.usecases.smoke import smoke
from sparkproof.usecases.soak.command import Surroundings, soak
from sparkproof.usecases.soak.run import Pace

URL = "http://tiny"


def asked(gate: str, folder: Path, store: ReceiptStore) -> Report[Any]:
    """A short run of a gate that leaves a receipt."""
    port = FakePort(StandIn(), name=URL)
    if gate == "smoke":
        return smoke(URL, port=port, store=store, seed="s")
    if gate == "soak":
        pace = Pace(idle_s=0, look_s=0.01, settle_s=0)
        around = Surroundings(records=folder)
        return soak(URL, Wishes(requests=20), around, port=port, store=store, pace=pace)
    if gate == "bench":
        plan = make_plan(
            modes=("raw",),
            depths=(64,),
            output=8,
            concurrencies=(1,),
            rates=(),
            requests=1,
            repeats=3,
        )
        return bench(Arm(URL), plan, port=port, store=store)
    return run(folder, arm(CONTROL), arm(started=5, corrupts=0.2), store=store)


@pytest.mark.parametrize("gate", ["smoke", "soak", "ab", "bench"])
def test_a_stored_result_is_judged_again_to_the_same(gate: str, tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path / "receipts")
    fresh = asked(gate, tmp_path, store)
    report, judged = judge_receipt(store, "latest")
    assert report.result is not None
    assert report.result.changed == ()
    assert (report.verdict, report.criteria) == (fresh.verdict, fresh.criteria)
    assert report.result.sealed is fresh.verdict
    text = plain_text(render_judgement(report.result, judged))
    assert "sealed as" in text
    assert "otherwise" not in text
    _, kept = read_report(store, "latest", rows=False)
    assert len(render_export(kept, "html")) > 4000


def sealed(store: ReceiptStore, report: Report[Any]) -> None:
    keep(report, store, {})


def test_what_comes_out_otherwise_is_told(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path / "receipts")
    fresh: Report[AbResult] = run(tmp_path, arm(CONTROL), arm(started=5, corrupts=0.2))
    _, rest = fresh.criteria[0], fresh.criteria[1:]
    kind = next(c for c in rest if c.verdict is Verdict.FAIL)
    mild = msgspec.structs.replace(kind, verdict=Verdict.PASS)
    criteria = tuple(mild if c is kind else c for c in fresh.criteria)
    sealed(store, msgspec.structs.replace(fresh, verdict=Verdict.PASS, criteria=criteria))
    report, _ = judge_receipt(store, "latest")
    assert report.result is not None
    assert (report.result.sealed, report.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert report.result.changed == ("ab/treatment: pass, now fail",)


def test_the_page_of_a_stored_comparison_is_that_of_the_live_one(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path / "receipts")
    fresh = asked("ab", tmp_path, store)
    _, kept = read_report(store, "latest", rows=False)
    assert render_export(kept, "html") == ab_page(fresh)


def test_a_receipt_that_was_changed_or_is_of_no_gate_is_one_error(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path / "receipts")
    asked("smoke", tmp_path, store)
    (path,) = (tmp_path / "receipts").glob("*smoke*.json")
    path.write_bytes(path.read_bytes().replace(b"stand-in", b"stand-up"))
    with pytest.raises(FormatError):
        judge_receipt(store, "latest")
    sealed(
        store,
        msgspec.structs.replace(
            asked("smoke", tmp_path, ReceiptStore(tmp_path / "b")), command="wheel"
        ),
    )
    with pytest.raises(UsageError, match="nothing to judge again"):
        judge_receipt(store, "latest")
