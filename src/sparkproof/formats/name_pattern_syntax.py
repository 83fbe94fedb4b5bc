"""The syntax of patterns over module names: regular expressions and shell wildcards as a tree."""

from __future__ import annotations

import string

import msgspec

from sparkproof.core.errors import FormatError

PATTERN_LIMIT = 512
REPEAT_LIMIT = 1000
_DEPTH_LIMIT = 24
WORD = frozenset(string.ascii_letters + string.digits + "_")
_CLASSES = {
    "d": frozenset(string.digits),
    "w": WORD,
    "s": frozenset(string.whitespace),
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Chars(msgspec.Struct, frozen=True):
    """One character out of a set (`inverted`: out of everything else)."""

    chars: frozenset[str]
    inverted: bool = False


class Sequence(msgspec.Struct, frozen=True):
    """One after the other."""

    parts: tuple[Node, ...]


class Choice(msgspec.Struct, frozen=True):
    """Any of them."""

    options: tuple[Node, ...]


class Repeat(msgspec.Struct, frozen=True):
    """`body` at least so often, and at most so often (None: without end)."""

    body: Node
    least: int
    most: int | None


class Look(msgspec.Struct, frozen=True):
    """Lookahead: keeps the positions from which `body` matches (or does not)."""

    body: Node
    negative: bool


class Edge(msgspec.Struct, frozen=True):
    """``^``, ``$`` (written ``Z``), ``b`` or ``B``."""

    kind: str


Node = Chars | Sequence | Choice | Repeat | Look | Edge
_ANY = Chars(frozenset("\n"), inverted=True)


def parse_regex(text: str) -> Node:
    """The tree of a regular expression.

    Raises:
        FormatError: not in the subset, or longer than `PATTERN_LIMIT`.
    """
    return _Parser(text).parse()


def parse_wildcard(text: str) -> Node:
    """The tree of a shell wildcard that covers a whole name.

    Raises:
        FormatError: longer than `PATTERN_LIMIT`.
    """
    if len(text) > PATTERN_LIMIT:
        raise FormatError(f"pattern of {len(text)} characters")
    parts: list[Node] = []
    at = 0
    while at < len(text):
        end = text.find("]", at + 2) if text[at] == "[" else -1
        if text[at] == "*":
            parts.append(Repeat(Chars(frozenset(), inverted=True), 0, None))
        elif text[at] == "?":
            parts.append(Chars(frozenset(), inverted=True))
        elif end > 0:
            parts.append(_wildcard_class(text[at + 1 : end]))
            at = end
        else:
            parts.append(Chars(frozenset(text[at])))
        at += 1
    return Sequence((*parts, Edge("Z")))


def _wildcard_class(body: str) -> Chars:
    inverted = body.startswith("!")
    return Chars(_expand(body[inverted:]), inverted)


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


class _Parser:
    def __init__(self, text: str) -> None:
        if len(text) > PATTERN_LIMIT:
            raise FormatError(f"pattern of {len(text)} characters")
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> Node:
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

    def _choice(self) -> Node:
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return Sequence(tuple(parts))

    def _repeated(self, body: Node) -> Node:
        sign = self._peek()
        if sign in ("*", "+", "?") and sign:
            self._at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif sign == "{" and (bounds := self._bounds()):
            least, most = bounds
        else:
            return body
        if isinstance(body, Edge | Look):
            raise self._fault("nothing to repeat")
        if self._take("+") or self._peek() == "*":
            raise self._fault("unsupported repetition")
        self._take("?")  # lazy: the set of matches is the same
        return Repeat(body, least, most)

    def _bounds(self) -> tuple[int, int | None] | None:
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : max(end, 0)].partition(",")
        digits = low + high
        if end < 0 or not digits.isascii() or not digits.isdigit() or len(digits) > 8:
            return None  # a literal brace, as Python reads it
        least = int(low or 0)
        most = (int(high) if high else None) if comma else least
        if max(least, most or 0) > REPEAT_LIMIT or (most is not None and most < least):
            raise self._fault("repetition out of bounds")
        self._at = end + 1
        return least, most

    def _atom(self) -> Node:
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
        special: dict[str, Node] = {".": _ANY, "^": Edge("^"), "$": Edge("$")}
        return special.get(char) or Chars(frozenset(char))

    def _group(self) -> Node:
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
        return Look(body, look == "!") if look else body

    def _escape(self) -> Node:
        char = self._peek()
        self._at += 1
        if char in ("b", "B", "Z", "A") and char:
            return Edge("^" if char == "A" else char)
        found = self._escaped_set(char)
        return Chars(found, char in ("D", "W", "S"))

    def _escaped_set(self, char: str) -> frozenset[str]:
        if char.lower() in _CLASSES and char:
            return _CLASSES[char.lower()]
        if char in _ESCAPES:
            return frozenset(_ESCAPES[char])
        if not char or char.isalnum():
            raise self._fault("unsupported escape")
        return frozenset(char)

    def _class(self) -> Node:
        inverted = self._take("^")
        found: set[str] = set()
        first = True
        while first or self._peek() != "]":
            first = False
            found |= self._class_item()
        self._at += 1
        return Chars(frozenset(found), inverted)

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
