"""Randomised architectures agree with the literal re-statement."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.property.literal_kv import Layer, RefusedError, World, literal

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.state_layout import (
    AttentionShape,
    LayerState,
    RecurrentShape,
    StateKind,
    StateLayout,
)
from sparkproof.core.serve_args import ServeArgs, Speculation
from sparkproof.facts.memory_book import examined_versions, rules_of
from sparkproof.memory.kv_plan import KvShape
from sparkproof.memory.settings import Device, resolve_settings

KINDS = {
    "full": StateKind.FULL,
    "sliding": StateKind.SLIDING,
    "gdn": StateKind.GDN,
    "mamba2": StateKind.MAMBA2,
    "shortconv": StateKind.SHORT_CONV,
}

ranks = st.sampled_from([1, 2, 4])
attention = st.builds(
    Layer,
    kind=st.sampled_from(["full", "full", "sliding"]),
    kv_heads=st.sampled_from([1, 2, 4, 8]),
    head_dim=st.sampled_from([64, 96, 128, 256]),
    window=st.sampled_from([128, 1000, 1024, 4096]),
)
recurrent = st.builds(
    Layer,
    kind=st.sampled_from(["gdn", "mamba2", "shortconv"]),
    heads=st.sampled_from([8, 16, 48]),
    state_dim=st.sampled_from([32, 64, 80, 128]),
    groups=st.sampled_from([4, 8, 16]),
    group_dim=st.sampled_from([64, 128]),
    taps=st.integers(2, 4),
)
counted = st.integers(1, 40)


@st.composite
def models(draw: st.DrawFn) -> list[Layer]:
    kinds = draw(st.lists(attention, min_size=1, max_size=2, unique_by=lambda x: x.kind))
    if draw(st.booleans()):
        kinds.append(draw(recurrent))
    return [
        layer if layer.kind == "sliding" else Layer(**{**vars(layer), "window": 0})
        for layer in kinds
        for _ in range(draw(counted))
    ]


def layout_of(layers: list[Layer]) -> StateLayout:
    found: dict[Layer, int] = {}
    for layer in layers:
        found[layer] = found.get(layer, 0) + 1
    return StateLayout(
        name="random",
        architecture="",
        model_type="",
        layers=tuple(_state(layer, count) for layer, count in found.items()),
        max_position=1 << 20,
    )


def _state(layer: Layer, count: int) -> LayerState:
    if not layer.recurrent:
        shape = AttentionShape(layer.kv_heads, layer.head_dim, layer.head_dim, layer.window)
        return LayerState(KINDS[layer.kind], count, attention=shape)
    shape2 = RecurrentShape(
        heads=layer.heads,
        head_dim=layer.state_dim,
        state=layer.group_dim,
        groups=layer.groups,
        conv_kernel=layer.taps,
        inner=layer.heads * layer.state_dim,
    )
    return LayerState(KINDS[layer.kind], count, recurrent=shape2)


@settings(max_examples=200)
@given(
    layers=models(),
    version=st.sampled_from([str(item) for item in examined_versions()]),
    tp=ranks,
    fp8=st.booleans(),
    prefix=st.booleans(),
    tokens=st.integers(0, 5),
    length=st.sampled_from([1024, 8192, 40000, 262144]),
    batched=st.sampled_from([512, 2048, 8192]),
    pool=st.integers(1 << 28, 1 << 37),
)
def test_random_architectures_agree_with_the_literal_restatement(
    layers: list[Layer],
    version: str,
    tp: int,
    fp8: bool,
    prefix: bool,
    tokens: int,
    length: int,
    batched: int,
    pool: int,
) -> None:
    rules = rules_of(version)
    assume(not any(layer.kind == "gdn" for layer in layers) or version != "0.33.0" or not prefix)
    args = ServeArgs(
        max_model_len=length,
        kv_dtype="fp8" if fp8 else "bfloat16",
        prefix_caching=prefix,
        speculation=Speculation(tokens, "ngram") if tokens else None,
        tensor_parallel=tp,
        batched_tokens=batched,
        attention_backend="FLASHINFER",
    )
    plain = resolve_settings(layout_of(layers), args, rules, Device("12.1", 121.69))
    world = World(
        element=1 if fp8 else 2,
        model=2,
        conv=2,
        ssm=2,
        ranks=tp,
        speculative=tokens,
        mode="align" if prefix else "none",
        block=16,
        smallest=16,
        length=length,
        in_flight=plain.in_flight_tokens,
        sliding_block=rules.text("sliding_block"),
        old_tokens=rules.text("token_line") == "blocks-over-groups",
        pad_attention=rules.text("pad_attention") != "never",
        pad_states=rules.flag("pad_states"),
        conv_grows=rules.flag("short_conv_speculates"),
        extra_state={"mamba2": 1} if "mamba-2" in rules.words("checkpoint_kinds") else {},
        step=16,
    )
    try:
        expected = literal(layers, world, pool)
    except RefusedError:
        try:
            KvShape(layout_of(layers), plain)
        except UsageError:
            return
        raise AssertionError("the release refuses these pages") from None
    shape = KvShape(layout_of(layers), plain)
    blocks = shape.blocks(pool)
    printed, _ = shape.printed(blocks, length)
    assert (shape.alignment.block, blocks, shape.per_request(length), printed) == expected
