"""Decode batches that are larger than any CUDA graph that is captured. Pure.

Read in ``_set_cudagraph_sizes`` of vllm/config/vllm.py, 0.20.0, 0.26.0 and 0.33.0, on 2026-11-30: a
batch above the largest captured size runs without a graph, and nothing is logged of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sparkproof.core.deployment import Deployment
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.serve_line import ServeLine
from sparkproof.facts.book import find_device
from sparkproof.release.serve_line import parse_serve_line
from sparkproof.upgrade.decisions import Decider
from sparkproof.upgrade.sizes import largest_default
from sparkproof.upgrade.view import Model

_SEQUENCES, _SPECULATIVE = "--max-num-seqs", "--speculative-config"
_SIZES, _LARGEST = "cudagraph_capture_sizes", "max_cudagraph_capture_size"
_MODE, _NO_GRAPHS = "cudagraph_mode", ("NONE", 0)


def find_uncaptured(
    deployment: Deployment, surface: ReleaseSurface, admitted: int
) -> Iterator[Finding]:
    """Where a full decode batch has more tokens than the largest captured graph.

    Args:
        admitted: sequences at once, where the flags leave it to the release; 0 for not known.
    """
    if not surface.options:
        return
    line = parse_serve_line(surface, ("MODEL", *deployment.args))
    config = _object(line, "--compilation-config")
    if line.get("--enforce-eager") or config.get(_MODE) in _NO_GRAPHS:
        return
    asked = _count(line.get(_SEQUENCES))
    sequences = asked or admitted
    per_request = 1 + _count(_object(line, _SPECULATIVE).get("num_speculative_tokens"))
    stated = _stated(line, config)
    largest = stated or (_default(deployment, surface, sequences, per_request) if asked else 0)
    if largest and sequences * per_request > largest:
        yield _finding(surface, largest, sequences, per_request)


def _stated(line: ServeLine, config: dict[str, Any]) -> int:
    """The largest size that the arguments name, 0 for none."""
    sizes = line.get("--cudagraph-capture-sizes") or config.get(_SIZES) or ()
    counts = [_count(size) for size in sizes] if isinstance(sizes, list | tuple) else []
    largest = line.get("--max-cudagraph-capture-size") or config.get(_LARGEST)
    return max(counts, default=_count(largest))


def _default(
    deployment: Deployment, surface: ReleaseSurface, sequences: int, per_request: int
) -> int:
    """What the release captures by itself, 0 where that can't be told."""
    capability = find_device(deployment.device).capability
    asked = Decider(surface, Model(), (), deployment.env, capability)
    return largest_default(surface.graphs, asked, sequences * per_request)


def _finding(surface: ReleaseSurface, largest: int, sequences: int, per_request: int) -> Finding:
    batch = f" ({sequences} requests of {per_request} tokens a step)" if per_request > 1 else ""
    source = surface.graphs.source if surface.graphs is not None else None
    return Finding(
        rule="graphs/below-batch",
        severity=Severity.WARNING,
        confidence=Confidence.INFERRED,
        message=f"CUDA graphs are captured up to {largest} tokens, a full decode batch has "
        f"{sequences * per_request}{batch}: above {largest} it runs without them",
        subject="decode",
        evidence=(source.evidence("capture sizes"),) if source is not None else (),
        remedy=f"{_SEQUENCES} {max(largest // per_request, 1)}, or capture sizes up to "
        f"{sequences * per_request}",
    )


def _object(line: ServeLine, flag: str) -> dict[str, Any]:
    found = line.get(flag)
    return found if isinstance(found, dict) else {}


def _count(value: Any) -> int:
    """A whole number above 0, and 0 for anything else."""
    known = isinstance(value, int) and not isinstance(value, bool)
    return max(value, 0) if known else 0
