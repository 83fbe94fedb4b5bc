"""The vLLM arguments that decide about memory, typed; everything else is left alone."""

from __future__ import annotations

import msgspec


class Speculation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``--speculative-config``.

    Attributes:
        method: as given, e.g. ``mtp``, ``dflash``, ``ngram`` ("" where it is left to vLLM).
        tokens: speculative tokens per step.
        model: draft checkpoint ("" for none, or for the target's own head).
        kv_dtype: the drafter's own cache format ("" for the target's).
    """

    tokens: int
    method: str = ""
    model: str = ""
    kv_dtype: str = ""


class ServeArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What follows ``vllm serve MODEL``, as far as memory is concerned.

    None and 0 mean that vLLM decides; the facts say how.

    Attributes:
        max_model_len: tokens; 0 for the checkpoint's own, -1 for the longest that fits.
        utilization: ``--gpu-memory-utilization``; None for the release's default.
        kv_bytes: ``--kv-cache-memory-bytes``; 0 for none.
        blocks_override: ``--num-gpu-blocks-override``; 0 for none.
    """

    max_model_len: int = 0
    utilization: float | None = None
    kv_bytes: int = 0
    blocks_override: int = 0
    kv_dtype: str = "auto"
    kv_skip_layers: tuple[str, ...] = ()
    dtype: str = "auto"
    block_size: int = 0
    prefix_caching: bool | None = None
    state_mode: str = ""
    state_dtype: str = "auto"
    ssm_dtype: str = "auto"
    state_block_size: int = 0
    batched_tokens: int = 0
    sequences: int = 0
    chunked_prefill: bool | None = None
    speculation: Speculation | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    decode_context_parallel: int = 1
    hybrid_manager: bool | None = None
    async_scheduling: bool | None = None
    attention_backend: str = ""
    moe_backend: str = ""
    enforce_eager: bool = False
    load_format: str = "auto"
    performance_mode: str = ""
