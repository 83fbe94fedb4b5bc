"""Bytes of single layers, added up by hand."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.state_layout import (
    AttentionShape,
    LayerState,
    RecurrentShape,
    StateKind,
    StateLayout,
)
from sparkproof.core.serve_args import ServeArgs, Speculation
from sparkproof.facts.memory_book import cache_formats, rules_of
from sparkproof.memory.kv_plan import KvShape
from sparkproof.memory.pages import state_bytes, token_bytes
from sparkproof.memory.settings import Device, Settings, resolve_settings

GB10 = Device("12.1", 121.69)
FULL = LayerState(StateKind.FULL, 4, AttentionShape(8, 128, 128))
MLA = LayerState(StateKind.MLA, 4, AttentionShape(1, 576, 0))


def layout(*layers: LayerState, heads: int = 32) -> StateLayout:
    return StateLayout(
        "m", "A", "m", layers, attention_heads=heads, max_position=131072, hidden_size=4096
    )


def settings(model: StateLayout, version: str = "0.33.0", **args: object) -> Settings:
    return resolve_settings(model, ServeArgs(**args), rules_of(version), GB10)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("auto", 8 * 256 * 2),
        ("float32", 8 * 256 * 4),
        ("fp8", 8 * 256),
        ("fp8_e5m2", 8 * 256),
        ("int8_per_token_head", 8 * (256 + 8)),
        ("int4_per_token_head", 8 * (128 + 8)),
        ("nvfp4", 8 * 2 * (64 + 8)),
        ("turboquant_k8v4", 8 * (128 + 64 + 4)),
        ("turboquant_3bit_nc", 8 * (48 + 2 + 48 + 4)),
    ],
)
def test_bytes_of_a_token(name: str, expected: int) -> None:
    found = settings(layout(FULL), kv_dtype=name)
    assert token_bytes(FULL, cache_formats()[name], found) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("auto", 1152), ("fp8", 576), ("fp8_ds_mla", 656), ("nvfp4_ds_mla", 352)]
)
def test_bytes_of_a_latent(name: str, expected: int) -> None:
    found = settings(layout(MLA), kv_dtype=name)
    assert token_bytes(MLA, found.cache, found) == expected


def test_a_latent_is_the_same_on_every_rank() -> None:
    one = settings(layout(MLA))
    four = settings(layout(MLA), tensor_parallel=4)
    assert token_bytes(MLA, one.cache, one) == token_bytes(MLA, four.cache, four)


def test_heads_are_replicated_beyond_their_number() -> None:
    eight = settings(layout(FULL), tensor_parallel=8)
    sixteen = settings(layout(FULL), tensor_parallel=16)
    assert token_bytes(FULL, eight.cache, eight) == token_bytes(FULL, sixteen.cache, sixteen) == 512


STATES = [
    # Gated DeltaNet of Qwen3.6-35B with three speculative tokens
    (StateKind.GDN, RecurrentShape(32, 128, 128, 16, 4, 4096), 3, "float32", 2_195_456),
    # Mamba-2 of Nemotron-3-Super, likewise
    (StateKind.MAMBA2, RecurrentShape(128, 64, 128, 8, 4, 8192), 3, "float32", 4_317_184),
    (StateKind.MAMBA1, RecurrentShape(0, 0, 16, 0, 4, 8192), 0, "auto", (3 + 16) * 8192 * 2),
    (StateKind.SHORT_CONV, RecurrentShape(0, 0, 0, 0, 3, 1024), 0, "auto", 4096),
    (
        StateKind.KDA,
        RecurrentShape(32, 128, 128, 32, 4, 4096),
        0,
        "float32",
        3 * 12288 * 2 + 32 * 128 * 128 * 4,
    ),
    (StateKind.LINEAR, RecurrentShape(64, 96, 0, 0, 0, 6144), 0, "auto", 64 * 96 * 96 * 2),
]


@pytest.mark.parametrize(("kind", "shape", "tokens", "ssm", "expected"), STATES)
def test_bytes_of_a_state(
    kind: StateKind, shape: RecurrentShape, tokens: int, ssm: str, expected: int
) -> None:
    layer = LayerState(kind, 1, recurrent=shape)
    spec = Speculation(tokens, "ngram") if tokens else None
    found = settings(layout(FULL, layer), "0.28.0", ssm_dtype=ssm, speculation=spec)
    assert state_bytes(layer, found) == expected


def test_a_format_for_latents_is_refused_elsewhere() -> None:
    with pytest.raises(UsageError, match="latent"):
        settings(layout(FULL), kv_dtype="fp8_ds_mla")


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="octave_k3v4"):
        settings(layout(FULL), kv_dtype="octave_k3v4")


def test_pages_that_do_not_divide_end_the_start_of_an_old_release() -> None:
    odd = LayerState(StateKind.SLIDING, 4, AttentionShape(6, 128, 128, window=1024))
    model = layout(FULL, odd)
    with pytest.raises(UsageError, match="does not divide"):
        KvShape(model, settings(model, "0.23.0"))
    assert KvShape(model, settings(model, "0.24.0")).block_bytes == 16 * 4096 * 4


def test_without_the_hybrid_manager_windows_are_kept_like_full_attention() -> None:
    window = LayerState(StateKind.SLIDING, 4, AttentionShape(8, 128, 128, window=1024))
    model = layout(FULL, window)
    apart = KvShape(model, settings(model, hybrid_manager=True, batched_tokens=2048))
    together = KvShape(model, settings(model, hybrid_manager=False, batched_tokens=2048))
    assert len(apart.grouping.groups) == 2
    assert len(together.grouping.groups) == 1
    assert together.request_bytes(131072) > apart.request_bytes(131072)


def test_two_steps_in_flight_widen_a_window_since_0_26() -> None:
    window = LayerState(StateKind.SLIDING, 4, AttentionShape(8, 128, 128, window=1024))
    model = layout(FULL, window)
    old = KvShape(model, settings(model, "0.25.1", batched_tokens=2048))
    new = KvShape(model, settings(model, "0.26.0", batched_tokens=2048))
    calm = KvShape(model, settings(model, "0.26.0", batched_tokens=2048, async_scheduling=False))
    assert old.per_request(131072) == calm.per_request(131072) == 8192 + 192 + 1
    assert new.per_request(131072) == 8192 + 320 + 1


@pytest.mark.parametrize(
    "args", [{"kv_dtype": "fp8", "kv_skip_layers": ("0",)}, {"kv_dtype": "turboquant_k8v4"}]
)
def test_formats_that_leave_layers_out_are_refused(args: dict[str, object]) -> None:
    model = layout(FULL)
    with pytest.raises(UsageError, match="not known here"):
        KvShape(model, settings(model, **args))  # type: ignore[arg-type]
