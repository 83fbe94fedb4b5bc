"""Packages that compile kernels at run time, or ship what others would compile: one TOML each."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_folder


class JitPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package, recognised by its files.

    Attributes:
        markers: shell-style patterns of paths, one of which shows that the package is there.
        tools: programs that have to be installed where it runs, in order of use; empty where it
            only ships code.
        sources: patterns of what is compiled.
        prebuilt: patterns of machine code that spares the compilation.
    """

    id: str
    title: str
    about: str
    markers: tuple[str, ...]
    tools: tuple[str, ...]
    sources: tuple[str, ...]
    prebuilt: tuple[str, ...]
    source: str
    checked: date


@cache
def jit_packages() -> tuple[JitPackage, ...]:
    """All of them, by id."""
    return tuple(sorted(load_folder("jit_packages", JitPackage), key=lambda package: package.id))
