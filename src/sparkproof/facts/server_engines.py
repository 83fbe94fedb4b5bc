"""Servers that speak OpenAI's API and are no vLLM, by how they name themselves."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file


class Engine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of them.

    Attributes:
        owned_by: what its list of models says.
    """

    owned_by: str
    name: str


class Engines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    engines: tuple[Engine, ...]
    source: str
    checked: date


@cache
def _names() -> dict[str, str]:
    return {item.owned_by: item.name for item in load_file("server/engines.toml", Engines).engines}


def other_engine(owned_by: str) -> str:
    """Whose model this is, where it is known to be no vLLM's; "" else."""
    return _names().get(owned_by.strip().lower(), "")
