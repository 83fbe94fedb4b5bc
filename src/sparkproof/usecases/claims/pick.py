"""Walk one selection function for a claim, with everything that it does not name taken as there."""

from __future__ import annotations

from typing import Any

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.claims import Told
from sparkproof.core.condition import Tri
from sparkproof.core.deployment import Box
from sparkproof.core.finding import Confidence, Evidence
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.prediction import How, Outcome, Prediction
from sparkproof.facts.claim_probes import Pick
from sparkproof.facts.gate_operators import gate_operators
from sparkproof.selection.gates import settle_gates
from sparkproof.selection.predict import predict, predict_attention
from sparkproof.selection.request import Choices, GateAnswer

ERROR = "error"
_LAYERS = {"experts": LayerClass.EXPERTS, "dense": LayerClass.MLP}
# A mixture of experts as they are on this hardware: sizes that every kernel takes.
_EXPERTS = 128
_HEAD_DIM = 128
_SIZES: dict[str, str | int | float | bool | None] = {
    "moe.hidden_dim": 2048,
    "moe.intermediate_size_per_partition": 1024,
    "moe.experts_per_token": 8,
}


class ClaimWalk:
    """Walks the selection functions of one surface; what is settled once is kept."""

    def __init__(self) -> None:
        self._settled: dict[tuple[str, bool], dict[str, GateAnswer]] = {}

    def __call__(self, surface: ReleaseSurface, probe: Pick) -> Told:
        """What the release selects; open where the walk can't be decided."""
        capability = ComputeCapability.parse(probe.capability)
        layer = LayerFormat(
            _LAYERS.get(probe.layer, LayerClass.ATTENTION), QuantScheme(probe.scheme)
        )
        asked: dict[str, Any] = {
            "profile": _profile(layer, probe.method),
            "choices": Choices(
                moe_backend=probe.moe_backend,
                linear_backend=probe.linear_backend,
                kv_cache_dtype=probe.kv_cache_dtype,
                settings=_SIZES,
            ),
            "gates": self._gates(surface, capability, tools=probe.tools),
        }
        if probe.layer == "attention-backend":
            prediction = predict_attention(surface, capability, **asked)
        else:
            prediction = predict(surface, capability, layer, **asked)
        return _told(prediction, probe)

    def _gates(
        self, surface: ReleaseSurface, capability: ComputeCapability, *, tools: bool
    ) -> dict[str, GateAnswer]:
        key = (surface.version, tools)
        if key not in self._settled:
            self._settled[key] = settle_gates(surface, Box(nvcc=tools, ninja=tools))
        operators = {
            f"op:{item.name}": GateAnswer(
                Tri.of(item.in_range(capability)), item.name, Confidence.INFERRED
            )
            for item in gate_operators().of(surface.version)
        }
        return self._settled[key] | operators


def _profile(layer: LayerFormat, method: str) -> CheckpointProfile:
    return CheckpointProfile(
        name="claim",
        architectures=("ClaimForCausalLM",),
        model_type="claim",
        quant_method=method,
        formats=(layer,),
        hidden_act="silu",
        head_dim=_HEAD_DIM,
        num_experts=_EXPERTS,
    )


def _told(prediction: Prediction, probe: Pick) -> Told:
    where = f"{probe.scheme} {probe.layer} on {probe.capability}"
    if prediction.selected:
        same = prediction.selected == probe.expect
        return Told(Tri.of(same), f"{where}: {prediction.selected}", _places(prediction))
    if prediction.error:
        seen = f"{where}: refused with {prediction.error}"
        return Told(Tri.of(probe.expect == ERROR), seen, _places(prediction))
    open_steps = [step for step in prediction.steps if step.outcome is Outcome.UNDECIDED]
    gates = sorted({gate for step in open_steps for gate in step.gates})
    hangs = f"hangs on {', '.join(gates)}" if gates else prediction.reason
    return Told(Tri.UNKNOWN, f"{where}: {hangs}")


def _places(prediction: Prediction) -> tuple[Evidence, ...]:
    taken = [step for step in prediction.steps if step.outcome is Outcome.TAKEN]
    found = [place for step in taken for place in step.evidence] or list(prediction.evidence)
    forced = prediction.how is How.SCHEME
    return tuple(found[: 1 if forced else 2])
