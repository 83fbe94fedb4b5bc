"""Quantiles of a stream of times in a few hundred numbers: buckets that grow by a twentieth."""

from __future__ import annotations

import math
from collections import Counter

_GROWTH = 1.05
_LOWEST_S = 1e-4


class Sketch:
    """Takes durations in seconds; quantiles are off by a fortieth at most."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self._longest = 0.0

    def add(self, seconds: float) -> None:
        """One duration."""
        self._buckets[round(math.log(max(seconds, _LOWEST_S), _GROWTH))] += 1
        self._longest = max(self._longest, seconds)

    def quantile(self, share: float) -> float | None:
        """The duration that `share` of them do not exceed; None for none at all."""
        wanted = share * self._buckets.total()
        passed = 0
        for bucket in sorted(self._buckets):
            passed += self._buckets[bucket]
            if passed >= wanted:
                return min(_GROWTH**bucket, self._longest)
        return None

    @property
    def longest(self) -> float | None:
        """The longest; None for none at all."""
        return self._longest if self._buckets else None
