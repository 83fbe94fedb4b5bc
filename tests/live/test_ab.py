"""A/B on real servers: n-gram speculation, and a checkpoint that was trained for too short.

Two boots, and the soak's server as the control. Nothing here asks for a speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_socket
from tests.live.conftest import SMALL_POOL
from tests.live.gate_server import MAKER, NGRAM, TRAINED, Live, make_model, serving
from tests.live.tiny_tasks import made_up_tasks, tiny_tasks

from sparkproof.core.digest import sha256_hex
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbOutcome, AbResult
from sparkproof.core.verdict import Verdict
from sparkproof.gates.ab import make_cells
from sparkproof.usecases.ab.arms import ArmRef
from sparkproof.usecases.ab.command import ab
from sparkproof.usecases.ab.wish import AbWish

pytestmark = [pytest.mark.live, pytest.mark.enable_socket]
_PROMPTS = 90
_STEPS = 900
"""Of training: JSON and versions are sound by then, names that it never saw are not."""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ab") / "tiny.jsonl"
    path.write_bytes(tiny_tasks(_PROMPTS))
    return path


@pytest.fixture(scope="module")
def undertrained(
    live_environment: Path, small_pool: Live, request: pytest.FixtureRequest
) -> Iterator[Live]:
    """Trained once and kept in the cache, for as long as the recipe is the same."""
    recipe = sha256_hex(MAKER.read_bytes())[:8]
    folder = Path(request.config.cache.mkdir("tiny-models")) / f"tiny-{_STEPS}-{recipe}"
    if not (folder / "model.safetensors").exists():
        make_model(live_environment, folder, _STEPS)
    pytest_socket.enable_socket()
    with serving(live_environment, folder, SMALL_POOL) as server:
        yield server


def compare(
    control: Live, treatment: Live, tasks: Path, records: Path, **more: Any
) -> Report[AbResult]:
    wish = AbWish(
        **{
            "cells": tuple(make_cells((1, 8))),
            "tasks": str(tasks),
            "records": records,
            "timeout_s": 600.0,
            **more,
        }
    )
    return ab([ArmRef(control.url), ArmRef(treatment.url)], wish)


def test_ngram_speculation_is_token_identical(
    live_environment: Path, small_pool: Live, tasks: Path, tmp_path: Path
) -> None:
    with serving(live_environment, TRAINED, (*SMALL_POOL, *NGRAM)) as server:
        report = compare(small_pool, server, tasks, tmp_path)
    assert report.verdict is Verdict.PASS, report.summary
    assert report.result is not None
    (treatment,) = report.result.treatments
    assert treatment.outcome is AbOutcome.NO_DIFFERENCE
    assert treatment.prompts == _PROMPTS
    assert {pair.divergence.kind.value for pair in report.result.pairs if pair.divergence} == {
        "identical"
    }
    assert all(row.treatment == row.control > 0.9 * row.scored for row in treatment.accuracy)
    windows = [p.window for p in report.result.passes if p.arm == 1 and p.window]
    assert sum(window.drafted or 0 for window in windows) > 0  # a pass says what it exercised


def test_too_short_a_training_is_subtly_wrong(
    small_pool: Live, undertrained: Live, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_bytes(tiny_tasks(_PROMPTS // 2) + made_up_tasks(_PROMPTS // 2))
    quick: dict[str, Any] = {"cells": tuple(make_cells((8,), warm=False)), "speed": False}
    unasked = compare(small_pool, undertrained, tasks, tmp_path, **quick)
    assert unasked.verdict is Verdict.INCONCLUSIVE
    assert [finding.rule for finding in unasked.findings] == ["ab/other-checkpoint"]
    report = compare(small_pool, undertrained, tasks, tmp_path, differ=("checkpoint",), **quick)
    assert report.verdict is Verdict.FAIL, report.summary
    assert report.result is not None
    (treatment,) = report.result.treatments
    assert treatment.outcome is AbOutcome.CORRUPTS
    kinds = {row.task_kind: row for row in treatment.accuracy}
    assert kinds["made-up"].treatment < 0.6 * kinds["made-up"].control
    assert kinds["extract"].treatment > 0.8 * kinds["extract"].control  # most still looks right
    assert "right answers lost" in report.summary
