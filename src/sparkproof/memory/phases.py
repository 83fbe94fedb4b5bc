"""The life of a server in time: what is held in each phase, and which one is the tightest."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from sparkproof.core.memory_plan import BudgetLine, Origin, Phase
from sparkproof.facts.memory_book import estimates
from sparkproof.memory.budget import GIB, Budget, estimated_line, gib

_TITLES = {
    "check": ("start-up check", "stop other servers, or lower --gpu-memory-utilization"),
    "load": ("weights load", "drop the page cache first, or use --load-format fastsafetensors"),
    "repack": ("weights are repacked", "choose a backend that takes the checkpoint as it is"),
    "jit": ("kernels compile", "set MAX_JOBS lower, or keep the compiled kernels on a volume"),
    "autotune": ("kernels are tuned", "switch the autotuner off for the first start"),
    "profile": ("memory is profiled", "lower --max-num-batched-tokens"),
    "capture": ("graphs are captured", "lower --max-num-seqs or --gpu-memory-utilization"),
    "steady": ("steady state", "lower --gpu-memory-utilization or set --kv-cache-memory-bytes"),
    "long-prefill": (
        "first long prefill",
        "lower --gpu-memory-utilization, and send one near-maximal prompt before going live",
    ),
}


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The box around the server.

    Attributes:
        total_bytes: what the device reports as its memory.
        reserve_bytes: what has to stay free.
        used_bytes: held by the system and everything else before the server starts; None for
            the usual.
        tenants: other servers, name to bytes, not counted in `used_bytes`.
        jobs: compiler jobs that may run at once; 0 where nothing is compiled at this start.
        measured: where `used_bytes` was read.
        proven_bytes: that a boot's own start-up check found free, its processes being up; 0 where
            no boot is told.
    """

    total_bytes: int
    reserve_bytes: int
    used_bytes: int | None = None
    tenants: dict[str, int] = {}
    jobs: int = 0
    measured: str = ""
    proven_bytes: int = 0


def host_lines(host: Host) -> tuple[BudgetLine, ...]:
    """Uses outside the engine's request.

    What is estimated of them is held within what a boot's start-up check left beside its request.
    """
    lines = []
    if host.used_bytes is None:
        lines.append(estimated_line("os", estimates()["host_os"], "system, desktop, services"))
    else:
        used = host.used_bytes
        why = host.measured or "given"
        lines.append(BudgetLine("os", used, used, used, Origin.MEASURED, why))
    for name, size in sorted(host.tenants.items()):
        lines.append(BudgetLine(f"tenant {name}", size, size, size, Origin.GIVEN, "co-tenant"))
    lines.append(estimated_line("server", estimates()["host_server"], "API server, engine core"))
    lines.append(estimated_line("pinned", estimates()["host_pinned"], "pinned buffers"))
    if host.proven_bytes and host.used_bytes is None and not host.tenants:
        return _within(lines, host.total_bytes - host.proven_bytes)
    return tuple(lines)


def _within(lines: list[BudgetLine], most: int) -> tuple[BudgetLine, ...]:
    """Lines that sum to `most` bytes at the utmost, by their middle and, each alone, at its end."""
    middle = sum(line.bytes for line in lines)
    share = min(1.0, most / middle)
    room = most - int(middle * share)
    return tuple(
        msgspec.structs.replace(
            line,
            bytes=int(line.bytes * share),
            low_bytes=int(line.low_bytes * share),
            high_bytes=int(min(line.high_bytes, line.bytes * share + room)),
            why=f"{line.why}; the boot's start-up check left {gib(most)} for all of these",
        )
        for line in lines
    )


def plan_phases(budget: Budget, host: Host, weight_layers: int) -> tuple[Phase, ...]:
    """Every phase from the start-up check to the first long prefill."""
    around = host_lines(host)
    before = [line for line in around if line.name not in ("server", "pinned")]
    weights = [line for line in budget.lines if line.name in ("weights", "drafter")]
    fixed = [line for line in budget.lines if line.name in ("non-torch", "rest")]
    activation = [line for line in budget.lines if line.name == "activation"]
    loaded = [*around, *weights]
    running = [*loaded, *fixed]
    served = [*(_settled(line) for line in (*running, *_pool(budget))), *_graphs(budget)]
    size = sum(line.bytes for line in weights)
    request = _exact("request", budget.requested_bytes)
    yield_jit = [_phase(host, "jit", [*loaded, _compilers(host)])] if host.jobs else []
    return (
        _phase(host, "check", [*before, request]),
        _phase(host, "load", [*loaded, _exact("staging", size // 20)]),
        _phase(host, "repack", [*loaded, _repack(size, weight_layers)]),
        *yield_jit,
        _phase(host, "autotune", [*running, _gib("autotune", "autotune")]),
        _phase(host, "profile", [*running, *activation]),
        _phase(host, "capture", served),
        _phase(host, "steady", [*served, *(_settled(line) for line in activation)]),
        _phase(host, "long-prefill", [*served, _growth(activation)]),
    )


def _phase(host: Host, name: str, lines: Iterable[BudgetLine]) -> Phase:
    held = list(lines)
    title, turn_down = _TITLES[name]
    free = host.total_bytes - sum(line.bytes for line in held)
    more = math.hypot(*(line.high_bytes - line.bytes for line in held))
    less = math.hypot(*(line.bytes - line.low_bytes for line in held))
    uses = {line.name: line.bytes for line in held}
    return Phase(name, title, uses, free, free - int(more), turn_down, free + int(less))


def _settled(line: BudgetLine) -> BudgetLine:
    """Inside the request one line's excess is taken off the pool: the sum is certain."""
    if line.origin is Origin.ESTIMATED and line.name in ("os", "server", "pinned"):
        return line
    return msgspec.structs.replace(line, low_bytes=line.bytes, high_bytes=line.bytes)


def _pool(budget: Budget) -> list[BudgetLine]:
    pool = budget.line("kv")
    return [msgspec.structs.replace(pool, bytes=max(pool.bytes, 0))]


def _graphs(budget: Budget) -> list[BudgetLine]:
    return [_gib("graphs", "graph_actual")] if budget.line("graphs").high_bytes else []


def _compilers(host: Host) -> BudgetLine:
    jobs = host.jobs
    found = estimates()["jit_per_job"]
    return estimated_line("compilers", found, f"{jobs} compiler jobs", jobs * GIB)


def _repack(weights: int, layers: int) -> BudgetLine:
    factor = estimates()["repack_factor"]
    size = max(int(weights * factor.value), weights // max(layers, 1))
    high = max(size, int(weights * factor.high))
    return BudgetLine("repack", size, 0, high, Origin.ESTIMATED, "a layer at a time")


def _growth(activation: list[BudgetLine]) -> BudgetLine:
    """At least the peak that profiling saw; how much more was seen with a few models only."""
    found = _gib("growth", "first_long_prefill")
    peak = max((line.bytes for line in activation), default=0)
    least = max((line.low_bytes for line in activation), default=0)
    return msgspec.structs.replace(
        found,
        bytes=max(found.bytes, peak),
        low_bytes=max(found.low_bytes, least),
        high_bytes=max(found.high_bytes, peak),
    )


def _gib(name: str, key: str) -> BudgetLine:
    return estimated_line(name, estimates()[key], key.replace("_", " "))


def _exact(name: str, size: int) -> BudgetLine:
    return BudgetLine(name, size, size, size, Origin.EXACT, "")
