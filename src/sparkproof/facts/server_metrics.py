"""Which of a server's metrics hold what the gates need, under which name in which release."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file


class Metric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number.

    Attributes:
        field: of `EngineCounts`.
        names: under which it is exported, newest first.
        always: a sound server of any release we know has it (else: only with a feature).
    """

    field: str
    names: tuple[str, ...]
    always: bool = True


class ServerMetrics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    metrics: tuple[Metric, ...]
    cache_info: str
    accepted_at: str
    source: str
    checked: date


@cache
def server_metrics() -> ServerMetrics:
    """All of them."""
    return load_file("server/metrics.toml", ServerMetrics)
