"""From the records of requests to figures. Tokens are the server's count, never chunks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sparkproof.core.observations.load_run import Cell, CellRun, RequestRecord
from sparkproof.core.observations.server_snapshot import Window
from sparkproof.core.results.bench import CellSummary, Spread

_US = 1e6


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of the values do not exceed, interpolated; None for none."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread_of(values: Iterable[float | None]) -> Spread | None:
    """Median, lowest and highest of the repeats that have a value."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(statistics.median(known), min(known), max(known), tuple(known))


def decode_tokens_per_s(record: RequestRecord) -> float | None:
    """Tokens after the first event, by the time they took; None without a count or a second event.

    The first event may hold several tokens; they came with the prefill and are not counted.
    """
    reading = record.reading
    total, arrivals = reading.completion_tokens, reading.arrivals_us
    if total < 2 or len(arrivals) < 2:
        return None
    first = reading.tokens[0] if reading.tokens else 1
    span = (arrivals[-1] - arrivals[0]) / _US
    return (total - first) / span if span > 0 else None


def token_gaps_ms(record: RequestRecord) -> list[float]:
    """Time between tokens: a gap before k tokens counts k times with a k-th of it.

    Empty where the server gives no running count: chunks are not tokens.
    """
    reading = record.reading
    gaps: list[float] = []
    moments = reading.arrivals_us
    for place in range(1, len(reading.tokens)):
        count = reading.tokens[place]
        if count > 0:
            gaps += [(moments[place] - moments[place - 1]) / 1000 / count] * count
    return gaps


def summarize_cell(index: int, cell: Cell, runs: Sequence[CellRun]) -> CellSummary:
    """All repeats of one cell."""
    good = [[r for r in run.requests if r.ok] for run in runs]
    whole = [records for records in good if records]
    everything = [r for records in whole for r in records]
    windows = [run.window for run in runs if run.window]

    def each(figure: Callable[[Sequence[RequestRecord]], float | None]) -> Spread | None:
        return spread_of(figure(records) for records in whole)

    chunks = sum(len(r.reading.arrivals_us) for r in everything)
    counted = all(r.reading.completion_tokens >= 0 for r in everything)
    tokens = sum(r.reading.completion_tokens for r in everything)
    return CellSummary(
        cell=index,
        repeats=len(whole),
        requests=sum(len(run.requests) for run in runs),
        failed=sum(len(run.requests) for run in runs) - len(everything),
        depth=_median(r.reading.prompt_tokens for r in everything if r.reading.prompt_tokens >= 0),
        ttft_s=each(_mark("first_token_us")),
        reasoning_s=each(_mark("first_reasoning_us")),
        content_s=each(_mark("first_content_us")),
        prefill_tokens_per_s=each(_prefill) if cell.concurrency == 1 else None,
        decode_tokens_per_s=each(lambda rs: _median(map(decode_tokens_per_s, rs))),
        output_tokens_per_s=each(_together) if counted else None,
        e2e_s=each(_mark("ended_us")),
        itl_p50_ms=each(_gap(0.5)),
        itl_p90_ms=each(_gap(0.9)),
        itl_p99_ms=each(_gap(0.99)),
        tokens_per_chunk=tokens / chunks if chunks and counted else None,
        **_served(windows),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _mark(name: str) -> Callable[[Sequence[RequestRecord]], float | None]:
    def figure(records: Sequence[RequestRecord]) -> float | None:
        marks = [getattr(record.reading, name) for record in records]
        return _median(mark / _US for mark in marks if mark >= 0)

    return figure


def _gap(share: float) -> Callable[[Sequence[RequestRecord]], float | None]:
    return lambda records: percentile([g for r in records for g in token_gaps_ms(r)], share)


def _prefill(records: Sequence[RequestRecord]) -> float | None:
    return _median(
        r.reading.prompt_tokens / (r.reading.first_token_us / _US)
        for r in records
        if r.reading.prompt_tokens > 0 and r.reading.first_token_us > 0
    )


def _together(records: Sequence[RequestRecord]) -> float | None:
    """All tokens by the time from the first request's start to the last one's end."""
    start = min(record.sent_s for record in records)
    end = max(record.sent_s + record.reading.ended_us / _US for record in records)
    tokens = sum(record.reading.completion_tokens for record in records)
    return tokens / (end - start) if end > start else None


def _served(windows: Sequence[Window]) -> dict[str, Any]:
    """The server's own figures over all windows of a cell."""
    drafted, drafts = _sum(w.drafted for w in windows), _sum(w.drafts for w in windows)
    accepted = _sum(w.accepted for w in windows)
    finished = _sum(w.finished for w in windows)
    steps = _sum(w.itl_count for w in windows)
    longest = max((len(w.accepted_at) for w in windows), default=0)
    at = tuple(
        sum(w.accepted_at[n] for w in windows if n < len(w.accepted_at)) / drafts if drafts else 0.0
        for n in range(longest)
    )
    itl = _by(_sum(w.itl_s for w in windows), steps)
    return {
        "acceptance_rate": _by(accepted, drafted),
        "acceptance_length": 1 + accepted / drafts if drafts and accepted is not None else None,
        "acceptance_at": at if drafts else (),
        "queue_s": _by(_sum(w.queue_s for w in windows), finished),
        "server_ttft_s": _by(_sum(w.ttft_s for w in windows), finished),
        "server_itl_ms": None if itl is None else itl * 1000,
    }


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _by(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
