"""How long requests have to be: mixed within what the server takes, or enough to overfill its pool.

Overfilling: all prompts together fit, all whole requests together do not. So every request is
admitted, and the pool runs out while they write: some have to be preempted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from sparkproof.core.errors import UsageError

MAX_STREAMS = 4096
LONGEST = 8192
"""Tokens of the longest request unless told otherwise."""
_ROOM = 48
"""Tokens kept free below the server's limit, for chat templates and estimates that are off."""
_PROMPTS_FILL = 0.94
_OVERFILL = 1.1
_SPREAD = 0.05
_BLOCKS_WRITTEN = 1.5
_MOST_STREAMS = 512
"""Streams that lengths may ask for; a pool that needs more is too large for its model length."""


class Sizes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lengths in tokens, from shortest to longest, and how many streams."""

    concurrency: int
    prompt_low: int
    prompt_high: int
    output_low: int
    output_high: int


def mixed_sizes(concurrency: int, max_model_len: int, longest: int, prefix_tokens: int) -> Sizes:
    """Short to long, up to `longest` tokens or what the server takes.

    Args:
        max_model_len: of the server; 0 where it does not tell.
        longest: 0 for the usual.

    Raises:
        UsageError: there is no room for that.
    """
    limit = max_model_len or longest or LONGEST
    whole = min(longest or LONGEST, limit - _ROOM)
    output = max(16, min(512, whole // 4))
    prompt = whole - output - prefix_tokens
    if longest > limit or prompt < 16:
        raise UsageError(
            f"requests of {longest or whole} tokens do not fit {limit} (--max-model-len)",
            hint="a smaller --longest, or a shorter shared prefix",
        )
    return Sizes(
        concurrency=concurrency,
        prompt_low=min(16, prompt),
        prompt_high=prompt,
        output_low=min(16, output),
        output_high=output,
    )


def overfilling_sizes(
    concurrency: int, max_model_len: int, pool_tokens: int, block_tokens: int
) -> Sizes:
    """Lengths that overfill the pool, with more streams where lengths alone can't.

    Raises:
        UsageError: no number of streams that makes sense does it.
    """
    limit = max(max_model_len - _ROOM, 1)
    streams = max(concurrency, 2, math.ceil(_OVERFILL * pool_tokens / limit))
    while streams <= _MOST_STREAMS:
        share = pool_tokens / streams
        output = math.ceil(
            max(64, _BLOCKS_WRITTEN * block_tokens, (_OVERFILL - _PROMPTS_FILL) * share)
        )
        prompt = math.floor(min(_PROMPTS_FILL * share, (limit - output) / (1 + _SPREAD)))
        if prompt >= 16 and streams * (prompt + output) >= _OVERFILL * pool_tokens:
            return Sizes(
                concurrency=streams,
                prompt_low=math.ceil((1 - _SPREAD) * prompt),
                prompt_high=math.floor((1 + _SPREAD) * prompt),
                output_low=output,
                output_high=output,
            )
        streams += 1
    raise UsageError(
        f"a pool of {pool_tokens} tokens can't be overfilled by requests of {max_model_len}: "
        f"more than {_MOST_STREAMS} would have to run at once",
        hint="boot with --num-gpu-blocks-override for the soak, or with a longer --max-model-len",
    )


def pool_of(cache: Mapping[str, str]) -> tuple[int, int]:
    """(tokens in the pool, tokens in a block) from the labels of ``vllm:cache_config_info``.

    Zeros where they do not tell.
    """
    block = max(_number(cache, "block_size"), _number(cache, "effective_attention_block_size"))
    pool = _number(cache, "kv_cache_size_tokens") or _number(cache, "num_gpu_blocks") * block
    return pool, block


def _number(cache: Mapping[str, str], name: str) -> int:
    text = cache.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 16 else 0
