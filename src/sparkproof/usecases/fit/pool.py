"""How many bytes the pool has, by whose word; and words about it that contradict each other."""

from __future__ import annotations

from sparkproof.core.errors import UsageError
from sparkproof.core.memory_plan import Origin
from sparkproof.facts.memory_book import rules_of
from sparkproof.memory.budget import GIB, Budget, gib
from sparkproof.memory.kv_plan import ROUNDING_BYTES, KvShape
from sparkproof.usecases.fit.case import CPU, FitCase

PLANNED = "estimated from the flags"
_PRINTED = "as printed by a log"
_BLOCKS, _BYTES = "--num-gpu-blocks-override", "--kv-cache-memory-bytes"


def stated_pool(case: FitCase, shape: KvShape) -> tuple[int, str]:
    """Bytes of a pool that flags or the user state, and by what; 0 for none.

    Blocks come first: so many are all that is reserved, whatever was found free.
    """
    if case.args.blocks_override:
        return case.args.blocks_override * shape.block_bytes, _BLOCKS
    if case.request.kv_gib is not None:
        return int(case.request.kv_gib * GIB), _PRINTED
    return case.args.kv_bytes, _BYTES if case.args.kv_bytes else ""


def find_pool(case: FitCase, shape: KvShape, budget: Budget | None) -> tuple[int, int, str]:
    """Bytes of the pool, how far they may be off by rounding, and where they are from.

    Raises:
        UsageError: nothing tells, or two words about it contradict each other.
    """
    _refuse_contradictions(case, budget)
    stated, origin = stated_pool(case, shape)
    if stated:
        return stated, ROUNDING_BYTES if origin == _PRINTED else 0, origin
    if budget is None:
        raise UsageError(
            "neither the pool nor the weights are known",
            hint="give --kv-gib from a log, --kv-cache-memory-bytes after `--`, or --weights-gib",
        )
    return budget.line("kv").bytes, 0, PLANNED


def is_override_admitted(case: FitCase) -> bool:
    """Whether the engine's own check looks at the blocks that ``--num-gpu-blocks-override`` states.

    Releases between those that were examined are dated for this.
    """
    return rules_of(case.choice.version).flag("override_admitted")


def _refuse_contradictions(case: FitCase, budget: Budget | None) -> None:
    printed = case.request.kv_gib
    if printed is None:
        return
    if printed <= 0:
        raise UsageError(
            f"a KV pool of {printed} GiB holds nothing",
            hint="--kv-gib takes what the boot log prints, e.g. 41.2",
        )
    pinned = case.args.kv_bytes
    if pinned and not case.request.trial and abs(printed * GIB - pinned) > ROUNDING_BYTES:
        raise UsageError(
            f"--kv-gib {printed:g} and `{_BYTES} {pinned}` ({gib(pinned)}) are two pools",
            hint="leave one of them out",
        )
    if budget is not None and not pinned and case.device.capability != CPU:
        _refuse_above_request(int(printed * GIB), budget)


def _refuse_above_request(pool: int, budget: Budget) -> None:
    """A log's pool is what its weights left of its request: the two can't exceed it."""
    sure = sum(
        line.low_bytes
        for line in budget.lines
        if line.name in ("weights", "drafter")
        or (line.name == "rest" and line.origin is Origin.MEASURED)
    )
    if sure + pool - 2 * ROUNDING_BYTES > budget.requested_bytes:
        raise UsageError(
            f"weights of {gib(sure)} and a pool of {gib(pool)} are more than the"
            f" {gib(budget.requested_bytes)} of the request: no boot prints both",
            hint="take both from one log, with its --gpu-memory-utilization after `--`",
        )
