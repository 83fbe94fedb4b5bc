"""Runs inside a vLLM environment, not ours: asks vLLM's own planner about layers given as JSON.

Reads ``{"cases": [...]}`` from stdin, writes one answer a case to stdout. Layers are vLLM's own
spec objects, so grouping, padding, counting and the printed numbers are vLLM's.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any


def planner() -> SimpleNamespace:
    """The planning functions of whatever release is installed."""
    found: dict[str, Any] = {}
    for name in ("kv_cache_utils", "kv_cache_planning"):
        try:
            found |= vars(import_module(f"vllm.v1.core.{name}"))
        except ImportError:
            continue
    return SimpleNamespace(**found)


def config(case: dict[str, Any]) -> SimpleNamespace:
    """Just enough of a VllmConfig for the planner."""
    layout = None
    try:
        layout = import_module("vllm.v1.kv_cache_layout").KVCacheLayout.LBNHC
    except ImportError:
        layout = None
    cache = SimpleNamespace(
        mamba_cache_mode=case["state_mode"],
        num_gpu_blocks_override=None,
        prefix_cache_retention_interval=None,
        get_resolved_kv_cache_layout=lambda: layout,
        kv_cache_layout="LBNHC",
        enable_prefix_caching=False,
    )
    return SimpleNamespace(
        model_config=SimpleNamespace(
            max_model_len=case["length"],
            original_max_model_len=case["length"],
            supports_kv_cache_grouping=False,
        ),
        scheduler_config=SimpleNamespace(
            disable_hybrid_kv_cache_manager=not case["hybrid_manager"],
            max_num_batched_tokens=case["in_flight"],
            max_num_encoder_input_tokens=0,
        ),
        parallel_config=SimpleNamespace(
            decode_context_parallel_size=1,
            prefill_context_parallel_size=1,
            tensor_parallel_size=1,
            pipeline_parallel_size=1,
        ),
        cache_config=cache,
        speculative_config=None,
        kv_transfer_config=None,
        num_prefill_lookahead_tokens=0,
        max_in_flight_tokens=case["in_flight"],
        attention_config=SimpleNamespace(hisparse_config=None),
    )


def specs(case: dict[str, Any]) -> dict[str, Any]:
    """One spec a layer, by name."""
    torch = import_module("torch")
    kinds = import_module("vllm.v1.kv_cache_interface")
    dtypes = {1: torch.uint8, 2: torch.bfloat16, 4: torch.float32}
    found: dict[str, Any] = {}
    for number, layer in enumerate(case["layers"]):
        name = f"model.layers.{number}.attn"
        if layer["kind"] == "state":
            found[name] = kinds.MambaSpec(
                block_size=layer["block"],
                shapes=((layer["bytes"],),),
                dtypes=(torch.uint8,),
                page_size_padded=layer["padded"] or None,
                mamba_cache_mode=case["state_mode"],
                num_speculative_blocks=case["speculative"],
                **(
                    {"num_prefill_checkpoint_blocks": 1, "prefill_checkpoint_alignment": 1}
                    if layer.get("checkpoint")
                    else {}
                ),
            )
            continue
        shape = {
            "block_size": layer["block"],
            "num_kv_heads": layer["kv_heads"],
            "head_size": layer["head_dim"],
            "dtype": dtypes[layer["element"]],
        }
        if layer["kind"] == "full":
            found[name] = kinds.FullAttentionSpec(**shape)
        elif layer["kind"] == "mla":
            found[name] = kinds.MLAAttentionSpec(**shape)
        elif layer["kind"] == "sliding":
            found[name] = kinds.SlidingWindowSpec(**shape, sliding_window=layer["window"])
        else:
            chunk = layer["chunk"]
            found[name] = kinds.ChunkedLocalAttentionSpec(**shape, attention_chunk_size=chunk)
    if any("indexes_kv_by_block_stride" in vars(spec) for spec in found.values()):
        replace = import_module("dataclasses").replace
        found = {
            name: replace(spec, indexes_kv_by_block_stride=True)
            if hasattr(spec, "indexes_kv_by_block_stride")
            else spec
            for name, spec in found.items()
        }
    return found


def answer(plan: SimpleNamespace, case: dict[str, Any]) -> dict[str, Any]:
    """Blocks, tokens and concurrency, or the planner's own refusal."""
    settings = config(case)
    try:
        groups = plan.get_kv_cache_groups(settings, specs(case))
        found = plan.get_kv_cache_config_from_groups(settings, groups, case["pool"])
    except (NotImplementedError, ValueError) as error:
        return {"refused": str(error)}
    concurrency = plan.get_max_concurrency_for_kv_cache_config(settings, found)
    blocks = [group.kv_cache_spec.block_size for group in groups]
    old = found.num_blocks // len(groups) * min(blocks)
    needed = plan._max_memory_usage_bytes_from_groups
    return {
        "blocks": found.num_blocks,
        "groups": [len(group.layer_names) for group in groups],
        "concurrency": concurrency,
        "tokens": int(concurrency * case["length"]),
        "old_tokens": old,
        "needed": needed(settings, groups) if needed.__code__.co_argcount == 2 else None,
    }


def main() -> None:
    plan = planner()
    cases = json.load(sys.stdin)["cases"]
    version = import_module("vllm").__version__
    json.dump({"version": version, "answers": [answer(plan, case) for case in cases]}, sys.stdout)


if __name__ == "__main__":
    main()
