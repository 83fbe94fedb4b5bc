"""What follows from a boot's printed numbers, and which of them can't be right."""

from __future__ import annotations

from sparkproof.bootlog.diagnosis import caches_prefixes, speculates
from sparkproof.core.observations.boot_log import BootLog, Outcome, Traffic
from sparkproof.core.results.log import Derived

_GIB = 1 << 30
_NON_TORCH_SUSPECT_GIB = 8.0
_GRAPH_SUSPECT_GIB = -1.0
_BUSY_INTERVALS = 6
_STALLED_INTERVALS = 6
_FAILED_REQUESTS = 5
_SILENT_WAITS = 3
NOT_WORKING = frozenset({"stalled", "failing", "worker-silent"})
"""Names of what says that a server which is up does not work."""


def derive(boot: BootLog) -> tuple[Derived, ...]:
    """Statements in the order of a reader's interest."""
    return (*_trouble(boot), *_pool(boot), *_memory(boot), *_traffic(boot))


def token_meaning(boot: BootLog) -> str:
    """What the printed pool size in tokens means: ``concurrency``, ``blocks`` or "" for unknown.

    Until about June 2026 it was blocks // groups * block size; since then it is maximum
    concurrency * max_model_len. Where all layers are alike both give the same number.
    """
    tokens = boot.number_of("kv_tokens")
    concurrency = boot.number_of("max_concurrency_x")
    length = boot.number_of("concurrency_len")
    if not tokens or not concurrency or not length:
        return ""
    rounding = 0.006 * length  # concurrency is printed with two decimals
    return "concurrency" if abs(tokens - concurrency * length) <= rounding else "blocks"


def _trouble(boot: BootLog) -> list[Derived]:
    """What a server that is up did not do when its log ended."""
    found = []
    traffic = boot.traffic
    open_requests = f"{traffic.last_running} requests running and {traffic.last_waiting} waiting"
    if boot.outcome is not Outcome.SERVING:
        return []
    if traffic.stalled_intervals >= _STALLED_INTERVALS:
        text = f"its last {traffic.stalled_intervals} throughput lines show no token, with "
        text += f"{open_requests}: a hang, or the prefill of a very long prompt"
        found.append(Derived("stalled", text, suspicious=True, failing=True))
    if traffic.failed_in_a_row >= _FAILED_REQUESTS:
        text = f"its last {traffic.failed_in_a_row} requests for tokens were answered with 5xx"
        found.append(Derived("failing", text, suspicious=True, failing=True))
    if traffic.silent_waits >= _SILENT_WAITS:
        text = f"its engine waited {traffic.silent_waits} times in vain for a worker"
        text += f", with {open_requests}" if traffic.last_running else ""
        text += ": a hang, unless no request was open" if not traffic.last_running else ": a hang"
        failing = traffic.last_running > 0
        found.append(Derived("worker-silent", text, suspicious=True, failing=failing))
    return found


def _pool(boot: BootLog) -> list[Derived]:
    tokens = boot.number_of("kv_tokens")
    gib = next(
        (
            value
            for name in ("kv_available_gib", "kv_reserved_gib", "kv_cpu_gib")
            if (value := boot.number_of(name)) is not None
        ),
        None,
    )
    found = []
    meaning = token_meaning(boot)
    if meaning == "concurrency":
        found.append(Derived("kv-tokens", "pool tokens are maximum concurrency x max model length"))
    elif meaning == "blocks":
        found.append(Derived("kv-tokens", "pool tokens are blocks // groups x block size"))
    if tokens and gib and gib > 0:
        each = gib * _GIB / tokens
        note = "" if meaning != "concurrency" else ", valid for this max model length only"
        found.append(Derived("kv-bytes-per-token", f"{each:,.0f} bytes a token{note}"))
    if gib is not None and gib < 0:
        found.append(Derived("kv-negative", f"the KV pool is negative: {gib} GiB", suspicious=True))
    return found


def _memory(boot: BootLog) -> list[Derived]:
    found = []
    estimate = boot.number_of("graph_estimate_gib")
    if estimate is not None and estimate < _GRAPH_SUSPECT_GIB:
        text = f"CUDA graphs were estimated at {estimate} GiB: the pool is too big by about that"
        found.append(Derived("graph-estimate", text, suspicious=True))
    other = boot.number_of("non_torch_gib")
    if other is None:
        other = boot.number_of("non_torch_increase_gib")
    if other is not None and other > _NON_TORCH_SUSPECT_GIB:
        text = f"{other} GiB outside torch: another process moved memory during the start"
        found.append(Derived("non-torch", text, suspicious=True))
    return found


def _traffic(boot: BootLog) -> list[Derived]:
    """Features that are on and show no effect."""
    found = []
    traffic = boot.traffic
    busy = traffic.intervals >= _BUSY_INTERVALS and traffic.peak_generation_tokens_per_s > 0
    if busy and caches_prefixes(boot) and traffic.last_prefix_hit_pct == 0:
        text = "prefix caching is on and never hit: prompts share no whole block, or it is inert"
        found.append(Derived("prefix-hits", text, suspicious=True))
    if busy and speculates(boot) and traffic.last_acceptance_length < 0:
        text = "speculation is configured and no acceptance was ever printed: it may never draft"
        found.append(Derived("speculation", text, suspicious=True))
    if 0 <= traffic.last_acceptance_length < 1.05 and traffic.intervals:
        text = (
            f"speculation accepts next to nothing: {traffic.last_acceptance_length} tokens a step"
        )
        found.append(Derived("speculation", text, suspicious=True))
    if traffic.peak_kv_usage_pct >= 0:
        found.append(Derived("kv-peak", _peak(traffic)))
    return found


def _peak(traffic: Traffic) -> str:
    return (
        f"at most {traffic.peak_kv_usage_pct}% of the pool in use, "
        f"{traffic.peak_running} running and {traffic.peak_waiting} waiting"
    )
