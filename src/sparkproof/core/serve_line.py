"""An argument list of ``vllm serve`` as one release's own parser takes it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from sparkproof.core.observations.release_parts import Source


class Trouble(StrEnum):
    """What a release has against a word of the list."""

    UNKNOWN = "unknown-option"
    VALUE = "bad-value"
    MISSING = "missing-value"
    EXTRA = "unexpected-word"
    FIELD = "unknown-field"
    ENDING = "ending-option"
    """Taken, and on its way out."""
    REPEATED = "repeated-option"
    """Taken; it says the same twice."""
    OVERRULED = "overruled-flag"
    """Taken; given again with another value, which counts."""

    @property
    def refuses(self) -> bool:
        """Whether the server does not start with it."""
        return self not in (Trouble.ENDING, Trouble.REPEATED, Trouble.OVERRULED)


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One option that the list gives.

    Attributes:
        flag: long spelling; `spelling` as it was written.
        value: typed: true and false for switches, numbers, text, lists, JSON objects; None
            where it unsets.
    """

    flag: str
    spelling: str
    value: Any


class Complaint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One trouble with one option.

    Attributes:
        word: as it was written.
        near: spellings that may have been meant.
    """

    trouble: Trouble
    flag: str
    word: str
    message: str
    near: tuple[str, ...] = ()
    source: Source | None = None


class ServeLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole list.

    Attributes:
        model: the positional argument ("" for none).
        given: in order; JSON objects given in pieces are one, at the place of the first.
    """

    version: str
    model: str
    given: tuple[Given, ...]
    complaints: tuple[Complaint, ...]

    def get(self, flag: str) -> Any:
        """The value that counts for a flag, None if it is not given."""
        return next((item.value for item in reversed(self.given) if item.flag == flag), None)

    @property
    def accepted(self) -> bool:
        """Whether the release's parser takes the list."""
        return not any(item.trouble.refuses for item in self.complaints)
