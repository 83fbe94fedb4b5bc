"""The identities of a measurement: what the deployment states, what the server tells."""

from __future__ import annotations

import shlex
from pathlib import Path

from sparkproof import __version__
from sparkproof.adapters.files import is_there
from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import digest, sha256_hex
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.identities import Identities
from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.redaction import redact_arguments, redact_environment
from sparkproof.core.results.bench import BenchResult
from sparkproof.usecases.fit.inputs import read_checkpoint_files

_CACHE = ("block_size", "cache_dtype", "enable_prefix_caching", "kv_cache_size_tokens")


def identities_of(result: BenchResult, deployment: Deployment | None, box: str) -> Identities:
    """Chosen and derived identities; what nobody stated is not there."""
    speculates = any(run.window and run.window.drafts for run in result.runs)
    return stated_identities(
        deployment,
        {
            "load": digest(result.plan)[7:19],
            "tool": f"sparkproof bench {__version__}",
            **({"box": box} if box else {}),
        },
        derived_identities(result.snapshot, result.model, speculates=speculates),
    )


def stated_identities(
    deployment: Deployment | None, chosen: dict[str, str], derived: dict[str, str]
) -> Identities:
    """What is chosen and derived anyway, and what the deployment states."""
    chosen = dict(chosen)
    contents: dict[str, str] = {}
    if deployment is not None:
        chosen["checkpoint"] = Path(deployment.checkpoint).name or deployment.checkpoint
        chosen["arguments"] = shlex.join(redact_arguments(deployment.args))
        environment = redact_environment(deployment.env)
        chosen["environment"] = " ".join(f"{k}={v}" for k, v in sorted(environment.items()))
        if deployment.artifact:
            chosen["artifact"] = deployment.artifact
        if content := checkpoint_digest(deployment.checkpoint):
            contents["checkpoint"] = content
    return Identities(chosen, derived, contents)


def derived_identities(snapshot: ServerSnapshot, model: str, *, speculates: bool) -> dict[str, str]:
    """What a server tells of itself."""
    found = {"vllm": snapshot.version}
    served = next((m for m in snapshot.models if m.name == model), None)
    if served:
        found |= {"served from": served.root, "max_model_len": str(served.max_model_len or "")}
    cache = snapshot.counts.cache if snapshot.counts else {}
    found |= {name: cache[name] for name in _CACHE if name in cache}
    found["speculation"] = "drafting" if speculates else "none seen"
    return {name: value for name, value in found.items() if value}


def checkpoint_digest(reference: str) -> str:
    """Digest of the checkpoint's configuration, where it lies on this machine."""
    if not is_there(Path(reference)):
        return ""
    try:
        files = read_checkpoint_files(reference)
    except (FormatError, UnreachableError):
        return ""
    parts = {"config": sha256_hex(files.config), "bytes": files.weight_bytes}
    if files.quantization is not None:
        parts["quantization"] = sha256_hex(files.quantization)
    return digest(parts)
