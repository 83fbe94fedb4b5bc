"""Payload of ``sparkproof bench``: raw records, and what follows from them."""

from __future__ import annotations

import msgspec

from sparkproof.core.identities import Identities
from sparkproof.core.observations.load_run import CellRun, LoadPlan
from sparkproof.core.observations.server_snapshot import ServerSnapshot


class Spread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One figure, repeat by repeat: its median, lowest and highest."""

    median: float
    low: float
    high: float
    values: tuple[float, ...]

    @property
    def width(self) -> float:
        """Highest less lowest."""
        return self.high - self.low


class CellSummary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one cell's repeats give. Seconds and tokens a second; None where it can't be told.

    Attributes:
        depth: prompt tokens by the server's count, median.
        ttft_s: until the first token of whatever kind.
        reasoning_s, content_s: until the first token of thinking, of the answer.
        prefill_tokens_per_s: prompt tokens by `ttft_s`, one stream.
        decode_tokens_per_s: of one stream, first token excluded.
        output_tokens_per_s: of all streams together.
        itl_p50_ms, itl_p90_ms, itl_p99_ms: between tokens, each token of a chunk counted.
        tokens_per_chunk: above 1 chunks are no tokens.
        acceptance_rate: accepted draft tokens by drafted ones.
        acceptance_length: tokens of a step, with the bonus token.
        queue_s, server_ttft_s, server_itl_ms: the server's own, mean of the same window.
    """

    cell: int
    repeats: int
    requests: int
    failed: int
    depth: float | None = None
    ttft_s: Spread | None = None
    reasoning_s: Spread | None = None
    content_s: Spread | None = None
    prefill_tokens_per_s: Spread | None = None
    decode_tokens_per_s: Spread | None = None
    output_tokens_per_s: Spread | None = None
    e2e_s: Spread | None = None
    itl_p50_ms: Spread | None = None
    itl_p90_ms: Spread | None = None
    itl_p99_ms: Spread | None = None
    tokens_per_chunk: float | None = None
    acceptance_rate: float | None = None
    acceptance_length: float | None = None
    acceptance_at: tuple[float, ...] = ()
    queue_s: float | None = None
    server_ttft_s: float | None = None
    server_itl_ms: float | None = None


class BenchResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole benchmark.

    Attributes:
        runs: raw records; `cells` follows from them.
        others: requests of others that the server counted in the measured windows.
        others_tokens: tokens generated for them.
        loaded: other traffic ran beside.
        against: receipt of the other arm, where two were measured in turns.
        interrupted: somebody stopped it; what was measured is here.
    """

    snapshot: ServerSnapshot
    model: str
    plan: LoadPlan
    identities: Identities = Identities()
    runs: tuple[CellRun, ...] = ()
    cells: tuple[CellSummary, ...] = ()
    loaded: bool = False
    others: float = 0.0
    others_tokens: float = 0.0
    against: str = ""
    interrupted: bool = False


DOCUMENTS = {"bench": BenchResult}
