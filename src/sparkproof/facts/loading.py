"""Which entry a device's loader takes, and which opcodes do matrix work: dated data."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from sparkproof.core.delivery import Route
from sparkproof.core.finding import Confidence
from sparkproof.core.observations.device_code import CodeKind
from sparkproof.facts.book import load_file


class Needs(StrEnum):
    """How the device must stand to the architecture of an entry."""

    EXACT = "exact"
    SAME_MAJOR = "same-major"
    """Same major capability, and a minor one that is equal or higher."""
    NOT_NEWER = "not-newer"
    """The architecture is equal or older, whatever the major."""


class LoadRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way an entry can load; the loader takes the loadable entry of the lowest rank.

    Attributes:
        suffixes: architecture suffixes it is about ("" for plain).
        rank: preference among rules; equal ranks prefer the newer architecture.
    """

    id: str
    kind: CodeKind
    suffixes: tuple[str, ...]
    needs: Needs
    route: Route
    rank: int
    title: str
    confidence: Confidence
    source: str
    checked: date


class Preference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the order of the ranks is from."""

    confidence: Confidence
    source: str
    checked: date


class LoadRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``arch_suffixes.toml``."""

    preference: Preference
    rules: tuple[LoadRule, ...]


class Opcode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One machine opcode.

    Attributes:
        codes: low twelve bits of the instruction, one for each form of its operands.
        mma: it multiplies matrices; otherwise it is the trap.
        since: architecture number it was first seen on.
    """

    name: str
    codes: tuple[int, ...]
    mma: bool
    title: str
    since: int
    source: str
    checked: date


class Opcodes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``opcodes.toml``."""

    opcodes: tuple[Opcode, ...]


@cache
def load_rules() -> tuple[LoadRule, ...]:
    """All loading rules, by rank."""
    rules = load_file("arch_suffixes.toml", LoadRules).rules
    return tuple(sorted(rules, key=lambda rule: (rule.rank, rule.id)))


@cache
def opcodes() -> tuple[Opcode, ...]:
    """All opcodes that are told apart."""
    return load_file("opcodes.toml", Opcodes).opcodes
