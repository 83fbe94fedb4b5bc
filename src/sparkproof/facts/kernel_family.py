"""Kernel families: how a kernel is recognised by its name, one TOML file each."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from sparkproof.facts.book import load_folder


class Role(StrEnum):
    """What a family does for a model."""

    GEMM = "gemm"
    QUANTIZE = "quantize"
    ATTENTION = "attention"
    STATE = "state"
    ROUTING = "routing"
    HELPER = "helper"


class ScalarMatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Number formats in the template arguments, for kernels that carry vLLM ScalarType ids.

    A kernel's types read ``activation/weight/scale``, e.g. ``16bit/e2m1/e4m3``; the patterns
    are shell-style.
    """

    types: tuple[str, ...]
    types_not: tuple[str, ...] = ()


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to recognise a kernel: everything that is given has to hold.

    Attributes:
        outer: shell-style patterns for the outer name (``marlin::Marlin``).
        all_of: texts that the mangled name contains.
        any_of: at least one of these.
        none_of: and none of these.
        beside: a kernel of the same container contains all of these texts: tells libraries apart
            that instantiate the same template.
        not_beside: no kernel of the same container contains all of these.
        scalars: number formats.
        majors: major capabilities that the program launches it on. Kernels for other generations
            are not missed on this one, and those for this one are a promise. Empty where that is
            not known.
    """

    outer: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    not_beside: tuple[str, ...] = ()
    scalars: ScalarMatch | None = None
    majors: tuple[int, ...] = ()


class KernelFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Kernels that stand or fall together, because one caller launches them.

    Attributes:
        essential: no model runs without it, so a wheel that holds it has to deliver it.
        opcode_test: a live body must hold matrix instructions: without them, and with a trap, it
            is dead code.
        files: shell-style patterns of loose files that belong to it.
        examples: real mangled names that match.
        neighbours: real mangled names that look alike and must not.
    """

    id: str
    title: str
    about: str
    role: Role
    source: str
    checked: date
    match: tuple[Match, ...]
    examples: tuple[str, ...]
    neighbours: tuple[str, ...] = ()
    essential: bool = False
    opcode_test: bool = False
    files: tuple[str, ...] = ()


OTHER = "other"
"""Id of what no family claims: listed, never dropped."""


@cache
def kernel_families() -> tuple[KernelFamily, ...]:
    """All families, by id."""
    families = load_folder("kernel_families", KernelFamily)
    return tuple(sorted(families, key=lambda family: family.id))
