"""Which releases a fact holds for."""

from __future__ import annotations

from functools import cache

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version


@cache
def holds(releases: str, release: str) -> bool:
    """Whether a fact with that PEP 440 specifier ("" for all) speaks of a release.

    A release whose version can't be read is taken to be meant: the fact is then the best there is.
    """
    if not releases:
        return True
    try:
        version = Version(release)
    except InvalidVersion:
        return True
    return SpecifierSet(releases).contains(version, prereleases=True)
