"""What a model keeps per token and per request, layer kind by layer kind."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.unknown import Unknown

RELEASE_DEFAULT = "release-default"
"""An `ssm_dtype` that the release decides about, where neither flag nor config says."""


class StateKind(StrEnum):
    """How a layer's state grows and what it is made of."""

    FULL = "full-attention"
    SLIDING = "sliding-window"
    CHUNKED = "chunked-local"
    MLA = "mla"
    INDEXER = "mla-indexer"
    """Keys that pick tokens for sparse latent attention."""
    SINK = "sink-attention"
    CROSS = "cross-attention"
    GDN = "gated-delta-net"
    KDA = "kimi-delta"
    MAMBA1 = "mamba"
    MAMBA2 = "mamba-2"
    SHORT_CONV = "short-conv"
    LINEAR = "linear-attention"

    @property
    def recurrent(self) -> bool:
        """Keeps a state of fixed size instead of something per token."""
        return self in _RECURRENT


_RECURRENT = frozenset(
    {
        StateKind.GDN,
        StateKind.KDA,
        StateKind.MAMBA1,
        StateKind.MAMBA2,
        StateKind.SHORT_CONV,
        StateKind.LINEAR,
    }
)


class AttentionShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one attention layer stores for one token, before tensor parallelism.

    Attributes:
        head_dim: of a key; for MLA the latent plus its rotary part.
        value_dim: of a value; 0 where nothing but the key is stored (MLA).
        window: tokens of a sliding window, 0 for none.
        chunk: tokens of a local chunk, 0 for none.
    """

    kv_heads: int
    head_dim: int
    value_dim: int
    window: int = 0
    chunk: int = 0


class RecurrentShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one recurrent layer keeps for one request, before tensor parallelism.

    Attributes:
        heads: value heads (GDN, KDA) or SSM heads (Mamba-2).
        head_dim: of a value head.
        state: key dimension (GDN, KDA) or SSM state size (Mamba).
        groups: key heads (GDN, KDA) or B/C groups (Mamba-2).
        conv_kernel: taps of the causal convolution; 0 for none.
        inner: channels that go through the convolution beside the groups.
    """

    heads: int
    head_dim: int
    state: int
    groups: int
    conv_kernel: int
    inner: int


class LayerState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`count` layers that keep the same thing."""

    kind: StateKind
    count: int
    attention: AttentionShape | None = None
    recurrent: RecurrentShape | None = None


class StateLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of one model, as its config declares it.

    Attributes:
        name: what the user calls it.
        layers: target layers, in the order in which kinds first appear.
        drafts: layers of a multi-token-prediction head that the checkpoint brings.
        dtype: of weights and activations, e.g. ``bfloat16``.
        kv_dtype: KV-cache format that the checkpoint declares ("" for none).
        ssm_dtype: dtype of the recurrent state that the config declares ("" for none).
        prefix_all: the architecture can keep a recurrent state at every block.
        attention_heads, hidden_size, vocab_size, intermediate_size, max_position: 0 where not
            declared.
        active_intermediate: MLP width that one token meets, shared expert included.
        unknowns: layers whose state could not be told; the arithmetic refuses them by name.
    """

    name: str
    architecture: str
    model_type: str
    layers: tuple[LayerState, ...]
    drafts: tuple[LayerState, ...] = ()
    dtype: str = "bfloat16"
    kv_dtype: str = ""
    ssm_dtype: str = ""
    prefix_all: bool = False
    chunk_size: int = 0
    attention_heads: int = 0
    hidden_size: int = 0
    vocab_size: int = 0
    num_layers: int = 0
    num_experts: int = 0
    experts_per_token: int = 0
    intermediate_size: int = 0
    moe_intermediate_size: int = 0
    max_position: int = 0
    vision: bool = False
    unknowns: tuple[Unknown, ...] = ()

    @property
    def hybrid(self) -> bool:
        """Attention and recurrent layers side by side."""
        kinds = {layer.kind.recurrent for layer in self.layers}
        return len(kinds) > 1

    @property
    def latent(self) -> bool:
        """Attention keeps a latent vector (MLA)."""
        return any(layer.kind is StateKind.MLA for layer in self.layers)

    def count(self, kind: StateKind) -> int:
        """Target layers of one kind."""
        return sum(layer.count for layer in self.layers if layer.kind is kind)
