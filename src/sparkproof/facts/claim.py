"""Claims: what somebody said of vLLM on this hardware, with the probe that checks it again."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.facts.book import load_file, load_folder
from sparkproof.facts.claim_probes import Probe
from sparkproof.facts.releases import holds as speaks_of

NEVER = "never"
"""In place of a specifier: no release that was examined."""


class Kind(StrEnum):
    """What sort of statement it is."""

    FACT = "fact"
    VERSION_BOUNDARY = "version-boundary"
    """A change and the first release that has it."""
    WORKAROUND = "workaround"
    """Advice; the probe says whether its reason is still there."""
    BLOCKER = "blocker"
    """Something that is waited for; the probe says whether it still stands in the way."""
    BAD_PIN = "bad-pin"
    """A version of another package that breaks this hardware."""


class ClaimSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who said it, where, when.

    Attributes:
        document: id in the list of documents.
        section: as that list names it.
        stated: date of the statement, which may be later than the document's.
    """

    document: str
    section: str
    stated: date


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One checkable statement.

    Attributes:
        id: ``family/slug``, for ever.
        statement: in our words, about one release at a time.
        said: releases that the source says it of, as a PEP 440 specifier ("" for all that it
            could mean, `NEVER` for none).
        holds: releases in which it was found true; the same notation.
        now: what is the case where it does not hold; for a workaround, whether it is still
            needed; for a blocker, what lifts it.
        about: flags, backends, packages and words that it belongs to.
        only: releases that the probe speaks of at all ("" for all).
    """

    id: str
    statement: str
    kind: Kind
    sources: tuple[ClaimSource, ...]
    checked: date
    probe: Probe
    said: str = ""
    holds: str = ""
    now: str = ""
    about: tuple[str, ...] = ()
    only: str = ""

    def expected(self, release: str) -> bool:
        """Whether it was found true of that release."""
        return within(self.holds, release)

    def speaks_of(self, release: str) -> bool:
        """Whether its probe means anything for that release."""
        return within(self.only, release)

    def claimed(self, release: str) -> bool:
        """Whether its source says it of that release."""
        return within(self.said, release)


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text that claims come from.

    Attributes:
        sections: all that it has; each is represented by some claim.
    """

    id: str
    title: str
    source: str
    published: date
    checked: date
    sections: tuple[str, ...]


class Documents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The list of documents."""

    document: tuple[Document, ...]


def within(specifier: str, release: str) -> bool:
    """Whether a release is among those a claim's specifier names."""
    return specifier != NEVER and speaks_of(specifier, release)


@cache
def claims() -> dict[str, Claim]:
    """All claims by id.

    Raises:
        FormatError: two files have the same id.
    """
    found: dict[str, Claim] = {}
    for item in load_folder("claims", Claim):
        if item.id in found:
            raise FormatError(f"two claims are called {item.id}", where="facts/data/claims")
        found[item.id] = item
    return found


@cache
def documents() -> dict[str, Document]:
    """All documents by id."""
    return {item.id: item for item in load_file("claim_documents.toml", Documents).document}
