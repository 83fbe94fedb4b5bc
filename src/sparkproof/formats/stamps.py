"""Clock times as logs print them: with or without a year, with or without a zone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

_ANY_YEAR = 2000
_YEAR_S = 366 * 86400.0
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ISO = re.compile(
    r"\[?(?:(?P<year>\d{4})-)?(?P<month>\d\d)-(?P<day>\d\d)[T ](?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)"
    r"(?:[.,]\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_WORDS = re.compile(
    r"\[?(?:[A-Z][a-z]{2} )?(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2})"
    r" (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?: (?P<year>\d{4}))?(?P<zone>)"
)


class Moment(NamedTuple):
    """A clock time; in UTC if the stamp had a zone, in an unknown one otherwise."""

    at: datetime
    has_year: bool
    has_zone: bool


def parse_moment(stamp: str) -> Moment | None:
    """The time at the beginning of a text, None where there is none (or seconds since boot)."""
    match = _ISO.match(stamp) or _WORDS.match(stamp)
    if match is None:
        return None
    month = match["month"]
    number = int(month) if month.isdigit() else _MONTHS.index(month) + 1 if month in _MONTHS else 0
    clock = (int(match["h"]), int(match["m"]), int(match["s"]))
    try:
        at = datetime(int(match["year"] or _ANY_YEAR), number, int(match["day"]), *clock)
        at -= _offset(match["zone"])
    except (ValueError, OverflowError):
        return None
    return Moment(at, bool(match["year"]), bool(match["zone"]))


def seconds_after(first: Moment, second: Moment) -> float:
    """Seconds from the first to the second, whatever their zones; without years the nearest."""
    if first.has_year and second.has_year:
        return (second.at - first.at).total_seconds()
    between = (_yearless(second.at) - _yearless(first.at)).total_seconds()
    if between > _YEAR_S / 2:
        return between - _YEAR_S
    return between + _YEAR_S if between < -_YEAR_S / 2 else between


def _yearless(at: datetime) -> datetime:
    return at.replace(year=_ANY_YEAR)


def _offset(zone: str | None) -> timedelta:
    if not zone or zone == "Z":
        return timedelta()
    digits = zone[1:].replace(":", "")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -size if zone[0] == "-" else size
