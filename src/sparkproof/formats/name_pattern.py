"""Regular expressions and wildcards over module names, matched in bounded time.

Quantization configs bring their own patterns, and a backtracking engine can be made to hang
by one line of JSON. Here a set of positions, held as the bits of an integer, moves through the
pattern instead: no input makes it backtrack, and a step budget bounds the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.formats.name_pattern_syntax import (
    REPEAT_LIMIT,
    WORD,
    Chars,
    Choice,
    Edge,
    Look,
    Node,
    Repeat,
    Sequence,
    parse_regex,
    parse_wildcard,
)

_NAME_LIMIT = 512
_STEP_LIMIT = 20_000


class NamePattern(msgspec.Struct, frozen=True):
    """A compiled pattern.

    Attributes:
        text: as written.
        needed: a literal that every match contains; a cheap test that comes first.
    """

    text: str
    node: Node
    needed: str = ""

    def match(self, name: str) -> bool:
        """Whether some prefix of `name` matches, as ``re.match`` has it.

        Raises:
            FormatError: the pattern costs more steps than a module name is worth.
        """
        if self.needed not in name or len(name) > _NAME_LIMIT:
            return False
        return _Run(name, self.text).move(self.node, 1) != 0


def compile_regex(text: str) -> NamePattern:
    """Compile the subset of Python's syntax that module patterns need.

    Literals, ``.``, classes, groups, alternation, repetition (lazy too), anchors, word
    boundaries and lookahead. Back-references, lookbehind, flags and atomic groups are refused.

    Raises:
        FormatError: not in the subset, or longer than `PATTERN_LIMIT`.
    """
    node = parse_regex(text)
    return NamePattern(text, node, _needed_literal(node))


def compile_wildcard(text: str) -> NamePattern:
    """Compile a shell wildcard; it covers the whole name.

    Raises:
        FormatError: longer than `PATTERN_LIMIT`.
    """
    node = parse_wildcard(text)
    return NamePattern(text, node, _needed_literal(node))


def _needed_literal(node: Node) -> str:
    """The longest run of fixed characters at the pattern's top level."""
    best = run = ""
    for part in node.parts if isinstance(node, Sequence) else (node,):
        fixed = isinstance(part, Chars) and len(part.chars) == 1 and not part.inverted
        run = run + next(iter(part.chars)) if fixed and isinstance(part, Chars) else ""
        best = max(best, run, key=len)
    return best


class _Run:
    """One match: bit i of a position set says that the pattern has reached name[i:]."""

    def __init__(self, name: str, pattern: str) -> None:
        self._name = name
        self._pattern = pattern
        self._steps = 0
        self._where: dict[str, int] = {}
        for at, char in enumerate(name):
            self._where[char] = self._where.get(char, 0) | 1 << at
        self._all = (1 << len(name)) - 1

    def move(self, node: Node, starts: int) -> int:
        """The positions reached from `starts` through `node`."""
        self._steps += 1
        if self._steps > _STEP_LIMIT:
            raise FormatError(f"pattern `{self._pattern}` costs too much to match")
        if isinstance(node, Chars):
            return (starts & self._hits(node)) << 1
        if isinstance(node, Sequence):
            return reduce(lambda at, part: self.move(part, at) if at else 0, node.parts, starts)
        if isinstance(node, Choice):
            return reduce(or_, (self.move(option, starts) for option in node.options))
        if isinstance(node, Repeat):
            return self._repeat(node, starts)
        if isinstance(node, Look):
            return self._keep(starts, lambda bit: bool(self.move(node.body, bit)) != node.negative)
        return self._edge(node, starts)

    def _hits(self, node: Chars) -> int:
        """The positions of characters that `node` takes."""
        hits = reduce(or_, (self._where.get(char, 0) for char in node.chars), 0)
        return self._all & ~hits if node.inverted else hits

    def _run_along(self, starts: int, hits: int) -> int:
        """Any number of steps over `hits`, in doubling strides."""
        reached, stride = starts, 1
        while stride <= len(self._name):
            reached |= (reached & hits) << stride
            hits &= hits >> stride
            stride *= 2
        return reached

    def _repeat(self, node: Repeat, starts: int) -> int:
        if isinstance(node.body, Chars) and node.most is None and node.least < 2:
            hits = self._hits(node.body)
            return self._run_along((starts & hits) << 1 if node.least else starts, hits)
        at = starts
        for _ in range(node.least):
            after = self.move(node.body, at)
            if after in (0, at):
                at = after
                break
            at = after
        reached = at
        rounds = REPEAT_LIMIT if node.most is None else node.most - node.least
        for _ in range(rounds):
            at = self.move(node.body, at) & ~reached if at else 0
            if not at:
                break
            reached |= at
        return reached

    def _keep(self, starts: int, holds: Callable[[int], bool]) -> int:
        kept = 0
        while starts:
            bit = starts & -starts
            starts ^= bit
            kept |= bit if holds(bit) else 0
        return kept

    def _edge(self, node: Edge, starts: int) -> int:
        end = 1 << len(self._name)
        if node.kind == "^":
            return starts & 1
        if node.kind in ("$", "Z"):
            before = end >> 1 if node.kind == "$" and self._name.endswith("\n") else 0
            return starts & (end | before)
        word = reduce(or_, (self._where[c] for c in self._where if c in WORD), 0)
        boundary = word ^ (word << 1)
        return starts & (boundary if node.kind == "b" else ~boundary)
