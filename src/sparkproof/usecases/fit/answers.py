"""The answers of ``fit``: knobs solved one at a time, and what other flags would give."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.state_layout import StateLayout
from sparkproof.core.results.fit import Alternative, Solved
from sparkproof.core.serve_args import ServeArgs, Speculation
from sparkproof.memory.budget import Budget
from sparkproof.memory.kv_plan import KvShape
from sparkproof.memory.solve import (
    least_utilization,
    longest_context,
    pool_for,
    sequences_in,
)

ShapeOf = Callable[[ServeArgs], KvShape]
_MTP_TOKENS = 3


class Pool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The pool's bytes, and what surrounds it where that is known."""

    bytes: int
    total_bytes: int
    budget: Budget | None = None


def solve_knobs(
    shape: KvShape, pool: Pool, *, sequences: int = 0, length: int = 0
) -> tuple[Solved, ...]:
    """Least pool and utilization for the requests asked, longest context, most sequences.

    Raises:
        UsageError: a number of sequences or a length that is none.
    """
    full = shape.settings.max_model_len
    count, tokens = sequences or 1, length or full
    if count < 1 or not 0 < tokens <= full:
        raise UsageError(
            f"{count} sequences of {tokens:,} tokens",
            hint=f"a length between 1 and the context of {full:,}",
        )
    asked = f"{count} x {tokens:,} tokens"
    least = pool_for(shape, count, tokens)
    solved = [Solved("--kv-cache-memory-bytes", f"least for {asked}", str(least), least)]
    if pool.budget is not None:
        share = least_utilization(pool.budget.overhead_bytes, least, pool.total_bytes)
        value = f"{share:g}" if share else ""
        knob = "--gpu-memory-utilization"
        solved.append(Solved(knob, f"least for {asked}", value, share or 0))
    longest = longest_context(shape, pool.bytes, count, full)
    fitting = sequences_in(shape, pool.bytes, tokens)
    solved.append(
        Solved("--max-model-len", f"longest for {count} at this pool", f"{longest}", longest)
    )
    solved.append(Solved("sequences", f"of {tokens:,} tokens in this pool", f"{fitting}", fitting))
    return tuple(solved)


def compare_flags(
    shape_of: ShapeOf, args: ServeArgs, layout: StateLayout, pool: int, length: int
) -> tuple[Alternative, ...]:
    """The same pool with another cache format, with or without speculation and prefix caching."""
    return tuple(
        found
        for change, other in _variants(shape_of, args, layout)
        if (found := _alternative(shape_of, change, other, pool, length)) is not None
    )


def _variants(
    shape_of: ShapeOf, args: ServeArgs, layout: StateLayout
) -> list[tuple[str, ServeArgs]]:
    settings = shape_of(args).settings
    replace = msgspec.structs.replace
    other = "auto" if settings.cache.element_bytes == 1 else "fp8"
    plain = "bfloat16" if other == "auto" and layout.kv_dtype else other
    variants = [(f"--kv-cache-dtype {plain}", replace(args, kv_dtype=plain))]
    if args.speculation:
        variants.append(("without speculation", replace(args, speculation=None)))
    elif layout.drafts:
        spec = Speculation(_MTP_TOKENS, "mtp")
        variants.append((f"with MTP, {_MTP_TOKENS} tokens", replace(args, speculation=spec)))
    if any(layer.kind.recurrent for layer in layout.layers):
        flag = (
            "--no-enable-prefix-caching" if settings.prefix_caching else "--enable-prefix-caching"
        )
        variants.append((flag, replace(args, prefix_caching=not settings.prefix_caching)))
    return variants


def _alternative(
    shape_of: ShapeOf, change: str, args: ServeArgs, pool: int, length: int
) -> Alternative | None:
    try:
        shape = shape_of(args)
    except UsageError:
        return None
    full = shape.settings.max_model_len
    blocks = shape.blocks(pool)
    tokens, concurrency = shape.printed(blocks, full)
    fitting = sequences_in(shape, pool, length or full)
    return Alternative(change, blocks, tokens, concurrency, fitting)
