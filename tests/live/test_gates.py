"""The gates against real servers: sound, a little trained, not trained, and an older release.

Four boots. The machine is shared, so nothing here asks for a speed, only for what is told.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_socket
from tests.live.gate_server import NGRAM, PARSERS, TRAINED, Live, make_model, serving
from tests.live.server import vllm_environment

from sparkproof.adapters.server import Server
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.deployment import Deployment
from sparkproof.core.report import Report
from sparkproof.core.results.live_proof import PartName
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.server_port import Ask
from sparkproof.core.verdict import Verdict
from sparkproof.load.schedule import make_plan
from sparkproof.testing.small_vllm import write_small_wheel
from sparkproof.usecases.bench.command import Arm, bench
from sparkproof.usecases.prove.live import prove_live
from sparkproof.usecases.prove.live_parts import LiveRequest
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
def sound(environment: Path) -> Iterator[Live]:
    """Trained, with parsers, n-gram drafting and small blocks."""
    pytest_socket.enable_socket()
    with serving(environment, TRAINED, ("--block-size", "32", *PARSERS, *NGRAM)) as server:
        yield server


@pytest.fixture(scope="module")
def bare(environment: Path) -> Iterator[Live]:
    """Trained, without parsers, blocks as they come; an older release where there is one."""
    pytest_socket.enable_socket()
    given = os.environ.get("SPARKPROOF_LIVE_OTHER", f"{environment}.other")
    other = Path(given) if Path(given).is_dir() else None
    with serving(environment, TRAINED, ("--max-num-seqs", "1"), release=other) as server:
        yield server


def replay(tmp_path: Path, **body: Any) -> Path:
    messages = [{"role": "user", "content": "Extract: the vendor tagged vllm 0.22.0."}]
    path = tmp_path / "request.json"
    whole = {"model": "tiny", "messages": messages, "temperature": 0, "max_tokens": 64, **body}
    path.write_bytes(msgspec.json.encode(whole))
    return path


def cause(server: Live, path: Path, patience_s: float = 60.0) -> str:
    result = why(server.url, replay=path, patience_s=patience_s).result
    assert result is not None
    return result.rule


def criterion(report: Report[SmokeResult], name: str) -> Any:
    return next(c for c in report.criteria if c.name == f"smoke/{name}")


def test_the_trained_checkpoint_passes(sound: Live, receipts: ReceiptStore) -> None:
    report = smoke(sound.url, log=str(sound.log), store=receipts)
    assert report.verdict is Verdict.PASS
    assert report.result is not None
    assert criterion(report, "known").verdict is Verdict.PASS
    assert criterion(report, "prefix").verdict is Verdict.PASS  # blocks of 32: hits are seen
    assert not criterion(report, "speculation").warning  # what it drafts stands in the prompt
    assert criterion(report, "async-scheduling").warning  # n-gram takes it away
    _TRUSTED["receipt"] = report.receipt


def test_the_same_server_asked_again_has_the_same_fingerprint(
    sound: Live, receipts: ReceiptStore
) -> None:
    report = smoke(sound.url, trusted=_TRUSTED["receipt"], trust_store=receipts)
    assert report.result is not None
    assert report.result.change is not None
    assert report.result.change.mean_nats < 0.02


def test_a_live_proof_sees_on_the_server_what_it_predicted(sound: Live, tmp_path: Path) -> None:
    wheel = write_small_wheel(tmp_path, version="0.32.0")
    args = ("--max-model-len", "1024", "--block-size", "32", "--enforce-eager", *NGRAM)
    deployment = Deployment(str(TRAINED), artifact=str(wheel), args=args, served_names=("tiny",))
    request = LiveRequest(sound.url, quick=True, skip=("soak", "bench"))
    result = prove_live(deployment, request).result
    assert result is not None
    assert result.live is not None
    rows = {row.name.partition(" of ")[0]: row for row in result.live.matches if row.seen}
    told = ("version", "served names", "checkpoint's folder", "max_model_len", "block size",
            "prefix caching", "speculation", "KV tokens", "maximum concurrency")  # fmt: skip
    assert {name: rows[name].agrees for name in told} == dict.fromkeys(told, True)
    parts = {part.name: part.verdict for part in result.live.parts}
    assert parts[PartName.MATCH] is Verdict.PASS
    assert parts[PartName.SMOKE] is Verdict.PASS


def test_drafting_is_seen_as_the_server_counts_it(sound: Live) -> None:
    plan = make_plan(modes=("raw",), depths=(200,), output=48, concurrencies=(1, 4), repeats=3)
    report = bench(Arm(sound.url), plan)
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
    sound: Live, tmp_path: Path, body: dict[str, Any], rule: str
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
    bare: Live, tmp_path: Path, body: dict[str, Any], rule: str
) -> None:
    assert cause(bare, replay(tmp_path, **body)) == rule


def test_without_a_hit_the_reason_is_told(bare: Live, receipts: ReceiptStore) -> None:
    report = smoke(bare.url, trusted=_TRUSTED["receipt"], trust_store=receipts)
    prefix, names = criterion(report, "prefix"), criterion(report, "metrics")
    assert report.verdict is Verdict.PASS  # with the flags as they come
    assert prefix.verdict is not Verdict.FAIL
    assert names.verdict is Verdict.PASS
    assert not names.warning
    assert criterion(report, "fingerprint").verdict is Verdict.PASS
    assert criterion(report, "speculation").verdict is Verdict.SKIPPED


def test_waiting_for_a_place_is_queueing(bare: Live, tmp_path: Path) -> None:
    body = {"model": "tiny", "prompt": "x", "max_tokens": 900, "ignore_eos": True}
    ask = Ask("other", "/v1/completions", msgspec.json.encode(body), timeout_s=120)

    async def keep_busy() -> None:
        async with Server(bare.url) as port:
            await asyncio.gather(*(port.send(ask) for _ in range(6)))

    others = threading.Thread(target=lambda: asyncio.run(keep_busy()))
    others.start()
    time.sleep(0.5)
    try:
        assert cause(bare, replay(tmp_path)) == "why/queueing"
    finally:
        others.join()


def test_an_engine_that_hangs_and_one_that_is_dead(bare: Live, tmp_path: Path) -> None:
    engine = bare.engine()
    os.kill(engine, signal.SIGSTOP)
    try:
        assert cause(bare, replay(tmp_path), patience_s=6) == "why/hung-engine"
    finally:
        os.kill(engine, signal.SIGCONT)
    os.kill(engine, signal.SIGKILL)
    dead = cause(bare, replay(tmp_path), patience_s=20)
    assert dead in ("response/dead-engine", "why/unreachable")  # the server goes down with it


@pytest.mark.parametrize(("steps", "garbage"), [(0, True), (300, False)])
def test_worse_models_are_told_apart(
    environment: Path, receipts: ReceiptStore, tmp_path: Path, steps: int, garbage: bool
) -> None:
    pytest_socket.enable_socket()
    folder = make_model(environment, tmp_path / "model", steps)
    with serving(environment, folder) as server:
        report = smoke(server.url, trusted=_TRUSTED["receipt"], trust_store=receipts)
    rules = {finding.rule for finding in report.findings}
    assert report.verdict is Verdict.FAIL
    assert ("smoke/garbage" in rules) is garbage
    assert "smoke/fingerprint-differs" in rules
