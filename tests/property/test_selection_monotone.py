"""Answering an open gate never overturns a pick that was certain before."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import Tri
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.prediction import Outcome
from sparkproof.release import read_surface
from sparkproof.selection import Choices, GateAnswer, gates_needed, predict
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_source import source_tree

PROFILE = CheckpointProfile("m", (), "m", "compressed-tensors", (), hidden_act="silu")
DEVICES = [ComputeCapability(*pair) for pair in ((9, 0), (10, 0), (10, 3), (12, 0), (12, 1))]


@cache
def surface() -> ReleaseSurface:
    return read_surface(MemoryArtifact(source_tree()), oracles=("moe/nvfp4", "dense/nvfp4"))


@settings(max_examples=60)
@given(
    st.data(),
    st.sampled_from(DEVICES),
    st.sampled_from([LayerClass.EXPERTS, LayerClass.MLP]),
    st.sampled_from([QuantScheme.NVFP4_W4A4, QuantScheme.NVFP4_W4A16]),
    st.sampled_from(["auto", "rocket", "sled", "ladder", "hidden"]),
)
def test_more_knowledge_only_settles(
    data: st.DataObject,
    capability: ComputeCapability,
    layer_class: LayerClass,
    scheme: QuantScheme,
    backend: str,
) -> None:
    names = gates_needed(surface())
    partial = {name: data.draw(st.sampled_from(list(Tri))) for name in names}
    full = {
        name: data.draw(st.sampled_from([Tri.YES, Tri.NO])) if answer is Tri.UNKNOWN else answer
        for name, answer in partial.items()
    }
    picks = [
        predict(
            surface(),
            capability,
            LayerFormat(layer_class, scheme),
            profile=PROFILE,
            choices=Choices(moe_backend=backend),
            gates={name: GateAnswer(answer) for name, answer in answers.items()},
        )
        for answers in (partial, full)
    ]
    before, after = picks
    assert not any(step.outcome is Outcome.UNDECIDED for step in after.steps)
    assert bool(after.selected) is not bool(after.error)
    if before.selected:
        assert (after.selected, after.error) == (before.selected, "")
    if before.error:
        assert after.error == before.error or (not after.selected and after.error)
    taken = [step for step in after.steps if step.outcome is Outcome.TAKEN]
    assert [step.backend for step in taken] == ([after.selected] if after.selected else [])
