"""What a proof of the new release fails on, `upgrade` does too."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkproof.core.deployment import Deployment
from sparkproof.core.results.upgrade import Bite
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.upgrade.command import upgrade
from sparkproof.usecases.upgrade.sides import shipped_surface

GEMMA = str(Path(__file__).parents[2] / "data" / "memory" / "configs" / "gemma-4-26b-a4b.json")


@pytest.mark.parametrize(("batch", "stops"), [("2048", True), ("2496", False)])
def test_an_item_that_no_batch_takes_ends_the_start_whatever_the_pool_is(
    batch: str, stops: bool
) -> None:
    args = ("--max-model-len", "8192", "--max-num-batched-tokens", batch)
    deployment = Deployment(GEMMA, artifact="vllm==0.20.0", args=args)
    report = upgrade([deployment], "0.33.0", surfaces=shipped_surface, offline=True)
    assert report.result is not None
    [found] = report.result.deployments
    told = [item for item in (*found.changes, *found.standing) if item.bite is Bite.WONT_START]
    assert [item.subject for item in told] == ["memory/item-above-batch"] * stops
    assert (report.verdict is Verdict.FAIL) is stops
