"""The wall clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The machine's own clock, in UTC."""

    def now(self) -> datetime:
        """The present moment."""
        return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """RFC 3339 in whole seconds, e.g. ``2026-11-29T21:41:00Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
