"""Nothing is left for the KV cache: by how much, and what would leave something."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.memory_plan import KvPlan, MemoryPlan, Origin
from sparkproof.memory.budget import gib
from sparkproof.memory.solve import least_utilization

NO_ROOM = "memory/no-room-for-kv"
_WEIGHTS = ("weights", "drafter")
_APART = ("kv", "slack")
_ENDS = "vLLM ends with `No available memory for the cache blocks`"
_SMALLER = "take a smaller or further quantized checkpoint, or share it out over more devices"


def find_no_room(memory: MemoryPlan | None, plan: KvPlan) -> Iterator[Finding]:
    """Weights that exceed the box, or leave nothing of what the engine allows itself."""
    if memory is None:
        return
    lines = [line for line in memory.lines if line.name in _WEIGHTS]
    measured = all(line.origin is Origin.MEASURED for line in lines)
    least = sum(line.low_bytes for line in lines)
    if least > memory.total_bytes:
        yield from find_weights_beyond(least, memory.total_bytes)
    elif memory.kv_bytes:
        return
    elif least > memory.requested_bytes:
        over, asked = gib(least - memory.requested_bytes), gib(memory.requested_bytes)
        message = f"the weights alone exceed the {asked} of the request by {over}: {_ENDS}"
        yield _finding(message, _way_out(memory, plan), sure=measured)
    else:
        message = (
            f"weights and what runs beside them take {gib(_beside(memory))}, the request is"
            f" {gib(memory.requested_bytes)}: {_ENDS}"
        )
        yield _finding(message, _way_out(memory, plan), sure=False)


def find_weights_beyond(least_bytes: int, total_bytes: int) -> Iterator[Finding]:
    """Weights that exceed the memory of the box."""
    if least_bytes > total_bytes:
        over = gib(least_bytes - total_bytes)
        message = f"the weights alone exceed the {gib(total_bytes)} of the box by {over}"
        yield _finding(message, _SMALLER, sure=True)


def _beside(memory: MemoryPlan) -> int:
    return sum(line.bytes for line in memory.lines if line.name not in _APART)


def _way_out(memory: MemoryPlan, plan: KvPlan) -> str:
    share = least_utilization(_beside(memory), plan.request_bytes, memory.total_bytes)
    if share is None or share * memory.total_bytes > memory.available_bytes:
        return f"{_SMALLER}: no share of this box holds it and one request"
    return f"--gpu-memory-utilization {share:g} is the least that holds it and one request"


def _finding(message: str, remedy: str, *, sure: bool) -> Finding:
    return Finding(
        rule=NO_ROOM,
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN if sure else Confidence.INFERRED,
        message=message,
        remedy=remedy,
        evidence=(Evidence("v1/core", "_check_enough_kv_cache_memory"),),
    )
