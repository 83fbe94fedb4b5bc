"""What a proof asks beside the layers: the architecture, the cache format, the drafter. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sparkproof.checkpoint.effective import EffectiveFormat
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
)
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.proof import LayerProof
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.verdict import Verdict
from sparkproof.facts.draft_methods import DraftMethod, DraftWeights, find_draft_method
from sparkproof.facts.releases import holds
from sparkproof.recipe.overrides import changed_keys
from sparkproof.release.serve_values import RefusedError, read_value
from sparkproof.selection.request import Choices

ARCHITECTURE = "architecture"
KV_CACHE = "kv-cache"
DRAFT_MODEL = "draft-model"
OVERRIDES = "config"
QUANTIZATION = "quantization"
QUANTIZATION_FLAG = "quantization-flag"
DRAFT_REFUSED = "drafter"
DRAFT_EXPERTS = "draft-experts"
DRAFT_ATTENTION = "draft-attention"
ATTENTION_KERNEL = "attention-kernel"
_CACHE_FLAG = "--kv-cache-dtype"
_WITHOUT_MODEL = "vLLM refuses: a drafter with neither a method that brings its own nor a model"
_REMEMBERED = {"removed", "plugin"}
_GENERIC = "transformers-backend"
_VLLM_ONLY = "vllm"


class Question(msgspec.Struct, frozen=True):
    """One more pick to predict; attention where `layer` is None."""

    subject: str
    choices: Choices
    layer: LayerFormat | None = None


def check_architecture(
    profile: CheckpointProfile, surface: ReleaseSurface, arguments: SelectionArgs
) -> Iterator[LayerProof]:
    """A row where the release's registry does not have the checkpoint's architecture.

    What it neither has nor remembers may still run on a class of Transformers: read in
    ``inspect_model_cls`` and ``_try_resolve_transformers`` of vLLM's registry, 0.20.0, 0.26.0 and
    0.33.0, on 2026-11-30.
    """
    wanted = profile.architectures
    if not wanted or not surface.models:
        return
    found = [item for item in surface.models if item.architecture in wanted]
    if any(item.kind not in _REMEMBERED for item in found):
        return
    named = " and ".join(wanted)
    noted = next((f": {item.kind}, {item.note}" for item in found if item.note), "")
    stand_in = "" if found else _stand_in(profile, surface)
    if not stand_in or arguments.model_impl == _VLLM_ONLY:
        told = f"vLLM refuses: this release does not know {named}{noted}"
        yield _told(ARCHITECTURE, Verdict.FAIL, told)
        return
    has = f"if the installed Transformers has {named}"
    if profile.own_classes:
        code = f"the checkpoint's own code ({', '.join(profile.own_classes)})"
        trusted = "which may run" if arguments.trust_remote_code else "with --trust-remote-code"
        has += f", or on {code}, {trusted}"
    told = f"this release does not know {named}: it runs as {stand_in} {has}, else not at all"
    yield _told(ARCHITECTURE, Verdict.INCONCLUSIVE, told)


def _stand_in(profile: CheckpointProfile, surface: ReleaseSurface) -> str:
    """The release's class around a model of Transformers' own, "" where it has none."""
    kind = "MultiModal" if profile.of(LayerClass.VISION) else ""
    name = f"Transformers{kind}{'MoE' if profile.num_experts else ''}ForCausalLM"
    generic = {m.architecture for m in surface.models if m.kind == _GENERIC}
    return name if name in generic else ""


def check_kv_cache(arguments: SelectionArgs, surface: ReleaseSurface) -> Iterator[LayerProof]:
    """A row where the release does not take the cache format that is asked for."""
    option = surface.option(_CACHE_FLAG)
    for flag, value in (
        (_CACHE_FLAG, arguments.kv_cache_dtype),
        ("speculative kv_cache_dtype", arguments.draft_kv_cache_dtype),
    ):
        if option is None or value in ("", "auto"):
            continue
        try:
            read_value(option, value, surface.field_of(option))
        except RefusedError:
            yield _told(KV_CACHE, Verdict.FAIL, f"vLLM refuses: {flag}: invalid choice: '{value}'")


def follows(layer: LayerProof, layers: Sequence[LayerProof]) -> bool:
    """Whether a refusal is only what another row's cause leads to: no backend has that cache."""
    refused = any(item.subject == KV_CACHE and item.verdict is Verdict.FAIL for item in layers)
    attention = layer.subject in (ATTENTION_KERNEL, DRAFT_ATTENTION)
    return refused and attention and layer.verdict is Verdict.FAIL and not layer.deliveries


def check_overrides(arguments: SelectionArgs) -> Iterator[LayerProof]:
    """A row where flags change the config that everything else here was read from."""
    told = changed_keys(arguments.hf_overrides)
    if told:
        reason = f"--hf-overrides is not followed here, and changes {', '.join(told[:4])}"
        yield _told(OVERRIDES, Verdict.INCONCLUSIVE, reason)


def draft_questions(
    profile: CheckpointProfile,
    effective: Sequence[EffectiveFormat],
    release: str,
    arguments: SelectionArgs,
    choices: Choices,
) -> Iterator[Question | LayerProof]:
    """What the drafter makes vLLM select, and what can't be told of it."""
    if not arguments.speculative:
        return
    method = find_draft_method(arguments.speculative_method, model=arguments.draft_model)
    if method is None:
        name = arguments.speculative_method
        yield _told(DRAFT_MODEL, Verdict.INCONCLUSIVE, f"nothing is known of the method `{name}`")
        return
    if method.weights is DraftWeights.NONE:
        return
    own = draft_choices(method, release, arguments, choices)
    if _has_own_weights(method, profile, arguments):
        yield from _own_head(profile, effective, own)
    elif arguments.draft_model:
        yield _draft_model(arguments)
    else:
        yield _told(DRAFT_REFUSED, Verdict.FAIL, _WITHOUT_MODEL)
        return
    yield Question(DRAFT_ATTENTION, own)


def why_not_loaded(profile: CheckpointProfile, arguments: SelectionArgs) -> str:
    """Why the checkpoint's own draft layers stay unloaded, "" where they are loaded."""
    if not arguments.speculative:
        return "not loaded without --speculative-config"
    method = find_draft_method(arguments.speculative_method, model=arguments.draft_model)
    if method is None or _has_own_weights(method, profile, arguments):
        return ""
    name = arguments.speculative_method or arguments.draft_model or "the drafter"
    return f"not loaded: {name} drafts without the checkpoint's own head"


def _has_own_weights(
    method: DraftMethod, profile: CheckpointProfile, arguments: SelectionArgs
) -> bool:
    """Whether the drafter is a part of the target; a model named beside it is another one."""
    if method.weights is not DraftWeights.OWN_HEAD:
        return False
    named, here = (
        text.rstrip("/").rpartition("/")[2] for text in (arguments.draft_model, profile.name)
    )
    return not named or named.lower() == here.lower()


def draft_choices(
    method: DraftMethod, release: str, arguments: SelectionArgs, choices: Choices
) -> Choices:
    """The target's choices with the drafter's own on top."""
    follows = bool(method.inherits_attention) and holds(method.inherits_attention, release)
    attention = arguments.draft_attention_backend
    settings = {**choices.settings, "use_non_causal": True} if method.non_causal else None
    return msgspec.structs.replace(
        choices,
        moe_backend=arguments.draft_moe_backend or choices.moe_backend,
        attention_backend=attention or (choices.attention_backend if follows else ""),
        kv_cache_dtype=arguments.draft_kv_cache_dtype or choices.kv_cache_dtype,
        settings=settings or choices.settings,
    )


def _own_head(
    profile: CheckpointProfile, effective: Sequence[EffectiveFormat], own: Choices
) -> Iterator[Question | LayerProof]:
    formats = [i.effective for i in effective if i.effective.layer_class is LayerClass.DRAFT]
    if not formats and not profile.draft_layers:
        reason = "the checkpoint declares no draft layers"
        yield _told(DRAFT_MODEL, Verdict.INCONCLUSIVE, reason)
        return
    if profile.num_experts:
        schemes = {item.scheme: item for item in formats}
        for item in schemes.values():
            layer = msgspec.structs.replace(item, layer_class=LayerClass.EXPERTS, layers="")
            yield Question(DRAFT_EXPERTS, own, layer)


def _draft_model(arguments: SelectionArgs) -> LayerProof:
    name = arguments.draft_model or "the drafter"
    reason = f"{name} is a checkpoint of its own, which was not looked at"
    return _told(DRAFT_MODEL, Verdict.INCONCLUSIVE, reason)


def _told(subject: str, verdict: Verdict, reason: str) -> LayerProof:
    return LayerProof(subject=subject, scheme="", verdict=verdict, reason=reason, deliveries=())
