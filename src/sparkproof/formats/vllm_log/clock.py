"""The log's own clock: month and day, seldom a year."""

from __future__ import annotations

from datetime import datetime, timedelta

_LEAP_YEAR = "2000-"
_HALF_YEAR = timedelta(days=180)


def seconds_between(start: str, end: str) -> float:
    """Seconds from one stamp to another; -1 where either is no stamp; over New Year as well."""
    first, last = _parse(start), _parse(end)
    if first is None or last is None:
        return -1.0
    if last < first - _HALF_YEAR:
        last += timedelta(days=366)
    return max(0.0, (last - first).total_seconds())


def _parse(stamp: str) -> datetime | None:
    if not stamp:
        return None
    text = stamp if len(stamp) > 14 else _LEAP_YEAR + stamp
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
