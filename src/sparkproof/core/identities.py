"""What a measurement was taken of: what somebody chose, and what came with it."""

from __future__ import annotations

import msgspec

CHOSEN = ("checkpoint", "artifact", "arguments", "environment", "box", "load", "tool")
"""In this order wherever they are told."""


class Identities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Identities by role. A role that is missing was not stated, which is not the same as equal.

    Attributes:
        chosen: what somebody can change: see `CHOSEN`.
        derived: what follows from it: versions inside an image, the backend, the pool.
        contents: digest of the content behind a chosen identity, where it is known: two names of
            the same content are the same thing.
    """

    chosen: dict[str, str] = {}
    derived: dict[str, str] = {}
    contents: dict[str, str] = {}
