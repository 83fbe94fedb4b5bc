"""The smallest proof, plan and server that agree with each other."""

from __future__ import annotations

from sparkproof.core.deployment import Deployment
from sparkproof.core.finding import Confidence
from sparkproof.core.memory_plan import KvPlan
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.observations.server_snapshot import EngineCounts, Served, ServerSnapshot
from sparkproof.core.prediction import How, Prediction
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult
from sparkproof.core.results.live_proof import Match, Topic
from sparkproof.core.results.proof import Branch, LayerProof, ProofResult
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.envelope import make_report

PLAN = KvPlan(
    version="0.33.0",
    max_model_len=1024,
    block_size=16,
    block_bytes=1,
    pool_bytes=64,
    blocks=64,
    blocks_per_request=64,
    tokens=1024,
    concurrency=1.0,
    request_bytes=64,
    token_line="",
    groups=(),
    cache_dtype="auto",
    state_mode="",
    prefix_caching=True,
    speculative_tokens=0,
    batched_tokens=2048,
    sequences=8,
    blocks_if_more=64,
    blocks_if_less=64,
)


def fit_of(plan: KvPlan, low: KvPlan | None = None, high: KvPlan | None = None) -> FitResult:
    """A fit around a plan."""
    return FitResult(
        checkpoint="m",
        architecture="",
        version=plan.version,
        device="gb10",
        device_memory_gib=1.0,
        pool_origin="",
        plan=plan,
        low=low,
        high=high,
    )


def proof() -> Report[ProofResult]:
    """A proof with one layer class."""
    return make_report("prove", proof_result(), verdict=Verdict.PASS, summary="it runs")


def proof_result() -> ProofResult:
    """Its payload."""
    prediction = Prediction(
        "attention", "", "attention", (), "FLASH_ATTN", How.AUTO, "", Confidence.SHOWN
    )
    layer = LayerProof("attention-kernel", "", Verdict.PASS, "", (), prediction)
    return ProofResult(
        deployment=Deployment("models/m"),
        device="gb10",
        capability="12.1",
        release="0.33.0",
        toolkit="",
        profile=CheckpointProfile("m", (), "", "", ()),
        branches=(Branch({}, Verdict.PASS, (layer,)),),
    )


def snapshot(
    *,
    version: str = "0.33.0",
    name: str = "tiny",
    length: str = "1024",
    drafting: str = "",
    silent: str = "",
    **cache: str,
) -> ServerSnapshot:
    """A server that is what was proven, but for what is said."""
    told = {
        "block_size": "16",
        "num_gpu_blocks": "64",
        "kv_cache_size_tokens": "1024",
        "kv_cache_max_concurrency": "1.0",
        "enable_prefix_caching": "True",
    }
    counts = EngineCounts(drafts=0.0 if drafting else None, cache={} if silent else told | cache)
    models = (Served(name, int(length), "vllm", "m"),)
    return ServerSnapshot(address="http://x", version=version, models=models, counts=counts)


def match(name: str, *, agrees: bool | None = None) -> Match:
    """One row."""
    return Match(topic=Topic.SERVER, name=name, predicted="a", agrees=agrees)
