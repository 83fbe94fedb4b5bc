"""What boots spent beside weights and pool: a fitted line, and how far new boxes were off it."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file
from sparkproof.facts.schema import Method

_TOKENS = 1024


class RestLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """GiB beside weights, pool and graphs: fixed, and for each 1,024 batched tokens."""

    fixed_gib: float
    per_1024_tokens_gib: float

    def rest_gib(self, batched_tokens: int) -> float:
        """What the line says of so many batched tokens."""
        return self.fixed_gib + self.per_1024_tokens_gib * batched_tokens / _TOKENS


class Without(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line as it comes out where one box is left out, and how far that box is off it.

    Attributes:
        off: largest error of its boots, as a share of what was predicted with graphs.
    """

    box: str
    boots: int
    line: RestLine
    off: float


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An interval for a box that nothing was measured on, by the boxes left out one at a time.

    Attributes:
        capability: of the devices that the boots were on.
        graphs_gib: what was taken as the graph estimate of every boot.
        level: share of unseen boxes that the interval is to hold.
        holds: share that it holds at least: so many boxes of one more than there are.
        spread: conformal quantile of the boxes' `off`.
        elsewhere: the largest error on devices of other kinds, as a share in the same way.
        kinds: how many other kinds.
    """

    capability: str
    line: RestLine
    graphs_gib: float
    level: float
    holds: float
    spread: float
    elsewhere: float
    kinds: int
    source: str
    checked: date
    method: Method
    without: tuple[Without, ...]

    @property
    def boots(self) -> int:
        """Boots that it rests on."""
        return sum(item.boots for item in self.without)

    def range_gib(self, batched_tokens: int, capability: str) -> tuple[float, float]:
        """Least and most of rest and graphs together, on a box that was not measured.

        The ends are those of the lines fitted without one box, widened by the spread: the
        cautious form of the jackknife. On devices of other kinds the spread is theirs.
        """
        lines = (self.line, *(item.line for item in self.without))
        totals = [line.rest_gib(batched_tokens) + self.graphs_gib for line in lines]
        spread = self.spread if self.covers(capability) else self.elsewhere
        return max(min(totals) * (1 - spread), 0.0), max(totals) * (1 + spread)

    def covers(self, capability: str) -> bool:
        """Whether boots on such devices were measured."""
        return capability == self.capability


@cache
def calibration() -> Calibration:
    """As ``python -m benchmarks.fit_calibration --write`` wrote it."""
    return load_file("memory/rest.toml", Calibration)
