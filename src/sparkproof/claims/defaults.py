"""Probes of what a release decides by itself: batch sizes, async scheduling, graph capture."""

from __future__ import annotations

from collections.abc import Mapping

from sparkproof.claims.material import told, untold
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.claims import Told
from sparkproof.core.condition import (
    Leaf,
    Scalar,
    Setting,
    Tri,
    compare,
    evaluate,
    open_leaves,
    render_leaf,
)
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.facts.claim_probes import BatchDefault, GraphMode, RuleOutcome

_GIB = 2**30
_PLAIN_SERVER: Mapping[str, Scalar] = {
    "model_config": "given",
    "model_config.runner_type": "generate",
    "speculative_config": "given",
    "speculative_config.disable_padded_drafter_batch": False,
    "executor_class.supports_async_scheduling()": True,
    "use_v2_model_runner": True,
    "parallel_config.pipeline_parallel_size": 1,
}
"""One generating server on one GPU, with speculation: what a probe does not say otherwise."""


class _Known:
    """Answers settings from a table and the capability; nothing else."""

    def __init__(self, capability: ComputeCapability, settings: Mapping[str, Scalar]) -> None:
        self.capability = capability
        self._settings = settings

    def leaf(self, item: Leaf) -> Tri:
        """As stated, else open."""
        if isinstance(item, Setting) and item.path in self._settings:
            return Tri.of(compare(self._settings[item.path], item.op, item.value))
        return Tri.UNKNOWN


def batch_default(surface: ReleaseSurface, probe: BatchDefault) -> Told:
    """The first tier that takes the device."""
    if not surface.batch_tiers:
        return untold("no batch defaults were read")
    known = _Known(
        ComputeCapability.parse(probe.capability),
        {"device_memory": int(probe.memory_gib * _GIB), "device_name": probe.device_name},
    )
    for tier in surface.batch_tiers:
        answer = evaluate(tier.when, known)
        if answer is Tri.UNKNOWN:
            asked = ", ".join(map(render_leaf, open_leaves(tier.when, known)))
            return untold(f"hangs on {asked}")
        if answer is Tri.YES:
            same = (tier.tokens, tier.sequences) == (probe.tokens, probe.sequences)
            seen = f"{tier.tokens} batched tokens, {tier.sequences} sequences"
            return told(same, probe.expect, seen, seen, tier.source.evidence(seen))
    return untold("no tier takes the device")


def rule_outcome(surface: ReleaseSurface, probe: RuleOutcome) -> Told:
    """The first case of a rule that applies."""
    rule = next((item for item in surface.rules if item.id == probe.rule), None)
    if rule is None:
        return untold(f"no rule {probe.rule} was read")
    settings = {**_PLAIN_SERVER, **probe.settings}
    known = _Known(ComputeCapability.parse(probe.capability), settings)
    possible = []
    for case in rule.cases:
        answer = evaluate(case.when, known)
        if answer is not Tri.NO:
            possible.append(case)
        if answer is Tri.YES:
            break
    outcomes = {case.outcome for case in possible}
    if len(outcomes) != 1:
        asked = {render_leaf(leaf) for case in possible for leaf in open_leaves(case.when, known)}
        return untold(f"hangs on {', '.join(sorted(asked)) or 'nothing that was read'}")
    seen = f"{probe.rule}: {possible[0].outcome}"
    same = possible[0].outcome == probe.outcome
    return told(same, probe.expect, seen, seen, rule.source.evidence(possible[0].reason or seen))


def graph_mode(surface: ReleaseSurface, probe: GraphMode) -> Told:
    """The graph mode that counts where no optimization level is given, and the cap's formula."""
    graphs = surface.graphs
    if graphs is None:
        return untold("no rule of CUDA graphs was read")
    mode = dict(graphs.levels).get(graphs.default_level, "")
    seen = f"level {graphs.default_level}: {mode}; cap {graphs.cap}"
    wrong = probe.mode and probe.mode not in mode
    other = probe.cap and " ".join(probe.cap.split()) != " ".join(graphs.cap.split())
    return told(not (wrong or other), probe.expect, seen, seen, graphs.source.evidence(seen))
