"""A model that keeps no KV cache: there is no pool to size, its weights are what can be told."""

from __future__ import annotations

from typing import Any

from sparkproof.checkpoint.unread_layers import NO_POOL
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict
from sparkproof.memory.budget import Weights, gib
from sparkproof.memory.no_room import find_weights_beyond
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.fit.case import FitCase
from sparkproof.usecases.fit.inputs import weights_of


def is_without_pool(case: FitCase) -> bool:
    """Whether vLLM makes no cache for any layer of the model, which is known and no doubt."""
    return bool(case.layout.unknowns) and case.layout.unknowns[0].topic == NO_POOL


def fit_without_pool(case: FitCase) -> Report[FitResult]:
    """What can be told: weights beyond the box fail, everything else is open.

    Its activations are: the boots that estimates rest on were those of decoders.
    """
    name, said = case.files.name, case.layout.unknowns[0]
    weights = weights_of(case.files, None, case.layout.num_layers, case.request.weights_gib)
    beyond = find_weights_beyond(weights.target_bytes, case.total_bytes) if weights else ()
    findings = (*case.refused, *beyond)
    no_result: Any = None
    return make_report(
        "fit",
        no_result,
        verdict=Verdict.FAIL if findings else Verdict.INCONCLUSIVE,
        summary=findings[0].message if findings else _summary(said, weights),
        findings=findings,
        unknowns=(*case.unknowns, _activations(name)),
    )


def _summary(said: Unknown, weights: Weights | None) -> str:
    size = f"weights of {gib(weights.target_bytes)}" if weights else "weights"
    return f"{said.where}: {said.why}; {size} and activations are all it takes"


def _activations(name: str) -> Unknown:
    return Unknown(
        f"{name}: activations",
        "what an encoder takes beside its weights was measured in no boot",
        topic="fit/activations",
        hint="`sparkproof log FILE` reads it off a boot",
    )
