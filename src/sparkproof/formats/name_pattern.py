"""Regular expressions and wildcards over module names, matched in bounded time.

Quantization configs bring their own patterns, and a backtracking engine can be made to hang
by one line of JSON. Here a set of positions, held as the bits of an integer, moves through the
pattern instead: no input makes it backtrack, and a step budget bounds the rest.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import reduce
from operator import or_

import msgspec

from sparkproof.core.errors import FormatError

PATTERN_LIMIT = 512
_NAME_LIMIT = 512
_STEP_LIMIT = 20_000
_REPEAT_LIMIT = 1000
_DEPTH_LIMIT = 24
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_CLASSES = {
    "d": frozenset(string.digits),
    "w": _WORD,
    "s": frozenset(string.whitespace),
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class _Chars(msgspec.Struct, frozen=True):
    """One character out of a set (`inverted`: out of everything else)."""

    chars: frozenset[str]
    inverted: bool = False


class _Sequence(msgspec.Struct, frozen=True):
    parts: tuple[_Node, ...]


class _Choice(msgspec.Struct, frozen=True):
    options: tuple[_Node, ...]


class _Repeat(msgspec.Struct, frozen=True):
    body: _Node
    least: int
    most: int | None


class _Look(msgspec.Struct, frozen=True):
    """Lookahead: keeps the positions from which `body` matches (or does not)."""

    body: _Node
    negative: bool


class _Edge(msgspec.Struct, frozen=True):
    """``^``, ``$`` (written ``Z``), ``b`` or ``B``."""

    kind: str


_Node = _Chars | _Sequence | _Choice | _Repeat | _Look | _Edge
_ANY = _Chars(frozenset("\n"), inverted=True)


class NamePattern(msgspec.Struct, frozen=True):
    """A compiled pattern.

    Attributes:
        text: as written.
        needed: a literal that every match contains; a cheap test that comes first.
    """

    text: str
    node: _Node
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
    node = _Parser(text).parse()
    return NamePattern(text, node, _needed_literal(node))


def compile_wildcard(text: str) -> NamePattern:
    """Compile a shell wildcard; it covers the whole name.

    Raises:
        FormatError: longer than `PATTERN_LIMIT`.
    """
    if len(text) > PATTERN_LIMIT:
        raise FormatError(f"pattern of {len(text)} characters")
    parts: list[_Node] = []
    at = 0
    while at < len(text):
        end = text.find("]", at + 2) if text[at] == "[" else -1
        if text[at] == "*":
            parts.append(_Repeat(_Chars(frozenset(), inverted=True), 0, None))
        elif text[at] == "?":
            parts.append(_Chars(frozenset(), inverted=True))
        elif end > 0:
            parts.append(_wildcard_class(text[at + 1 : end]))
            at = end
        else:
            parts.append(_Chars(frozenset(text[at])))
        at += 1
    node = _Sequence((*parts, _Edge("Z")))
    return NamePattern(text, node, _needed_literal(node))


def _wildcard_class(body: str) -> _Chars:
    inverted = body.startswith("!")
    return _Chars(_expand(body[inverted:]), inverted)


def _expand(body: str) -> frozenset[str]:
    found: set[str] = set()
    at = 0
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            found |= _span(body[at], body[at + 2])
            at += 3
        else:
            found.add(body[at])
            at += 1
    return frozenset(found)


def _span(low: str, high: str) -> set[str]:
    if ord(high) - ord(low) > 0x2000 or high < low:
        raise FormatError(f"character range {low!r} to {high!r}")
    return {chr(code) for code in range(ord(low), ord(high) + 1)}


def _needed_literal(node: _Node) -> str:
    """The longest run of fixed characters at the pattern's top level."""
    best = run = ""
    for part in node.parts if isinstance(node, _Sequence) else (node,):
        fixed = isinstance(part, _Chars) and len(part.chars) == 1 and not part.inverted
        run = run + next(iter(part.chars)) if fixed and isinstance(part, _Chars) else ""
        best = max(best, run, key=len)
    return best


class _Parser:
    def __init__(self, text: str) -> None:
        if len(text) > PATTERN_LIMIT:
            raise FormatError(f"pattern of {len(text)} characters")
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> _Node:
        node = self._choice()
        if self._at != len(self._text):
            raise self._fault("unbalanced parenthesis")
        return node

    def _fault(self, what: str) -> FormatError:
        return FormatError(f"pattern `{self._text}`: {what} at character {self._at}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, prefix: str) -> bool:
        if self._text.startswith(prefix, self._at):
            self._at += len(prefix)
            return True
        return False

    def _choice(self) -> _Node:
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else _Choice(tuple(options))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return _Sequence(tuple(parts))

    def _repeated(self, body: _Node) -> _Node:
        sign = self._peek()
        if sign in ("*", "+", "?") and sign:
            self._at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif sign == "{" and (bounds := self._bounds()):
            least, most = bounds
        else:
            return body
        if isinstance(body, _Edge | _Look):
            raise self._fault("nothing to repeat")
        if self._take("+") or self._peek() == "*":
            raise self._fault("unsupported repetition")
        self._take("?")  # lazy: the set of matches is the same
        return _Repeat(body, least, most)

    def _bounds(self) -> tuple[int, int | None] | None:
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : max(end, 0)].partition(",")
        digits = low + high
        if end < 0 or not digits.isascii() or not digits.isdigit() or len(digits) > 8:
            return None  # a literal brace, as Python reads it
        least = int(low or 0)
        most = (int(high) if high else None) if comma else least
        if max(least, most or 0) > _REPEAT_LIMIT or (most is not None and most < least):
            raise self._fault("repetition out of bounds")
        self._at = end + 1
        return least, most

    def _atom(self) -> _Node:
        char = self._text[self._at]
        if char in "*+?" or (char == "{" and self._bounds()):
            raise self._fault("nothing to repeat")
        self._at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        special: dict[str, _Node] = {".": _ANY, "^": _Edge("^"), "$": _Edge("$")}
        return special.get(char) or _Chars(frozenset(char))

    def _group(self) -> _Node:
        self._depth += 1
        if self._depth > _DEPTH_LIMIT:
            raise self._fault("nested too deeply")
        look = "=" if self._take("?=") else "!" if self._take("?!") else ""
        named = not look and self._take("?P<")
        if named:
            end = self._text.find(">", self._at)
            if end < 0 or not self._text[self._at : end].isidentifier():
                raise self._fault("bad group name")
            self._at = end + 1
        elif not look and not self._take("?:") and self._peek() == "?":
            raise self._fault("unsupported group")
        body = self._choice()
        if not self._take(")"):
            raise self._fault("missing parenthesis")
        self._depth -= 1
        return _Look(body, look == "!") if look else body

    def _escape(self) -> _Node:
        char = self._peek()
        self._at += 1
        if char in ("b", "B", "Z", "A") and char:
            return _Edge("^" if char == "A" else char)
        found = self._escaped_set(char)
        return _Chars(found, char in ("D", "W", "S"))

    def _escaped_set(self, char: str) -> frozenset[str]:
        if char.lower() in _CLASSES and char:
            return _CLASSES[char.lower()]
        if char in _ESCAPES:
            return frozenset(_ESCAPES[char])
        if not char or char.isalnum():
            raise self._fault("unsupported escape")
        return frozenset(char)

    def _class(self) -> _Node:
        inverted = self._take("^")
        found: set[str] = set()
        first = True
        while first or self._peek() != "]":
            first = False
            found |= self._class_item()
        self._at += 1
        return _Chars(frozenset(found), inverted)

    def _class_item(self) -> set[str]:
        if self._at >= len(self._text):
            raise self._fault("missing bracket")
        low = self._class_char()
        if self._peek() != "-" or self._text[self._at + 1 : self._at + 2] in ("", "]"):
            return low
        self._at += 1
        high = self._class_char()
        if len(low) != 1 or len(high) != 1:
            raise self._fault("bad character range")
        return _span(next(iter(low)), next(iter(high)))

    def _class_char(self) -> set[str]:
        char = self._text[self._at]
        self._at += 1
        if char != "\\":
            return {char}
        char = self._peek()
        self._at += 1
        if char in ("D", "W", "S"):
            raise self._fault("unsupported escape in a class")
        return set(self._escaped_set(char))


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

    def move(self, node: _Node, starts: int) -> int:
        """The positions reached from `starts` through `node`."""
        self._steps += 1
        if self._steps > _STEP_LIMIT:
            raise FormatError(f"pattern `{self._pattern}` costs too much to match")
        if isinstance(node, _Chars):
            return (starts & self._hits(node)) << 1
        if isinstance(node, _Sequence):
            return reduce(lambda at, part: self.move(part, at) if at else 0, node.parts, starts)
        if isinstance(node, _Choice):
            return reduce(or_, (self.move(option, starts) for option in node.options))
        if isinstance(node, _Repeat):
            return self._repeat(node, starts)
        if isinstance(node, _Look):
            return self._keep(starts, lambda bit: bool(self.move(node.body, bit)) != node.negative)
        return self._edge(node, starts)

    def _hits(self, node: _Chars) -> int:
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

    def _repeat(self, node: _Repeat, starts: int) -> int:
        if isinstance(node.body, _Chars) and node.most is None and node.least < 2:
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
        rounds = _REPEAT_LIMIT if node.most is None else node.most - node.least
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

    def _edge(self, node: _Edge, starts: int) -> int:
        end = 1 << len(self._name)
        if node.kind == "^":
            return starts & 1
        if node.kind in ("$", "Z"):
            before = end >> 1 if node.kind == "$" and self._name.endswith("\n") else 0
            return starts & (end | before)
        word = reduce(or_, (self._where[c] for c in self._where if c in _WORD), 0)
        boundary = word ^ (word << 1)
        return starts & (boundary if node.kind == "b" else ~boundary)
