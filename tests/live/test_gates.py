"""The gates against real servers: sound, a little trained, not trained, and an older release.

Four boots. The machine is shared, so nothing here asks for a speed, only for what is told.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_socket
from tests.live.gate_server import NGRAM, PARSERS, TRAINED, make_model, serving
from tests.live.server import vllm_environment

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.report import Report
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.verdict import Verdict
from sparkproof.load.schedule import make_plan
from sparkproof.usecases.bench import bench
from sparkproof.usecases.smoke import smoke
from sparkproof.usecases.why import why

pytestmark = [pytest.mark.live, pytest.mark.enable_socket]
TOOLS = [
    {"type": "function", "function": {"name": "get_version", "parameters": {"type": "object"}}}
]
_TRUSTED: dict[str, Any] = {}


@pytest.fixture(scope="module")
def environment() -> Path:
    found = vllm_environment()
    if found is None:
        pytest.skip("no environment of the live tier: `make test-live` makes it")
    return found


@pytest.fixture(scope="module")
def receipts(tmp_path_factory: pytest.TempPathFactory) -> ReceiptStore:
    return ReceiptStore(tmp_path_factory.mktemp("receipts"))


@pytest.fixture(scope="module")
def sound(environment: Path) -> Iterator[tuple[str, Path]]:
    """Trained, with parsers, n-gram drafting and small blocks."""
    pytest_socket.enable_socket()
    with serving(environment, TRAINED, ("--block-size", "32", *PARSERS, *NGRAM)) as server:
        yield server


@pytest.fixture(scope="module")
def bare(environment: Path) -> Iterator[tuple[str, Path]]:
    """Trained, without parsers, blocks as they come; an older release where there is one."""
    pytest_socket.enable_socket()
    other = os.environ.get("SPARKPROOF_LIVE_OTHER", "")
    with serving(environment, TRAINED, release=Path(other) if other else None) as server:
        yield server


def replay(tmp_path: Path, **body: Any) -> Path:
    messages = [{"role": "user", "content": "Extract: the vendor tagged vllm 0.22.0."}]
    path = tmp_path / "request.json"
    whole = {"model": "tiny", "messages": messages, "temperature": 0, "max_tokens": 64, **body}
    path.write_bytes(msgspec.json.encode(whole))
    return path


def cause(server: tuple[str, Path], path: Path) -> str:
    result = why(server[0], replay=path).result
    assert result is not None
    return result.rule


def criterion(report: Report[SmokeResult], name: str) -> Any:
    return next(c for c in report.criteria if c.name == f"smoke/{name}")


def test_the_trained_checkpoint_passes(sound: tuple[str, Path], receipts: ReceiptStore) -> None:
    report = smoke(sound[0], log=str(sound[1]), store=receipts)
    assert report.verdict is Verdict.PASS
    assert report.result is not None
    assert criterion(report, "known").verdict is Verdict.PASS
    assert criterion(report, "prefix").verdict is Verdict.PASS  # blocks of 32: hits are seen
    assert criterion(report, "async-scheduling").warning  # n-gram takes it away
    _TRUSTED["receipt"] = report.receipt


def test_the_same_server_asked_again_has_the_same_fingerprint(
    sound: tuple[str, Path], receipts: ReceiptStore
) -> None:
    report = smoke(sound[0], trusted=_TRUSTED["receipt"], trust_store=receipts)
    assert report.result is not None
    assert report.result.change is not None
    assert report.result.change.mean_nats < 0.02


def test_drafting_is_seen_as_the_server_counts_it(sound: tuple[str, Path]) -> None:
    plan = make_plan(modes=("raw",), depths=(200,), output=48, concurrencies=(1, 4), repeats=3)
    report = bench(sound[0], plan)
    assert report.result is not None
    for cell in report.result.cells:
        assert cell.failed == 0
        windows = [r.window for r in report.result.runs if r.cell == cell.cell and r.window]
        drafted, accepted = (
            sum(getattr(w, name) for w in windows) for name in ("drafted", "accepted")
        )
        assert drafted > 0
        assert cell.acceptance_rate == pytest.approx(accepted / drafted)
        assert cell.acceptance_length is not None
        assert 1 < cell.acceptance_length <= 4
    expected = {"bench/tokens", "bench/prefix", "bench/alone", "bench/answered", "bench/engine"}
    told = {c.name for c in report.criteria if c.verdict is Verdict.PASS and not c.warning}
    assert expected <= told


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (
            {"max_tokens": 4, "chat_template_kwargs": {"enable_thinking": True}},
            "response/starved-budget",
        ),
        ({}, "response/answer-in-reasoning"),
        ({"model": "agent"}, "response/unknown-model"),
        ({"max_tokens": 100_000}, "response/too-long"),
        ({"temperature": "hot"}, "response/bad-request"),
    ],
)
def test_look_alikes_on_a_server_with_parsers(
    sound: tuple[str, Path], tmp_path: Path, body: dict[str, Any], rule: str
) -> None:
    assert cause(sound, replay(tmp_path, **body)) == rule


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({"tools": TOOLS}, "response/no-parser"),
        ({"chat_template_kwargs": {"enable_thinking": True}}, "response/think-leak"),
        ({}, ""),
    ],
)
def test_look_alikes_on_a_server_without_parsers(
    bare: tuple[str, Path], tmp_path: Path, body: dict[str, Any], rule: str
) -> None:
    assert cause(bare, replay(tmp_path, **body)) == rule


def test_without_a_hit_the_reason_is_told(bare: tuple[str, Path], receipts: ReceiptStore) -> None:
    report = smoke(bare[0], trusted=_TRUSTED["receipt"], trust_store=receipts)
    prefix, names = criterion(report, "prefix"), criterion(report, "metrics")
    assert prefix.verdict is not Verdict.FAIL
    assert names.verdict is Verdict.PASS
    assert not names.warning
    assert criterion(report, "fingerprint").verdict is Verdict.PASS
    assert criterion(report, "speculation").verdict is Verdict.SKIPPED


@pytest.mark.parametrize(("steps", "garbage"), [(0, True), (300, False)])
def test_worse_models_are_told_apart(
    environment: Path, receipts: ReceiptStore, tmp_path: Path, steps: int, garbage: bool
) -> None:
    pytest_socket.enable_socket()
    folder = make_model(environment, tmp_path / "model", steps)
    with serving(environment, folder) as (url, _):
        report = smoke(url, trusted=_TRUSTED["receipt"], trust_store=receipts)
    rules = {finding.rule for finding in report.findings}
    assert report.verdict is Verdict.FAIL
    assert ("smoke/garbage" in rules) is garbage
    assert "smoke/fingerprint-differs" in rules
