"""A benchmark's requests as a table: one row a request, times in milliseconds."""

from __future__ import annotations

import csv
import io

from sparkproof.core.results.bench import BenchResult
from sparkproof.load.metrics import decode_tokens_per_s

COLUMNS = (
    *("mode", "depth", "load", "repeat", "sent_ms", "status", "failure", "prompt_tokens"),
    *("completion_tokens", "chunks", "ttft_ms", "first_thinking_ms", "first_answer_ms", "ended_ms"),
    "decode_tokens_per_s",
)


def bench_table(result: BenchResult) -> str:
    """All requests of all cells, in the order in which they were run."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in result.runs:
        cell = result.plan.cells[run.cell]
        for record in run.requests:
            reading = record.reading
            speed = decode_tokens_per_s(record)
            writer.writerow(
                (
                    *(cell.mode, cell.depth, cell.load, run.repeat, round(record.sent_s * 1000, 3)),
                    *(record.status, record.failure.value),
                    *(_known(reading.prompt_tokens), _known(reading.completion_tokens)),
                    len(reading.arrivals_us),
                    *(_ms(reading.first_token_us), _ms(reading.first_reasoning_us)),
                    *(_ms(reading.first_content_us), _ms(reading.ended_us)),
                    "" if speed is None else round(speed, 3),
                )
            )
    return out.getvalue()


def _ms(mark: int) -> float | str:
    return mark / 1000 if mark >= 0 else ""


def _known(count: int) -> int | str:
    return count if count >= 0 else ""
