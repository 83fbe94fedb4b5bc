"""The vLLM arguments that decide about kernels, typed; everything else is left alone."""

from __future__ import annotations

import msgspec

from sparkproof.core.condition import Scalar


class SelectionArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What follows ``vllm serve MODEL``, as far as kernel selection is concerned.

    Attributes:
        linear_backend_per_quant: overrides by kind, e.g. ``nvfp4_w4a4``.
        attention_backend: "" for automatic.
        block_size: ``--block-size``: tokens of a KV block, 0 where none is stated.
        text_only: ``--language-model-only``: the vision tower is left out.
        speculative: whether a drafter is asked for; `speculative_method` where it is named.
        draft_model: the drafter's own checkpoint ("" for none).
        draft_moe_backend, draft_attention_backend, draft_kv_cache_dtype: the drafter's own
            choices ("" where it follows the target's).
        model_impl: ``--model-impl``: whose class is taken for the architecture.
        trust_remote_code: code that comes with the checkpoint may run in the server.
        hf_overrides: what ``--hf-overrides`` puts into the model's config, as JSON ("" for none).
        settings: further answers by the path under which selection functions ask.
    """

    moe_backend: str = "auto"
    linear_backend: str = "auto"
    linear_backend_per_quant: dict[str, str] = {}
    attention_backend: str = ""
    kv_cache_dtype: str = "auto"
    quantization: str = ""
    tensor_parallel: int = 1
    expert_parallel: bool = False
    lora: bool = False
    text_only: bool = False
    speculative: bool = False
    speculative_method: str = ""
    draft_model: str = ""
    draft_moe_backend: str = ""
    draft_attention_backend: str = ""
    draft_kv_cache_dtype: str = ""
    settings: dict[str, Scalar] = {}
    model_impl: str = "auto"
    trust_remote_code: bool = False
    hf_overrides: str = ""
    block_size: int = 0

    @property
    def attention_backends(self) -> tuple[str, ...]:
        """Attention backends that are named."""
        return tuple(filter(None, (self.attention_backend, self.draft_attention_backend)))
