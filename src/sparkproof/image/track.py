"""How old a tag is, whether it is meant to move, and whether its track has gone on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
from packaging.version import InvalidVersion, Version

from sparkproof.facts.image_contents import image_contents


class TagTrack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tag among its like.

    Attributes:
        moving: the tag is one that is pushed again and again.
        age_days: since the image was built; -1 where it does not tell.
        newer: tags of the same form with a higher version, newest first.
    """

    tag: str
    moving: bool
    age_days: int
    newer: tuple[str, ...] = ()


def follow_track(tag: str, created: str, now: datetime, tags: Iterable[str]) -> TagTrack:
    """Judge a tag by its own name, its image's date, and the names beside it."""
    pattern = re.compile(image_contents().version_in_tag)
    return TagTrack(
        tag=tag,
        moving=bool(tag) and is_moving(tag),
        age_days=age_days(created, now),
        newer=_newer(tag, tags, pattern),
    )


def is_moving(tag: str) -> bool:
    """Whether a tag is pushed again and again, by its own name; "" stands for ``latest``."""
    facts = image_contents()
    moving = re.search(facts.moving_tag, tag) or not re.search(facts.version_in_tag, tag)
    return bool(moving)


def age_days(created: str, now: datetime) -> int:
    """Whole days since an image was built; -1 for no date, or one that stands for none."""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return -1
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    days = (now - moment).days
    return days if 0 <= days < 3650 else -1  # reproducible builds write the epoch


def claimed_version(tag: str) -> str:
    """The version that a tag claims; "" for none."""
    found = re.search(image_contents().version_in_tag, tag)
    return found["version"] if found else ""


def claimed_cuda(tag: str) -> str:
    """The CUDA line that a tag claims, e.g. ``13.0``; "" for none."""
    found = re.search(image_contents().cuda_in_tag, tag)
    return f"{found['major']}.{found['minor']}" if found else ""


def same_version(one: str, other: str) -> bool:
    """Whether two versions are the same release, local labels aside."""
    try:
        return Version(one).public == Version(other).public
    except InvalidVersion:
        return one == other


def is_development(version: str) -> bool:
    """Whether a version is that of no release."""
    try:
        return Version(version).is_devrelease
    except InvalidVersion:
        return False


def _newer(tag: str, tags: Iterable[str], pattern: re.Pattern[str]) -> tuple[str, ...]:
    here = _form(tag, pattern)
    if here is None:
        return ()
    found = []
    for other in tags:
        there = _form(other, pattern)
        if there and there[0] == here[0] and there[1] > here[1]:
            found.append((there[1], other))
    return tuple(name for _, name in sorted(found, reverse=True))[:5]


def _form(tag: str, pattern: re.Pattern[str]) -> tuple[str, Version] | None:
    """A tag with its version taken out, and that version; None for a pre-release or none."""
    found = pattern.search(tag)
    if not found:
        return None
    try:
        version = Version(found["version"])
    except InvalidVersion:
        return None
    start, end = found.span("version")
    return None if version.is_prerelease else (f"{tag[:start]}*{tag[end:]}", version)
