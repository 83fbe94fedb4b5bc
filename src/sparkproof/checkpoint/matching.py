"""Which entry of a target, ignore or exclude list covers a module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from sparkproof.checkpoint.layout import Module
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.checkpoint_profile import DeclaredBy
from sparkproof.formats.name_pattern import NamePattern, compile_regex, compile_wildcard

_REGEX = "re:"
_EVALUATIONS = 400_000
_COMPARISONS_PER_EVALUATION = 50
_LAST = 1 << 40
_SHOWN = 80
_FEW = 64
"""As many entries as are looked for one by one before a name is taken apart."""


@lru_cache(maxsize=4096)
def shown(entry: str) -> str:
    """An entry as messages quote it: one line, printable, not endless."""
    text = "".join(char if char.isprintable() else "?" for char in entry[: _SHOWN + 1])
    return text if len(entry) <= _SHOWN else text[:_SHOWN] + "…"


class Hit(msgspec.Struct, frozen=True):
    """The entry that covers a module.

    Attributes:
        rank: place in the list: the first of two wins.
        loose: it covers the module as the parent it names; vLLM asks for the exact name.
        one_name: it misses the name that vLLM tries, or matches that one only.
        of_class: it names the module's class, not the module.
        unreadable: why the entry could not be evaluated ("" where it was).
    """

    entry: str
    by: DeclaredBy
    rank: int
    loose: bool = False
    one_name: bool = False
    of_class: bool = False
    unreadable: str = ""


class Work:
    """Bounds the pattern evaluations of one profile."""

    def __init__(self, limit: int = _EVALUATIONS) -> None:
        self._left = limit

    def match(self, pattern: NamePattern, name: str) -> bool:
        """`NamePattern.match`, counted.

        Raises:
            FormatError: the patterns of this config are too many or too costly.
        """
        self.spend(1)
        return pattern.match(name)

    def spend(self, evaluations: int) -> None:
        """Count work done elsewhere.

        Raises:
            FormatError: as `match`.
        """
        self._left -= evaluations
        if self._left < 0:
            raise FormatError("more patterns than can be tried on this model")


class _Compiled(msgspec.Struct, frozen=True):
    rank: int
    entry: str
    pattern: NamePattern | None
    fault: str = ""


def _compile(rank: int, entry: str, text: str, *, wildcard: bool) -> _Compiled:
    try:
        return _Compiled(rank, entry, compile_wildcard(text) if wildcard else compile_regex(text))
    except FormatError as error:
        return _Compiled(rank, entry, None, error.reason)


class TargetList:
    """Targets or ignore entries in compressed-tensors' manner: names, ``re:`` patterns, classes."""

    def __init__(self, entries: Iterable[str], work: Work) -> None:
        listed = list(entries)
        self._work = work
        self._exact: dict[str, int] = {}
        self._plain: list[tuple[int, str]] = []
        self._patterns: list[_Compiled] = []
        for rank, entry in enumerate(listed):
            if entry.startswith(_REGEX):
                text = entry.removeprefix(_REGEX)
                self._patterns.append(_compile(rank, entry, text, wildcard=False))
            else:
                self._exact.setdefault(entry, rank)
                if "." not in entry:
                    self._plain.append((rank, entry))
        self._members = _members(self._exact)
        few = len(self._exact) <= _FEW
        self._prefixes = tuple(f"{entry}." for entry in self._exact) if few else ()
        self._classes: dict[tuple[str, int], Hit | None] = {}

    def find(self, module: Module) -> Hit | None:
        """The entry that covers a module by name, pattern, as a parent, or by class."""
        exact = self._by_name(module)
        if exact is None and (found := _member(module, self._members)):
            exact = Hit(found, DeclaredBy.NAME, self._exact[found])
        pattern = self._by_pattern(module, exact.rank if exact else _LAST)
        return pattern or exact or self._by_parent(module) or self._by_class(module)

    def _by_name(self, module: Module) -> Hit | None:
        named = [name for name in module.names if name in self._exact]
        if not named:
            return None
        first = min(named, key=self._exact.__getitem__)
        # vLLM rewrites dotted entries to its own names; a bare one it takes as it stands.
        bare = "." not in first and first != module.runtime_name
        return Hit(first, DeclaredBy.NAME, self._exact[first], one_name=bare)

    def _by_pattern(self, module: Module, before: int) -> Hit | None:
        for item in self._patterns:
            if item.rank > before:
                return None
            hit = self._try(item, module)
            if hit:
                return hit
        return None

    def _try(self, item: _Compiled, module: Module) -> Hit | None:
        fault = item.fault
        if item.pattern:
            try:
                hits = [self._work.match(item.pattern, name) for name in module.own_names]
                if not any(hits) and self._matches_fused(item.pattern, module):
                    return Hit(item.entry, DeclaredBy.PATTERN, item.rank)
            except FormatError as error:
                fault = error.reason
            else:
                one = len(set(hits)) > 1
                found = Hit(item.entry, DeclaredBy.PATTERN, item.rank, one_name=one)
                return found if any(hits) else None
        return Hit(item.entry, DeclaredBy.PATTERN, item.rank, unreadable=fault)

    def _matches_fused(self, pattern: NamePattern, module: Module) -> bool:
        fused = module.names[len(module.own_names) :]
        return any(self._work.match(pattern, name) for name in fused)

    def _by_parent(self, module: Module) -> Hit | None:
        if self._prefixes and not any(n.startswith(self._prefixes) for n in module.names):
            return None
        for name in module.names:
            for parent in parents(name):
                if parent in self._exact:
                    return Hit(parent, DeclaredBy.NAME, self._exact[parent], loose=True)
        return None

    def _by_class(self, module: Module) -> Hit | None:
        for at, name in enumerate(module.classes):
            if (name, at) not in self._classes:
                by = DeclaredBy.NAME if at else DeclaredBy.CLASS
                self._classes[name, at] = self._class_hit(name, by)
            if hit := self._classes[name, at]:
                return hit
        return None

    def _class_hit(self, name: str, by: DeclaredBy) -> Hit | None:
        wanted = name.lower()
        plain = ((r, e) for r, e in self._plain if e and e.lower() in wanted)
        patterns = (
            (item.rank, item.entry)
            for item in self._patterns
            if item.pattern and self._class_match(item.pattern, name)
        )
        best = min((*plain, *patterns), default=None)
        return Hit(best[1], by, best[0], of_class=True) if best else None

    def _class_match(self, pattern: NamePattern, name: str) -> bool:
        try:
            return self._work.match(pattern, name)
        except FormatError:
            return False


class ExcludeList:
    """Exclude entries in ModelOpt's manner: exact, substring, or shell wildcard."""

    def __init__(self, entries: Iterable[str], work: Work) -> None:
        self._work = work
        listed = list(entries)
        self._exact = {entry: rank for rank, entry in reversed(list(enumerate(listed)))}
        self._members = _members(listed)
        self._parts = [(rank, _bare(entry), entry) for rank, entry in enumerate(listed)]
        self._wildcards = [
            _compile(rank, entry, entry, wildcard=True)
            for rank, entry in enumerate(listed)
            if any(sign in entry for sign in "*?[")
        ]

    def find(self, module: Module, *, members: bool = True) -> Hit | None:
        """The entry that excludes a module.

        Args:
            members: an entry for one of many routed experts excludes all of them.
        """
        for name in module.names:
            if name in self._exact:
                return Hit(name, DeclaredBy.EXCLUDED, self._exact[name])
        if members and (found := _member(module, self._members)):
            return Hit(found, DeclaredBy.EXCLUDED, self._exact[found])
        try:
            return self._by_wildcard(module) or self._by_part(module)
        except FormatError as error:
            return Hit("", DeclaredBy.EXCLUDED, 0, unreadable=error.reason)

    def _by_wildcard(self, module: Module) -> Hit | None:
        for item in self._wildcards:
            if item.pattern is None:
                return Hit(item.entry, DeclaredBy.EXCLUDED, item.rank, unreadable=item.fault)
            hits = [self._work.match(item.pattern, name) for name in module.names]
            if any(hits):
                return _excluded(item.rank, item.entry, module, hits)
        return None

    def _by_part(self, module: Module) -> Hit | None:
        self._work.spend(len(self._parts) // _COMPARISONS_PER_EVALUATION)
        for rank, part, entry in self._parts:
            hits = [bool(part) and part in name for name in module.names]
            if any(hits):
                return _excluded(rank, entry, module, hits)
        return None


def _members(entries: Iterable[str]) -> dict[str, str]:
    """Name of a layer's routed experts to the first entry for one of them."""
    found: dict[str, str] = {}
    for entry in entries:
        before, routed, _ = entry.rpartition(".experts.")
        if routed:
            found.setdefault(f"{before}.experts", entry)
    return found


def _member(module: Module, members: Mapping[str, str]) -> str:
    """The entry for one of a module's experts, "" for none: vLLM looks for it inside of entries."""
    names = module.own_names if module.gathered else ()
    return next((members[name] for name in names if name in members), "")


def _excluded(rank: int, entry: str, module: Module, hits: list[bool]) -> Hit:
    """vLLM asks for the name of the fused layer only, unless every part is listed exactly."""
    seen = not module.fusion or any(hits[len(module.own_names) :])
    return Hit(entry, DeclaredBy.EXCLUDED, rank, one_name=not seen)


def _bare(entry: str) -> str:
    """What vLLM looks for as a substring; a trailing ``*`` stands for the module and below."""
    bare = entry[:-1] if entry.endswith("*") and not entry.endswith(".*") else entry
    return "" if any(sign in bare for sign in "*?[") else bare


def parents(name: str) -> Iterable[str]:
    """The dotted prefixes of a name, longest first, without the name itself."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name
