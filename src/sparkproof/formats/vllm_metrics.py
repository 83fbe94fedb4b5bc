"""The counters of a vLLM server, out of the samples of one scrape."""

from __future__ import annotations

from typing import Any

from sparkproof.core.observations.server_snapshot import EngineCounts
from sparkproof.facts.server_metrics import server_metrics
from sparkproof.formats.prometheus import ABSURD, Sample, parse_metrics, total


def read_counts(data: bytes, where: str) -> EngineCounts:
    """Read a scrape.

    Raises:
        FormatError: it is no text of that format.
    """
    kept = parse_metrics(data, where, "vllm:")
    kept += parse_metrics(data, where, "process_start_time_seconds")
    facts = server_metrics()
    values: dict[str, Any] = {m.field: _first(kept, m.names) for m in facts.metrics}
    cache = next((dict(s.labels) for s in kept if s.name == facts.cache_info), {})
    return EngineCounts(**values, cache=cache, accepted_at=_positions(kept, facts.accepted_at))


def missing_names(counts: EngineCounts) -> tuple[str, ...]:
    """What every release that we know exports, and this server does not."""
    return tuple(
        metric.names[0]
        for metric in server_metrics().metrics
        if metric.always and getattr(counts, metric.field) is None
    )


def _first(samples: tuple[Sample, ...], names: tuple[str, ...]) -> float | None:
    return next((v for name in names if (v := total(samples, name)) is not None), None)


def _positions(samples: tuple[Sample, ...], name: str) -> tuple[float, ...]:
    found: dict[int, float] = {}
    for sample in samples:
        position = sample.labels.get("position", "")
        whole = position.isdecimal() and len(position) < 4
        if sample.name == name and whole and abs(sample.value) < ABSURD:
            found[int(position)] = found.get(int(position), 0.0) + sample.value
    return tuple(found.get(n, 0.0) for n in range(max(found) + 1)) if found else ()
