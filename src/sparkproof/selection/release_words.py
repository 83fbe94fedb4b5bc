"""What a release itself makes of the model's settings: keys taken apart, the routing method."""

from __future__ import annotations

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import Tri, evaluate
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.facts.model_traits import routing_of, settings_of
from sparkproof.selection.context import Context
from sparkproof.selection.settings import Settings

_KEYS = tuple(
    f"{owner}{role}{kind}"
    for owner, kind in (("", "_key"), ("", "_quant_key"), ("linear.", "_quant_key"))
    for role in ("weight", "activation")
)
"""Under which names a quantization key is asked about."""
_ZERO_POINTS = "Asym"
_AWQ = ("awq", "auto_awq")
_METHOD, _LOGITS = "moe.routing_method", "moe.router_logits_dtype"


def with_release_words(
    settings: Settings,
    surface: ReleaseSurface,
    capability: ComputeCapability,
    profile: CheckpointProfile,
) -> Settings:
    """The same with what the release's own tables and rules add."""
    found = with_key_parts(_with_named_key(settings, surface, profile.quant_method), surface)
    found |= _of_this_release(profile, surface)
    routing = routing_of(profile.architectures, profile.routing)
    if not routing:
        return found
    found.setdefault(_LOGITS, f"torch.{profile.activation_dtype}")
    method = _routing_method(surface, capability, {"top_k": 2, **routing})
    if method:
        found.setdefault(_METHOD, method)
    return found


def _of_this_release(profile: CheckpointProfile, surface: ReleaseSurface) -> Settings:
    """What the model class gives in this release and not in all of them."""
    always = settings_of(profile.architectures)
    here = settings_of(profile.architectures, surface.version)
    return {path: value for path, value in here.items() if always.get(path) != value}


def _with_named_key(settings: Settings, surface: ReleaseSurface, method: str) -> Settings:
    """AWQ's loader names the plain key in releases that have none for zero points.

    Other methods refuse experts with zero points there (0.20.0 to 0.22.1: ``awq_marlin.py``,
    ``compressed_tensors_moe_wna16_marlin.py``; keys with zero points came in 0.23.0).
    """
    names = {item.name for item in surface.quant_keys}
    key = str(settings.get("weight_key"))
    plain = key.removesuffix(_ZERO_POINTS)
    if key in names or plain == key or plain not in names or not method.startswith(_AWQ):
        return settings
    return {**settings, "weight_key": plain}


def with_key_parts(settings: Settings, surface: ReleaseSurface) -> Settings:
    """The same with what the named quantization keys are made of."""
    parts = {item.name: item.parts for item in surface.quant_keys}
    found = dict(settings)
    for path in _KEYS:
        for name, value in parts.get(str(settings.get(path)), ()):
            found[f"{path}.{name}"] = value
    return found


def _routing_method(
    surface: ReleaseSurface, capability: ComputeCapability, routing: Settings
) -> str:
    """The first case that holds, "" where that can't be told."""
    context = Context(surface, capability, routing, {}, {})
    for case in surface.routing.cases if surface.routing is not None else ():
        answer = evaluate(case.when, context)
        if answer is not Tri.NO:
            return case.outcome if answer is Tri.YES else ""
    return ""
