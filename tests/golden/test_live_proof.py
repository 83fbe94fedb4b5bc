"""What an operator reads of a live proof: one that holds, another server, and nobody there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.golden.conftest import Golden

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.report import Report
from sparkproof.core.results.proof import ProofResult
from sparkproof.core.server_port import Failure
from sparkproof.render.lines import plain_text
from sparkproof.render.live_proof_text import render_live_proof
from sparkproof.render.report_text import render_frame
from sparkproof.testing.small_vllm import write_small_wheel
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.usecases.prove.live import prove_live
from sparkproof.usecases.prove.live_parts import LiveRequest

ROOT = Path(__file__).parents[2]
SAME: dict[str, Any] = {
    "version": "0.33.0",
    "max_model_len": 262144,
    "block_size": 1088,
    "cache": {"kv_cache_size_tokens": "4294967", "kv_cache_max_concurrency": "16.384"},
}


def timeless(report: Report[ProofResult]) -> ProofResult:
    """The result without the times that the machine at hand took."""
    assert report.result is not None
    assert report.result.live is not None
    parts = tuple(msgspec.structs.replace(p, took_s=0.0) for p in report.result.live.parts)
    live = msgspec.structs.replace(report.result.live, parts=parts)
    return msgspec.structs.replace(report.result, live=live)


@pytest.mark.parametrize(
    ("name", "behaviour", "failure"),
    [
        ("sound", {}, Failure.NONE),
        ("another-server", {"version": "0.32.0", "max_model_len": 131072}, Failure.NONE),
        ("nobody-there", {}, Failure.REFUSED),
    ],
)
def test_live_proof(
    name: str,
    behaviour: dict[str, Any],
    failure: Failure,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    golden: Golden,
) -> None:
    monkeypatch.chdir(tmp_path)
    deployment = Deployment(
        checkpoint=str(ROOT / "examples" / "qwen3.6-35b-a3b-w4a4" / "checkpoint"),
        artifact=f"./{write_small_wheel(tmp_path).name}",
        box=Box(nvcc=True, ninja=True),
    )
    port = FakePort(StandIn(Behaviour(**{**SAME, **behaviour})), failure=failure)
    request = LiveRequest("http://spark:8000", skip=("soak", "bench"))
    report = prove_live(deployment, request, port=port)
    body = render_live_proof(timeless(report))
    golden(f"live/proof-{name}.txt", plain_text(render_frame(report, body)))
