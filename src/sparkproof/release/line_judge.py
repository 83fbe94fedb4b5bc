"""What a release has against a whole argument list: numbers out of bounds, flags that clash."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

import msgspec

from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.observations.release_parts import Message
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.serve_line import ServeLine
from sparkproof.facts.line_rules import LineRule, Range, line_rules
from sparkproof.facts.releases import holds

_TERM = re.compile(r"\{([^{}]+)\}")
_ON = frozenset({"1", "true"})
_RANKS = (
    "--tensor-parallel-size",
    "--pipeline-parallel-size",
    "--prefill-context-parallel-size",
)
_OUT_OF_RANGE = "release/out-of-range"

Term: TypeAlias = "bool | int | float | str | tuple[str, ...] | None"


class Surroundings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a list is judged beside; 0 where it can't be told.

    Attributes:
        longest: context that the model's config allows, tokens; where a scaling is declared that
            releases read differently, the most that any makes of it.
        length: context without ``--max-model-len``, tokens.
        heads: attention heads of the model.
        gpus: of the box.
        env: variables of the server process.
    """

    longest: int = 0
    length: int = 0
    heads: int = 0
    gpus: int = 0
    env: dict[str, str] = {}


NOTHING_KNOWN = Surroundings()


def judge_line(
    surface: ReleaseSurface, line: ServeLine, beside: Surroundings = NOTHING_KNOWN
) -> tuple[Finding, ...]:
    """Checks that the release makes before it loads anything; errors are what it ends with.

    What can't be told (a model that was not read, say) is not held against the list.
    """
    terms = _Terms(surface, line, beside)
    found = [
        *_ranges(surface, line),
        *(item for rule in line_rules().rules if (item := _judge(rule, surface, terms))),
    ]
    return tuple(found)


def _ranges(surface: ReleaseSurface, line: ServeLine) -> Iterator[Finding]:
    for item in line_rules().ranges:
        value = line.get(item.flag)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if holds(item.releases, surface.version) and not item.holds(value):
            yield _outside(item, value)


def _outside(item: Range, value: float) -> Finding:
    path, _, symbol = item.source.partition(", ")
    return Finding(
        rule=_OUT_OF_RANGE,
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=f"`{item.flag} {value:g}` has to be {item.said}",
        subject=item.flag,
        evidence=(Evidence(where=path, what=symbol),),
        remedy=f"give {item.flag} a number {item.said}",
    )


def _judge(rule: LineRule, surface: ReleaseSurface, terms: _Terms) -> Finding | None:
    if not all(terms.holds(condition) for condition in rule.when):
        return None
    said = _wording(surface, rule.says)
    if said is None:
        return None
    return Finding(
        rule=rule.rule,
        severity=rule.severity,
        confidence=Confidence.SHOWN,
        message=terms.fill(rule.message),
        subject=rule.flag,
        evidence=(Evidence(where=said.path, what=said.text[:200], line=said.line),),
        remedy=terms.fill(rule.remedy),
    )


def _wording(surface: ReleaseSurface, says: str) -> Message | None:
    return next((item for item in surface.messages if says in item.text), None)


class _Terms:
    """Values of the words that conditions are made of."""

    def __init__(self, surface: ReleaseSurface, line: ServeLine, beside: Surroundings) -> None:
        self._surface = surface
        self._line = line
        self._beside = beside

    def holds(self, condition: str) -> bool:
        """Whether a condition is known to hold."""
        left, word, *right = condition.split()
        if word == "absent":
            return self._given(left) in (None, "")
        if word == "given":
            return self._given(left) not in (None, "")
        value = self._value(left)
        if word in ("on", "off"):
            return value is (word == "on")
        return _compare(value, word, self._value(right[0]))

    def fill(self, text: str) -> str:
        """A message with its terms put in."""
        return _TERM.sub(lambda match: _shown(self._value(match[1])), text)

    def _given(self, term: str) -> Term:
        flag, _, key = term.partition(".")
        value = self._line.get(flag)
        if key:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, bool | int | float | str) else None

    def _value(self, term: str) -> Term:
        if term.startswith("env."):
            return self._beside.env.get(term.removeprefix("env."), "").strip().lower() in _ON
        if term.startswith("--"):
            given = self._given(term)
            return self._default(term) if given is None else given
        named = self._named(term)
        return _literal(term) if named is None else named() or None

    def _default(self, flag: str) -> Term:
        option = self._surface.option(flag)
        plain = option is not None and not option.computed
        return option.default if option is not None and plain else None

    def _named(self, term: str) -> Callable[[], Term] | None:
        beside = self._beside
        known: dict[str, Callable[[], Term]] = {
            "release": lambda: self._surface.version,
            "ranks": self._ranks,
            "length": self._length,
            "model.longest": lambda: beside.longest,
            "model.heads": lambda: beside.heads,
            "box.gpus": lambda: beside.gpus,
            "parsers.tool": lambda: self._parsers("tool"),
            "parsers.reasoning": lambda: self._parsers("reasoning"),
        }
        return known.get(term)

    def _length(self) -> int:
        given = self._given("--max-model-len")
        known = isinstance(given, int) and given > 0
        return given if known and isinstance(given, int) else self._beside.length

    def _ranks(self) -> int:
        ranks = 1
        for flag in _RANKS:
            value = self._value(flag)
            ranks *= value if isinstance(value, int) and value > 0 else 1
        return ranks

    def _parsers(self, kind: str) -> tuple[str, ...]:
        return tuple(item.name for item in self._surface.parsers if item.kind == kind)


def _compare(left: Term, word: str, right: Term) -> bool:
    if left in (None, "") or right is None:
        return False
    if word in ("is", "is-not"):
        return (str(left).lower() == str(right).lower()) is (word == "is")
    if word == "not-in":
        return isinstance(right, tuple) and left not in right
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return False
    if word == "not-divided-by":
        return right > 0 and left % right != 0
    return left < right if word == "<" else left > right


@cache
def _literal(term: str) -> Term:
    try:
        return int(term)
    except ValueError:
        return term


def _shown(value: Term) -> str:
    return str(value)[:80]
