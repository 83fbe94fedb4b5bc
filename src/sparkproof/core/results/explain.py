"""Payload of ``explain``."""

from __future__ import annotations

import msgspec


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer.

    Attributes:
        kind: ``rule``, ``device``, ``kernel family``, ``word`` ...
        body: paragraphs.
        rows: further (name, value) pairs, e.g. source and date.
        see: topics that belong to it.
    """

    topic: str
    kind: str
    title: str
    body: tuple[str, ...]
    rows: tuple[tuple[str, str], ...] = ()
    see: tuple[str, ...] = ()


class Explanation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All pages for one topic."""

    topic: str
    pages: tuple[Page, ...]


DOCUMENTS = {"explain": Explanation}
