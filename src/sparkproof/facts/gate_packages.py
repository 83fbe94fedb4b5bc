"""Which project provides the module that a gate names."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file


class GatePackages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Modules and the projects that install them.

    Attributes:
        project: top-level module to project name, normalised.
        always: modules that are there wherever vLLM starts.
    """

    source: str
    checked: date
    project: dict[str, str]
    always: tuple[str, ...]


@cache
def gate_packages() -> GatePackages:
    """The table as shipped."""
    return load_file("gates/packages.toml", GatePackages)
