"""What a first deployment starts from: parsers by model family, sizes by purpose, what to soak."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file


class FamilyParsers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parsers that fit the chat template of a family; the first that a release has is taken.

    Attributes:
        model_types: as config.json spells them.
        tool, reasoning: names in order; empty where the family has none.
    """

    model_types: tuple[str, ...]
    source: str
    checked: date
    tool: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()


class Purpose(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the deployment is for, as numbers.

    Attributes:
        context: tokens of one request, at most.
        sequences: requests at a time.
        tools, thinks: tool calls and reasoning are wanted.
        drafts: speculation pays: few requests at a time.
    """

    id: str
    title: str
    context: int
    sequences: int
    tools: bool
    thinks: bool
    drafts: bool
    why: str
    source: str
    checked: date


class Advice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number or flag that experience gives.

    Attributes:
        value: as it is typed.
    """

    id: str
    value: str
    why: str
    source: str
    checked: date


class _Parsers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    family: tuple[FamilyParsers, ...]


class _Purposes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    purpose: tuple[Purpose, ...]
    advice: tuple[Advice, ...]


def parsers_of(model_type: str) -> FamilyParsers | None:
    """What fits a family; None where nobody has looked."""
    families = load_file("advice/parsers.toml", _Parsers).family
    return next((item for item in families if model_type in item.model_types), None)


@cache
def purposes() -> dict[str, Purpose]:
    """By id."""
    return {item.id: item for item in load_file("advice/purposes.toml", _Purposes).purpose}


@cache
def advice() -> dict[str, Advice]:
    """By id."""
    return {item.id: item for item in load_file("advice/purposes.toml", _Purposes).advice}
