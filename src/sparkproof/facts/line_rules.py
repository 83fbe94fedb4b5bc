"""What ``vllm serve`` checks of an argument list beyond each word: bounds, and flags together."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.core.finding import Severity
from sparkproof.facts.book import load_file


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds of one option's number.

    Attributes:
        least, most: themselves allowed; `above`, `below` are not.
        releases: PEP 440 specifier ("" for every release that has the option).
        source: file and field that declare them.
    """

    flag: str
    source: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    releases: str = ""

    def holds(self, value: float) -> bool:
        """Whether a value lies within."""
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    @property
    def said(self) -> str:
        """The bounds in words, e.g. ``above 0 and at most 1``."""
        bounds = (
            ("at least", self.least),
            ("above", self.above),
            ("at most", self.most),
            ("below", self.below),
        )
        return " and ".join(f"{word} {value:g}" for word, value in bounds if value is not None)


class LineRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Flags that a release does not take together, or not with that model or box.

    Attributes:
        rule: id of the finding's page.
        says: part of what the release says then. The rule holds for the releases that have this
            wording, and the line that has it is the evidence.
        when: conditions ``TERM WORD`` or ``TERM WORD TERM``, all of which have to hold. One of
            whose terms nothing is known does not.
        message: with terms in braces.
        flag: the one that the finding is about.
        example, neighbour: words on which it fires, and words that look alike; for a model of 4,096
            tokens and 32 heads, on one GPU.
    """

    id: str
    rule: str
    flag: str
    says: str
    when: tuple[str, ...]
    message: str
    remedy: str
    example: str
    neighbour: str
    severity: Severity = Severity.ERROR


class LineRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file.

    Attributes:
        checked: the day on which every row was held against the releases.
    """

    source: str
    checked: date
    ranges: tuple[Range, ...]
    rules: tuple[LineRule, ...]


@cache
def line_rules() -> LineRules:
    """All of them."""
    return load_file("line_rules.toml", LineRules)
