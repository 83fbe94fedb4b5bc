"""The stand-in's ``/metrics``, in vLLM's names."""

from __future__ import annotations

from collections import Counter

from sparkproof.testing.stand_in_answer import Behaviour

_Row = tuple[str, str, float]


def metrics_text(be: Behaviour, count: Counter[str], started_s: float) -> str:
    """What a scrape gives.

    Args:
        count: of what the server has done so far.
        started_s: since the epoch.
    """
    rows = [("process_start_time_seconds", "", started_s), *_counts(be, count), _cache(be)]
    lines = []
    for name, text, value in rows:
        family = name.removesuffix("_total").removesuffix("_sum").removesuffix("_count")
        kind = "counter" if name.endswith("_total") else "gauge"
        lines.append(f"# TYPE {family} {kind}")
        lines.append(f"{name}{{{text}}} {float(value)}" if text else f"{name} {float(value)}")
    return "\n".join(lines) + "\n"


def _counts(be: Behaviour, count: Counter[str]) -> list[_Row]:
    label = f'engine="0",model_name="{be.names[0]}"'
    return [
        ("vllm:num_requests_running", label, be.extra_traffic),
        ("vllm:num_requests_waiting", label, be.waiting),
        ("vllm:kv_cache_usage_perc", label, 0.01),
        ("vllm:prefix_cache_queries_total", label, count["queries"]),
        ("vllm:prefix_cache_hits_total", label, count["hits"]),
        ("vllm:num_preemptions_total", label, count["preemptions"]),
        ("vllm:prompt_tokens_total", label, count["prompt"]),
        ("vllm:generation_tokens_total", label, count["generated"]),
        ("vllm:request_success_total", f'{label},finished_reason="length"', count["requests"]),
        ("vllm:request_queue_time_seconds_sum", label, count["requests"] * be.queue_s),
        ("vllm:request_queue_time_seconds_count", label, count["requests"]),
        ("vllm:time_to_first_token_seconds_sum", label, count["requests"] * be.ttft_s),
        ("vllm:time_to_first_token_seconds_count", label, count["requests"]),
        ("vllm:inter_token_latency_seconds_sum", label, count["generated"] * be.interval_s),
        ("vllm:inter_token_latency_seconds_count", label, count["generated"]),
        *(_drafts(be, count, label) if be.drafts else ()),
    ]


def _cache(be: Behaviour) -> _Row:
    config = {
        "block_size": be.block_size,
        "cache_dtype": be.cache_dtype,
        "enable_prefix_caching": be.prefix_caching,
        "num_gpu_blocks": 4096,
        "kv_cache_size_tokens": 4096 * be.block_size,
        "kv_cache_max_concurrency": 16.0,
        **be.cache,
    }
    labels = ",".join(f'{name}="{value}"' for name, value in config.items())
    return "vllm:cache_config_info", f'engine="0",{labels}', 1.0


def _drafts(be: Behaviour, count: Counter[str], label: str) -> list[_Row]:
    return [
        ("vllm:spec_decode_num_drafts_total", label, count["drafts"]),
        ("vllm:spec_decode_num_draft_tokens_total", label, count["drafted"]),
        ("vllm:spec_decode_num_accepted_tokens_total", label, count["accepted"]),
        *(
            (
                "vllm:spec_decode_num_accepted_tokens_per_pos_total",
                f'{label},position="{position}"',
                count[f"pos{position}"],
            )
            for position in range(len(be.accepted))
        ),
    ]
