"""The wording of one release beside ours: what it can't print, and what it words otherwise.

A release's messages are format strings, with ``%s`` and ``{…}`` where values go. One of our
patterns has a counterpart in a release where some message of it, filled in, is a line that
the pattern matches. Where there is none, the message that is most like our example takes its
place, and values are read from the holes that stand between the same words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

import msgspec

from sparkproof.core.observations.release_parts import Message
from sparkproof.facts.log_schema import LogLine
from sparkproof.formats.vllm_log.headers import parse_line

_HOLE = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[sdifrgxe]|\{[^{}]*\}|…")
_FILLINGS = ("1", "{1}", "[1]", "1.5")
_WHOLE, _REAL = r"[-+]?\d[\d,]*+", r"[-+]?\d[\d,]*+(?:\.\d++)?+"
_VALUE, _LAST_VALUE = r"[^\n]{0,400}?", r"[^\n]{0,4000}"
_LEAST_LITERAL = 12
"""Characters; a message of less fixed text is like too many lines."""
_MOST_HOLES = 12
_MOST_CHARS = 1000
_ALIKE = 0.6
_LEAST_WORDS = 4
_WORD = re.compile(r"[A-Za-z][A-Za-z_]+")
_LOGGED = frozenset({"info", "warning", "error", "exception", "critical"})


class ReleaseWording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a release's messages say about our wordings.

    Attributes:
        unprinted: ids of wordings that no message of the release can make.
        extra: wordings made of its own messages, for those that it words otherwise.
    """

    unprinted: frozenset[str] = frozenset()
    extra: tuple[LogLine, ...] = ()


class Template:
    """One message with its fixed text and its holes."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.parts = _HOLE.split(message.text)
        self.holes = _HOLE.findall(message.text)
        self.longest = max(self.parts, key=len).strip()

    def fill(self, value: str) -> str:
        """The line that it makes where every value is this one."""
        return value.join(self.parts)

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of its fixed text, in lower case."""
        return frozenset(word.lower() for part in self.parts for word in _WORD.findall(part))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches the lines that it makes."""
        return re.compile(self.expression({}))

    def expression(self, names: dict[int, str]) -> str:
        """Regular expression of a line's beginning, its holes named by number.

        Some messages are only that: more is put behind them at run time.
        A hole ends where the text behind it first occurs, and nothing is tried again: the time
        grows with the length of the line and no faster.
        """
        pieces = [r"\A\s*", re.escape(self.parts[0].lstrip())]
        for number, (hole, part) in enumerate(zip(self.holes, self.parts[1:], strict=True)):
            last = number == len(self.holes) - 1
            value = _value(hole, last=last)
            name = names.get(number)
            value = f"(?P<{name}>{value})" if name else f"(?:{value})"
            text = re.escape(part)
            pieces.append(f"{value}{text.rstrip()}" if last else f"(?>{value}{text})")
        return "".join(pieces)


def _value(hole: str, *, last: bool) -> str:
    if hole[0] == "%" and hole[-1] in "di":
        return _WHOLE
    if hole[0] == "%" and hole[-1] in "fge":
        return _REAL
    return _LAST_VALUE if last else _VALUE


class Wording:
    """One of our patterns with the messages of its examples."""

    def __init__(self, line: LogLine) -> None:
        self.line = line
        self.pattern = re.compile(line.match) if line.match else None
        self.examples = tuple(parse_line(text.encode()).message.strip() for text in line.examples)

    @cached_property
    def words(self) -> tuple[frozenset[str], ...]:
        """Words of each example, in lower case, without its values."""
        texts = (_skeleton(self, text) for text in self.examples)
        return tuple(frozenset(w.lower() for w in _WORD.findall(text)) for text in texts)

    def takes(self, text: str) -> bool:
        """Whether the pattern matches this text."""
        held = self.line.has.strip() in text
        return held and (self.pattern is None or bool(self.pattern.search(text)))

    def is_made_by(self, template: Template) -> bool:
        """Whether the template, filled in, is a line of this wording."""
        return any(self.takes(template.fill(value)) for value in _FILLINGS) or any(
            template.longest in text and template.pattern.search(text) for text in self.examples
        )


def read_release_wording(
    wordings: Iterable[LogLine], messages: Sequence[Message]
) -> ReleaseWording:
    """Compare our wordings with a release's messages; those of others than vLLM are left out."""
    templates = [Template(m) for m in messages if len(m.text) <= _MOST_CHARS]
    ours = [Wording(line) for line in wordings if not line.printed_by]
    told = "\n".join(text for one in ours for text in one.examples)
    shown = [
        t
        for t in templates
        if not t.message.level.startswith("raise")
        and len(t.longest) >= _LEAST_LITERAL
        and len(t.parts) <= _MOST_HOLES
        and t.longest in told
    ]
    holders = _Holders(templates)
    lacking = [
        one
        for one in ours
        if not any(one.is_made_by(t) for t in (*shown, *holders.find(one.line.has.strip())))
    ]
    known = frozenset(word for one in lacking for words in one.words for word in words)
    free = [
        t
        for t in templates
        if t.message.level in _LOGGED and t not in shown and len(t.words & known) >= _LEAST_WORDS
    ]
    extra = (_reworded(one, free, ours) for one in lacking)
    return ReleaseWording(
        unprinted=frozenset(one.line.id for one in lacking),
        extra=tuple(line for line in extra if line),
    )


class _Holders:
    """Finds the messages that hold a text: one search through all of them."""

    def __init__(self, templates: Sequence[Template]) -> None:
        self._templates = templates
        texts = [t.message.text for t in templates]
        self._all = "\0".join(texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

    def find(self, text: str) -> Iterator[Template]:
        """Each message that holds `text`, once."""
        at = self._all.find(text)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield self._templates[number]
            at = self._all.find(text, self._starts[number + 1])


def _reworded(one: Wording, free: list[Template], ours: list[Wording]) -> LogLine | None:
    """Our wording in the release's own words, None where nothing is like it or two things are."""
    ranked = sorted(
        ((_likeness(one, template), template) for template in free),
        key=lambda pair: pair[0],
        reverse=True,
    )
    likely = [pair for pair in ranked[:8] if pair[0] >= _ALIKE]
    texts = {template.message.text for score, template in likely if score == likely[0][0]}
    if len(texts) != 1:
        return None
    template = likely[0][1]
    if len(template.parts) > _MOST_HOLES or any(
        other.takes(template.fill(value)) for other in ours for value in _FILLINGS
    ):
        return None
    return _adopt(one, template)


def _likeness(one: Wording, template: Template) -> float:
    """Share of common words among all words, 0 to 1, of the example most like it."""
    best = 0.0
    for words in one.words:
        common = len(words & template.words)
        if common >= _LEAST_WORDS:
            best = max(best, common / len(words | template.words))
    return best


def _skeleton(one: Wording, text: str) -> str:
    """The example without the values that its named groups hold."""
    match = one.pattern.search(text) if one.pattern else None
    spans = sorted(match.span(name) for name in match.groupdict() if match[name]) if match else []
    for start, end in reversed(spans):
        text = text[:start] + " " + text[end:]
    return text


def _adopt(one: Wording, template: Template) -> LogLine | None:
    """The line of the catalogue with the template for its pattern."""
    names = _name_holes(one, template)
    wanted = one.pattern.groupindex if one.pattern else {}
    if wanted and not names:
        return None
    return msgspec.structs.replace(
        one.line,
        id=f"{one.line.id.partition('@')[0]}@release",
        has=template.longest,
        match=template.expression(names),
        releases="",
        expected=None,
        examples=(),
    )


def _name_holes(one: Wording, template: Template) -> dict[int, str]:
    """Which of our groups each hole holds: the one among the same words, or none."""
    found: dict[int, str] = {}
    around = [_around(before, after) for before, after in pairwise(template.parts)]
    for text in one.examples:
        match = one.pattern.search(text) if one.pattern else None
        for name in match.groupdict() if match else ():
            assert match is not None
            if match[name] is None or name in found.values():
                continue
            words = _around(text[: match.start(name)], text[match.end(name) :])
            scores = [sum(len(a & b) for a, b in zip(pair, words, strict=True)) for pair in around]
            best = max(scores, default=0)
            hole = scores.index(best) if scores.count(best) == 1 else -1
            if best and hole >= 0 and hole not in found:
                found[hole] = name
    return found


def _around(before: str, after: str) -> tuple[frozenset[str], frozenset[str]]:
    """The last two words before a value, and the first two after it."""
    last, first = _WORD.findall(before[-80:])[-2:], _WORD.findall(after[:80])[:2]
    return frozenset(w.lower() for w in last), frozenset(w.lower() for w in first)
