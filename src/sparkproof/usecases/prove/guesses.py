"""What a proof rests on that nobody looked up: a pick on a guess is no answer. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.proof import LayerProof
from sparkproof.core.verdict import Verdict

_DECODERS = {"text-generation", "multimodal"}
_SETTLED = {Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE}


def doubt_layer(proof: LayerProof, layer: LayerFormat, profile: CheckpointProfile) -> LayerProof:
    """A pick that rests on a guess of which layers there are keeps what it would be."""
    plain = layer.scheme is QuantScheme.UNQUANTIZED and layer.layer_class is not LayerClass.EXPERTS
    if plain or not profile.guess:
        return proof
    return _doubted(proof, _guess_of(profile))


def check_guess(profile: CheckpointProfile, layers: Sequence[LayerProof]) -> Iterator[LayerProof]:
    """A row of its own where no layer class was met though something is declared of some."""
    if profile.guess and not any(layer.verdict in _SETTLED for layer in layers):
        yield LayerProof(
            subject="layers",
            scheme="",
            verdict=Verdict.INCONCLUSIVE,
            reason=_guess_of(profile),
            deliveries=(),
            guess=_guess_of(profile),
        )


def _guess_of(profile: CheckpointProfile) -> str:
    return f"which layers it has is guessed: {profile.guess}"


def doubt_attention(
    proof: LayerProof, profile: CheckpointProfile, surface: ReleaseSurface
) -> LayerProof:
    """The same for attention, where it can't be told what its layers keep or attend to."""
    why = _unknown_state(profile) or _no_decoder(profile, surface)
    return _doubted(proof, why) if why else proof


def has_attention(profile: CheckpointProfile) -> bool:
    """Whether some layer attends, as far as can be told."""
    state = profile.state
    if state is None or not state.layers:
        return True
    return any(item.attention is not None for item in state.layers)


def _unknown_state(profile: CheckpointProfile) -> str:
    if profile.state is not None and profile.state.layers:
        return ""  # what it keeps in bytes may be open, what it asks for is not
    unknowns = profile.state.unknowns if profile.state is not None else profile.state_unknowns
    if unknowns:
        return f"what its attention keeps can't be told: {unknowns[0].where}: {unknowns[0].why}"
    if profile.state is None and not profile.architectures:
        return "what its attention keeps can't be told: no architecture is declared"
    return ""


def _no_decoder(profile: CheckpointProfile, surface: ReleaseSurface) -> str:
    """Pooling models may attend both ways: the book of families says which of them do not."""
    if profile.family:
        return ""
    kinds = {m.kind for m in surface.models if m.architecture in profile.architectures}
    if not kinds or kinds & _DECODERS:
        return ""
    return f"how it attends is not known: {profile.architectures[0]} is listed for {min(kinds)}"


def _doubted(proof: LayerProof, why: str) -> LayerProof:
    if proof.verdict in _SETTLED:
        return proof
    return msgspec.structs.replace(proof, verdict=Verdict.INCONCLUSIVE, reason=why, guess=why)
