"""Sorting kernels into families by their names, container by container."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from functools import cache

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.facts.kernel_family import OTHER, KernelFamily, Match, ScalarMatch, kernel_families
from sparkproof.formats.mangled import long_arguments, parse_outer_name
from sparkproof.formats.scalar_type import parse_scalar_type

_MAX_OUTER_NAMES = 8192
_HALF_FORMATS = frozenset({"e5m10", "e8m7"})


class Membership(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The family of one kernel.

    Attributes:
        majors: major capabilities it is launched on; all where empty.
    """

    family: str
    opcode_test: bool = False
    majors: tuple[int, ...] = ()


_NO_FAMILY = Membership(OTHER)


class _Rule(msgspec.Struct, frozen=True):
    membership: Membership
    match: Match
    outer: re.Pattern[str] | None


class FamilyBook:
    """All families, made ready to match."""

    def __init__(self, families: Sequence[KernelFamily]) -> None:
        self._rules = [
            _Rule(
                Membership(family.id, family.opcode_test, match.majors),
                match,
                _any_pattern(match.outer),
            )
            for family in families
            for match in family.match
        ]
        self._files = [
            (Membership(family.id), pattern) for family in families for pattern in family.files
        ]
        self._by_outer: dict[str, list[_Rule]] = {}

    def sort(self, names: Sequence[str], path: str = "") -> list[Membership]:
        """The family of each kernel of one container; `OTHER` where no family claims it.

        Args:
            path: of a loose file, where the file itself may belong to a family.
        """
        for membership, pattern in self._files if path else ():
            if fnmatch.fnmatchcase(path, pattern):
                return [membership] * len(names)
        return [next(iter(self.all_matches(name, names)), _NO_FAMILY) for name in names]

    def all_matches(self, name: str, siblings: Sequence[str]) -> list[Membership]:
        """Every match, in the order of the families: more than one is a fault in the data."""
        outer = outer_name(name)
        rules = self._by_outer.get(outer)
        if rules is None:
            rules = [rule for rule in self._rules if not rule.outer or rule.outer.match(outer)]
            if len(self._by_outer) < _MAX_OUTER_NAMES:
                self._by_outer[outer] = rules
        return [rule.membership for rule in rules if _holds(rule.match, name, siblings)]


@cache
def family_book() -> FamilyBook:
    """The shipped families."""
    return FamilyBook(kernel_families())


def outer_name(symbol: str) -> str:
    """``marlin::Marlin``; a damaged name stands for itself."""
    try:
        return "::".join(parse_outer_name(symbol))
    except FormatError:
        return symbol


def scalar_types(symbol: str) -> str:
    """``activation/weight/scale`` of a kernel that carries ScalarType ids; "" if it has none.

    Four ids are activation, weight, output and scale; two, in older releases, weight and scale
    of a kernel with 16-bit activations. Both 16-bit formats read ``16bit``.
    """
    names = [parse_scalar_type(number).name for number in long_arguments(symbol)]
    names = ["16bit" if name in _HALF_FORMATS else name for name in names]
    if len(names) == 4:
        return "/".join((names[0], names[1], names[3]))
    return "/".join(("16bit", *names)) if names else ""


def _any_pattern(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))


def _holds(match: Match, name: str, siblings: Sequence[str]) -> bool:
    if not all(text in name for text in match.all_of):
        return False
    if match.any_of and not any(text in name for text in match.any_of):
        return False
    if any(text in name for text in match.none_of):
        return False
    if match.scalars and not _scalars_hold(match.scalars, scalar_types(name)):
        return False
    if match.beside and not _some_contain(siblings, match.beside):
        return False
    return not (match.not_beside and _some_contain(siblings, match.not_beside))


def _scalars_hold(match: ScalarMatch, types: str) -> bool:
    return any(fnmatch.fnmatchcase(types, pattern) for pattern in match.types) and not any(
        fnmatch.fnmatchcase(types, pattern) for pattern in match.types_not
    )


def _some_contain(names: Sequence[str], texts: tuple[str, ...]) -> bool:
    return any(all(text in name for text in texts) for name in names)
