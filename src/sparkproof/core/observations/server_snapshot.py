"""What a server says about itself at one moment, and what changed between two."""

from __future__ import annotations

import msgspec

from sparkproof.core.unknown import Unknown


class Served(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of ``/v1/models``; of its `root` only the last part, since paths tell too much."""

    name: str
    max_model_len: int = 0
    owned_by: str = ""
    root: str = ""


class EngineCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Counters and gauges of one scrape, summed over engines; None where the name is not there.

    Attributes:
        start_s: when the server's process started, seconds since the epoch.
        finished: requests that ended, for whatever reason.
        accepted_at: accepted draft tokens by position.
        queue_s, prefill_s, decode_s, ttft_s, itl_s, e2e_s: sums of the server's histograms.
        cache: labels of the cache's configuration.
    """

    start_s: float | None = None
    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None
    finished: float | None = None
    prompt_tokens: float | None = None
    generated_tokens: float | None = None
    prefix_queries: float | None = None
    prefix_hits: float | None = None
    preemptions: float | None = None
    drafts: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    accepted_at: tuple[float, ...] = ()
    queue_s: float | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    ttft_s: float | None = None
    itl_s: float | None = None
    e2e_s: float | None = None
    itl_count: float | None = None
    e2e_count: float | None = None
    cache: dict[str, str] = {}


class ServerSnapshot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The server before anything is asked of it.

    Attributes:
        version: of ``/version``; "" where it does not tell.
        healthy: status of ``/health``; 0 where nothing answered.
        fingerprint: the system fingerprint of its answers.
    """

    address: str
    version: str = ""
    healthy: int = 0
    models: tuple[Served, ...] = ()
    counts: EngineCounts | None = None
    unknowns: tuple[Unknown, ...] = ()


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the server counted between two scrapes; None where one of them lacks the name.

    Attributes:
        restarted: another process answers, or a counter went backwards.
        running_seen: the most requests seen running at once by scrapes in between.
        waiting_seen: the most seen waiting.
    """

    restarted: bool = False
    finished: float | None = None
    prompt_tokens: float | None = None
    generated_tokens: float | None = None
    prefix_queries: float | None = None
    prefix_hits: float | None = None
    preemptions: float | None = None
    drafts: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    accepted_at: tuple[float, ...] = ()
    queue_s: float | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    ttft_s: float | None = None
    itl_s: float | None = None
    e2e_s: float | None = None
    itl_count: float | None = None
    e2e_count: float | None = None
    running_seen: float = 0.0
    waiting_seen: float = 0.0

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted draft tokens by drafted ones."""
        if not self.drafted or self.accepted is None:
            return None
        return self.accepted / self.drafted

    @property
    def acceptance_length(self) -> float | None:
        """Tokens of one verification step, the bonus token included."""
        if not self.drafts or self.accepted is None:
            return None
        return 1 + self.accepted / self.drafts

    @property
    def acceptance_at(self) -> tuple[float, ...]:
        """Accepted by drafted, position by position."""
        return tuple(count / self.drafts for count in self.accepted_at) if self.drafts else ()


_GAUGES = frozenset({"start_s", "running", "waiting", "kv_usage", "cache", "accepted_at"})


def between(
    before: EngineCounts, after: EngineCounts, seen: tuple[EngineCounts, ...] = ()
) -> Window:
    """What was counted from one scrape to the next.

    Args:
        seen: scrapes in between, for their gauges.
    """
    changes: dict[str, float | None] = {}
    restarted = before.start_s != after.start_s
    for name in EngineCounts.__struct_fields__:
        if name in _GAUGES:
            continue
        old, new = getattr(before, name), getattr(after, name)
        if old is None and new is not None:
            old = 0.0  # counters with labels are born when they first count
        known = old is not None and new is not None
        changes[name] = new - old if known else None
        restarted = restarted or (known and new < old)
    at = tuple(
        new - (before.accepted_at[n] if n < len(before.accepted_at) else 0.0)
        for n, new in enumerate(after.accepted_at)
    )
    return Window(
        restarted=restarted,
        accepted_at=at,
        running_seen=max((c.running or 0.0 for c in seen), default=0.0),
        waiting_seen=max((c.waiting or 0.0 for c in seen), default=0.0),
        **changes,
    )
