"""How models write tool calls and thinking: what stands in a text where no parser took it out."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a tool call begins with.

    Attributes:
        text: literally.
        parsers: of vLLM that read it, by the names that ``--tool-call-parser`` takes.
    """

    text: str
    parsers: tuple[str, ...] = ()


class CallMarkup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file.

    Attributes:
        thinking: marks that end thinking, or open a channel for it.
    """

    calls: tuple[Mark, ...]
    thinking: tuple[str, ...]
    source: str
    checked: date


@cache
def call_markup() -> CallMarkup:
    """All of it."""
    return load_file("server/call_markup.toml", CallMarkup)
