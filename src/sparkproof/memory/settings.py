"""Arguments, release and device, resolved to the numbers that the arithmetic needs."""

from __future__ import annotations

import msgspec

from sparkproof.core.errors import RefusedFlagError, UsageError
from sparkproof.core.observations.state_layout import RELEASE_DEFAULT, StateKind, StateLayout
from sparkproof.core.serve_args import ServeArgs
from sparkproof.facts.memory_book import (
    AttentionBackend,
    CacheFormat,
    KvRules,
    attention_backends,
    batch_tier,
    cache_formats,
    fallback_backend,
    layout_book,
)

_ELEMENT_BYTES = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2}
_DRAFTLESS = frozenset({"ngram", "ngram_gpu", "suffix", "custom_class"})


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the arithmetic asks of a device.

    Attributes:
        capability: ``12.1``, or ``cpu``.
        memory_gib: what the device library reports as its total.
    """

    capability: str
    memory_gib: float


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that blocks and counts depend on besides the layers.

    Attributes:
        model_bytes: bytes of one value in the model's own dtype.
        conv_bytes, ssm_bytes: bytes of one value of the two recurrent states.
        speculative_tokens: 0 without speculation.
        state_mode: ``none``, ``align`` or ``all``.
        in_flight_tokens: scheduled and not yet settled, what a windowed layer also holds.
        skip_layers: layers or kinds that keep the model's own dtype.
        drafts: the target's own MTP layers take part.
        checkpoint_tokens: alignment of a GDN checkpoint inside a prefill, 0 for none.
        window_more: tokens that a window has beside those it declares.
    """

    rules: KvRules
    backend: AttentionBackend
    cache: CacheFormat
    draft_cache: CacheFormat
    model_bytes: int
    conv_bytes: int
    ssm_bytes: int
    max_model_len: int
    block_size: int
    block_chosen: bool
    prefix_caching: bool
    state_mode: str
    state_block_size: int
    speculative_tokens: int
    drafts: bool
    batched_tokens: int
    sequences: int
    in_flight_tokens: int
    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    hybrid_manager: bool
    utilization: float
    checkpoint_tokens: int = 0
    window_more: int = 0
    skip_layers: tuple[str, ...] = ()


def resolve_settings(
    layout: StateLayout, args: ServeArgs, rules: KvRules, device: Device
) -> Settings:
    """Apply a release's defaults to what the flags leave open.

    Raises:
        UsageError: a flag that this release refuses, or flags that contradict each other.
    """
    _check(layout, args)
    model_dtype = layout.dtype if args.dtype in ("auto", "") else args.dtype
    model_bytes = _element_bytes(model_dtype, "--dtype")
    prefix = _prefix_caching(layout, args, rules)
    mode = _state_mode(layout, args, rules, prefix=prefix)
    conv = _state_bytes(args.state_dtype, model_bytes)
    batched, sequences = _batch(layout, args, rules, device)
    backend = _backend(layout, args, device)
    tokens = args.speculation.tokens if args.speculation else 0
    cache = resolve_cache(args.kv_dtype, layout)
    return Settings(
        rules=rules,
        backend=backend,
        cache=cache,
        draft_cache=_draft_cache(args, cache),
        model_bytes=model_bytes,
        conv_bytes=conv,
        ssm_bytes=_ssm_bytes(layout, args, rules, conv),
        max_model_len=args.max_model_len if args.max_model_len > 0 else layout.max_position,
        block_size=args.block_size or backend.preferred,
        block_chosen=bool(args.block_size),
        prefix_caching=prefix,
        state_mode=mode,
        state_block_size=args.state_block_size,
        speculative_tokens=tokens,
        drafts=_drafts(args),
        batched_tokens=batched,
        sequences=sequences,
        in_flight_tokens=batched * _steps_in_flight(args, rules),
        tensor_parallel=args.tensor_parallel,
        pipeline_parallel=args.pipeline_parallel,
        context_parallel=args.decode_context_parallel,
        hybrid_manager=_hybrid_manager(layout, args, rules),
        utilization=args.utilization
        if args.utilization is not None
        else rules.number("utilization"),
        checkpoint_tokens=_checkpoint_tokens(layout, rules, device, mode),
        window_more=_window_more(layout, rules),
        skip_layers=args.kv_skip_layers,
    )


def resolve_cache(name: str, layout: StateLayout) -> CacheFormat:
    """The cache format of a flag; ``auto`` follows the checkpoint's declaration.

    Raises:
        UsageError: no release knows the format.
    """
    wanted = layout.kv_dtype or "auto" if name == "auto" else name
    found = cache_formats().get(wanted)
    if found is None:
        known = ", ".join(sorted(cache_formats()))
        raise UsageError(
            f"the layout of `--kv-cache-dtype {wanted}` is not known here", hint=f"known: {known}"
        )
    if found.packing == "latent-row" and not layout.latent:
        raise UsageError(
            f"`--kv-cache-dtype {wanted}` is for latent attention, which {layout.name} has not",
            hint="leave the flag out, or take fp8",
        )
    if found.packing in ("packed-nvfp4", "packed-slot") and layout.latent:
        raise UsageError(
            f"`--kv-cache-dtype {wanted}` does not fit latent attention",
            hint="take fp8 or leave the flag out",
        )
    return found


def _draft_cache(args: ServeArgs, cache: CacheFormat) -> CacheFormat:
    stated = args.speculation.kv_dtype if args.speculation else ""
    return cache_formats().get(stated, cache) if stated not in ("", "auto") else cache


def _check(layout: StateLayout, args: ServeArgs) -> None:
    if args.utilization is not None and not 0 < args.utilization <= 1:
        raise RefusedFlagError(
            f"`--gpu-memory-utilization {args.utilization}` is outside 0 to 1",
            hint="it is a share of the whole memory",
        )
    if args.max_model_len < -1 or (args.max_model_len <= 0 and not layout.max_position):
        raise UsageError(
            "the context length is known from neither `--max-model-len` nor the checkpoint",
            hint="give --max-model-len after `--`",
        )
    heads = layout.attention_heads
    if heads and heads % args.tensor_parallel:
        raise RefusedFlagError(
            f"`--tensor-parallel-size {args.tensor_parallel}` does not divide"
            f" {heads} attention heads",
            hint="vLLM refuses to start so",
        )


def _prefix_caching(layout: StateLayout, args: ServeArgs, rules: KvRules) -> bool:
    if args.prefix_caching is not None:
        return args.prefix_caching
    recurrent = any(layer.kind.recurrent for layer in layout.layers)
    if not recurrent:
        return True
    return layout.hybrid and rules.flag("hybrid_prefix_caching")


def _state_mode(layout: StateLayout, args: ServeArgs, rules: KvRules, *, prefix: bool) -> str:
    asked = args.state_mode
    if asked and asked not in rules.words("state_modes"):
        raise RefusedFlagError(
            f"`--mamba-cache-mode {asked}` is not accepted by vLLM {rules.version}",
            hint=f"accepted: {rules.text('state_modes')}",
        )
    if not prefix:
        return "none"
    if asked in ("align", "all"):
        return asked if asked == "align" or layout.prefix_all else "align"
    default = rules.text("default_state_mode")
    speculating = args.speculation is not None and default == "all-without-speculation"
    return "all" if default != "align" and layout.prefix_all and not speculating else "align"


def _batch(layout: StateLayout, args: ServeArgs, rules: KvRules, device: Device) -> tuple[int, int]:
    tier = batch_tier(rules.version, device.capability, device.memory_gib)
    ranks = args.tensor_parallel * args.pipeline_parallel if tier.per_rank else 1
    factor = ranks * (2 if args.performance_mode == "throughput" else 1)
    sequences = args.sequences or tier.sequences * factor
    length = args.max_model_len if args.max_model_len > 0 else layout.max_position
    batched = args.batched_tokens
    if not batched:
        batched = tier.batched_tokens * factor
        if args.chunked_prefill is False:
            batched = max(batched, length)
        batched = min(batched, sequences * length)
    return batched, args.sequences or min(sequences, batched)


def _backend(layout: StateLayout, args: ServeArgs, device: Device) -> AttentionBackend:
    known = attention_backends()
    named = known.get(args.attention_backend.upper())
    if named is not None:
        return named
    fallback = fallback_backend(device.capability)
    if fallback is None:
        return known["FLASH_ATTN"]
    sparse = any(layer.kind is StateKind.INDEXER for layer in layout.layers)
    latent = fallback.sparse_latent if sparse else fallback.latent
    return known.get(latent if layout.latent else fallback.attention, known["FLASH_ATTN"])


def _steps_in_flight(args: ServeArgs, rules: KvRules) -> int:
    if rules.text("in_flight") == "one-batch":
        return 1
    overlapping = args.async_scheduling
    if overlapping is None:
        method = args.speculation.method if args.speculation else ""
        overlapping = method not in rules.words("async_off_methods")
    stages = args.pipeline_parallel
    if not overlapping:
        return stages
    return stages + 1 if rules.flag("runner_v2") or stages == 1 else stages


def _hybrid_manager(layout: StateLayout, args: ServeArgs, rules: KvRules) -> bool:
    if args.hybrid_manager is not None:
        return args.hybrid_manager
    if not any(layer.kind is StateKind.CHUNKED for layer in layout.layers):
        return True
    method = args.speculation.method if args.speculation else ""
    return method not in rules.words("chunks_apart_methods")


def _window_more(layout: StateLayout, rules: KvRules) -> int:
    wide = layout.model_type in layout_book().wide_windows
    return int(wide and rules.flag("wide_windows"))


def _drafts(args: ServeArgs) -> bool:
    spec = args.speculation
    return spec is not None and spec.method not in _DRAFTLESS and not spec.model


def _checkpoint_tokens(layout: StateLayout, rules: KvRules, device: Device, mode: str) -> int:
    shapes = [s.recurrent for s in layout.layers if s.kind is StateKind.GDN and s.recurrent]
    devices = rules.words("gdn_flashinfer_devices")
    major = device.capability.split(".")[0]
    fits = device.capability in devices or (
        major in devices and all(shape.state == 128 for shape in shapes)
    )
    return rules.count("gdn_checkpoint_tokens") if shapes and fits and mode == "align" else 0


def _ssm_bytes(layout: StateLayout, args: ServeArgs, rules: KvRules, conv: int) -> int:
    if args.ssm_dtype != "auto":
        return _element_bytes(args.ssm_dtype, "--mamba-ssm-cache-dtype")
    if layout.ssm_dtype == RELEASE_DEFAULT:
        return _element_bytes(rules.text("nemotron_ssm_dtype"), "mamba_ssm_cache_dtype")
    if layout.ssm_dtype:
        return _element_bytes(layout.ssm_dtype, "mamba_ssm_dtype")
    return conv


def _state_bytes(name: str, model_bytes: int) -> int:
    return model_bytes if name == "auto" else _element_bytes(name, "--mamba-cache-dtype")


def _element_bytes(name: str, flag: str) -> int:
    found = _ELEMENT_BYTES.get(name)
    if found is None:
        raise UsageError(f"`{flag}` {name} is no dtype of known width", hint="e.g. bfloat16")
    return found
