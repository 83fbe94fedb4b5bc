"""Which of many known phrases a line holds, at a price that does not depend on their number.

Lines of one wording differ in their digits. A line without its digits is its template;
what a template can match is found once and remembered, so the common line costs one
translation and one look-up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from sparkproof.facts.log_schema import LogLine, Phrase
from sparkproof.formats.vllm_log.headers import Record, parse_line
from sparkproof.formats.vllm_log.release_wording import ReleaseWording

_DIGITS = b"0123456789"
_TEMPLATES = 16384
_TEMPLATE_BYTES = 4096
_VERSIONS = 4
_NOTHING = ReleaseWording()
# Request logging: no two lines are alike, and what they quote is a client's, not vLLM's.
# At the debug level only the refusals of candidates are of interest.
_DEBUG = b"DEBUG "
_REFUSALS = (b"deployment configuration since ", b"attention backends are not valid")
_WORD = re.compile(rb"[A-Za-z]+")
_REQUESTS = (b"Received request ", b"Added request ", b"Generated response ")
_ERRORS = frozenset({"ERROR", "CRITICAL", "FATAL"})
_NO_MESSAGE = (" ", "\t", "Traceback (", "Dumping ", "The above exception", "During handling of")
_EXCEPTION = re.compile(
    r"(?P<kind>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Failure))"
    r"(?:: ?(?P<message>.*))?\Z"
)
_FRAME = re.compile(r'\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>\S+))?')


Learn = Callable[[str], ReleaseWording]
"""Tells of a version, as the log states it, what its release words otherwise."""


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A phrase with the id under which a hit is reported."""

    id: str
    phrase: Phrase


class Interest(msgspec.Struct, frozen=True):
    """What lines of one template may hold.

    Attributes:
        wordings, probes: indices whose literal text, digits aside, is there.
        warning: the level of the line; error too, if it is a message and no traceback's inside.
        exception: looks like the last line of a traceback.
        frame: looks like a traceback's ``File`` line.
        headed: bears vLLM's header.
        turning: may begin or end a boot.
    """

    wordings: tuple[int, ...] = ()
    probes: tuple[int, ...] = ()
    warning: bool = False
    error: bool = False
    exception: bool = False
    frame: bool = False
    headed: bool = False
    turning: bool = False

    @property
    def any(self) -> bool:
        """Whether a line of this template is worth taking apart."""
        return bool(
            self.wordings
            or self.probes
            or self.warning
            or self.error
            or self.exception
            or self.frame
        )


DULL = Interest(headed=True)
"""A line of vLLM's that says nothing we look for."""
ACCESS = Interest(headed=True)
"""The first good answer in the access log."""
_TURNING = frozenset({"banner", "command", "engine", "ready", "failed", "dead", "shutdown"})


class AnchorIndex:
    """Finds which of many texts a line holds by the words it is made of.

    A text is filed under a word that stands whole in it; one without such a word has to be
    looked for in every line.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._by_word: dict[bytes, list[tuple[int, bytes]]] = {}
        self._always: list[tuple[int, bytes]] = []
        for position, text in enumerate(texts):
            anchor = _without_digits(text)
            whole = [match[0] for match in _WORD.finditer(anchor) if _is_whole(match, anchor)]
            filed = self._by_word.setdefault(max(whole, key=len), []) if whole else self._always
            filed.append((position, anchor))

    def find(self, key: bytes, words: set[bytes]) -> tuple[int, ...]:
        """Positions of the texts in `key`, a line without digits, made of `words`."""
        found = [position for position, anchor in self._always if anchor in key]
        for word in words:
            for position, anchor in self._by_word.get(word, ()):
                if anchor in key:
                    found.append(position)
        return tuple(sorted(found))


class PhraseIndex:
    """All wordings and probes, compiled, and the memory of templates."""

    def __init__(
        self,
        wordings: Sequence[LogLine],
        probes: Sequence[Probe],
        learn: Learn | None = None,
    ) -> None:
        self._learn = learn
        self._learned: dict[str, ReleaseWording] = {}
        self._versions: dict[str, PhraseIndex] = {}
        self.wordings = tuple(wordings)
        self.probes = tuple(probes)
        self.patterns = [re.compile(w.match) if w.match else None for w in wordings]
        self.probe_patterns = [
            re.compile(p.phrase.match) if p.phrase.match else None for p in probes
        ]
        self._wordings = AnchorIndex([w.has for w in wordings])
        self._probes = AnchorIndex([p.phrase.has for p in probes])
        self._memory: dict[bytes, Interest | None] = {}

    def for_version(self, version: str) -> PhraseIndex:
        """This index with what the release words otherwise; itself where that is nothing.

        The positions of this index hold in the other one too.
        """
        extra = self._told(version).extra
        if not extra:
            return self
        if version not in self._versions:
            if len(self._versions) >= _VERSIONS:
                self._versions.clear()
            self._versions[version] = PhraseIndex((*self.wordings, *extra), self.probes)
        return self._versions[version]

    def printed_by(self, version: str) -> tuple[LogLine, ...]:
        """Wordings that some message of that release can make; all where none is known."""
        unprinted = self._told(version).unprinted
        return tuple(w for w in self.wordings if w.id not in unprinted)

    def _told(self, version: str) -> ReleaseWording:
        if not version or self._learn is None:
            return _NOTHING
        if version not in self._learned:
            if len(self._learned) >= _VERSIONS:
                self._learned.clear()
            self._learned[version] = self._learn(version)
        return self._learned[version]

    def look_up(self, raw: bytes) -> Interest | None:
        """What a line may hold; None where nothing of it is known, `DULL` for a header alone."""
        key = raw[:_TEMPLATE_BYTES].translate(None, _DIGITS)
        memory = self._memory
        if key in memory:
            return memory[key]
        if any(mark in raw for mark in _REQUESTS) or _is_chatter(raw):
            return DULL
        if len(memory) >= _TEMPLATES:
            memory.clear()
        interest = self._examine(raw, key)
        result: Interest | None = interest
        if not interest.any:
            result = DULL if interest.headed else None
        memory[key] = result
        return result

    def _examine(self, raw: bytes, key: bytes) -> Interest:
        record = parse_line(raw)
        text = record.message.strip()
        words = set(_WORD.findall(key))
        wordings = self._wordings.find(key, words)
        probes = self._probes.find(key, words)
        return Interest(
            wordings=wordings,
            probes=probes,
            warning=record.level == "WARNING",
            error=record.level in _ERRORS and not record.message.startswith(_NO_MESSAGE),
            exception=split_exception(text) is not None,
            frame=_FRAME.match(record.message) is not None,
            headed=bool(record.level and record.time),
            turning=any(self.wordings[i].event in _TURNING for i in wordings),
        )


def _is_whole(word: re.Match[bytes], anchor: bytes) -> bool:
    """Whether a line that holds `anchor` holds this as a word of its own.

    At the anchor's edges a word may be a part of a longer one, unless it begins with a
    capital: such words are written out in the catalogue.
    """
    inside = word.start() and word.end() < len(anchor)
    return bool(inside) or word[0][:1].isupper()


def _is_chatter(raw: bytes) -> bool:
    return _DEBUG in raw[:200] and not any(mark in raw for mark in _REFUSALS)


def _without_digits(text: str) -> bytes:
    return text.encode().translate(None, _DIGITS)


def split_exception(text: str) -> tuple[str, str] | None:
    """Class and message of a traceback's last line, None where it is none."""
    match = _EXCEPTION.match(text[:4000])
    if not match or (match["message"] is None and " " in text):
        return None
    return match["kind"].rsplit(".", 1)[-1], (match["message"] or "").strip()


def split_frame(record: Record) -> str:
    """``file.py:12 function`` of a traceback's ``File`` line ("" where it is none)."""
    match = _FRAME.match(record.message)
    if not match:
        return ""
    name = match["file"].rsplit("/", 1)[-1]
    return f"{name}:{match['line']} {match['name'] or ''}".rstrip()
