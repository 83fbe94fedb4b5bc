"""Faults of the text: what a broken kernel, cache or drafter makes of an answer."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from sparkproof.testing.faults.answer import Spot, merge, repeat, respell, spots
from sparkproof.testing.faults.fault import Count, Event, Events, Exchange, Fault

_VERSION = re.compile(r"\d+(?:\.\d+){2,}")
_OPEN_VERSION = re.compile(r"[\d.]+\Z")
_KEY = re.compile(r'"([^"\\\n]{2,64})"(?=\s*:)')
_OPEN_KEY = re.compile(r'"[^"\\\n]{0,64}(?:"\s{0,8})?\Z')
_PIECE = re.compile(r"\s?\w+|\s?[^\w\s]|\s")
_REACH = 12


class Edit(NamedTuple):
    """A part of a text, and what becomes of it; `unit`: again and again to the end."""

    start: int
    end: int
    new: str
    unit: bool = False


class Look(NamedTuple):
    """What is known of a text so far: the first `decided` characters, and edits within them."""

    decided: int
    edits: Sequence[Edit] = ()


Editor = Callable[[str, bool], Look]
"""Looks at a text that grows; the second argument says that it has ended."""


class WordFault(Fault, frozen=True, kw_only=True):
    """A fault that edits texts. Pieces of a stream wait only as long as their text is open."""

    def editor(self, exchange: Exchange) -> Editor:
        """A fresh one for each text of an answer."""
        raise NotImplementedError

    async def act(self, exchange: Exchange, events: Events) -> Events:
        """As `Fault.act`."""
        editors: dict[str, Editor] = {}
        held: list[Event] = []
        channel = ""
        async for event in events:
            if event.whole:
                yield await self._whole(exchange, event)
                continue
            spot = next(spots(event), None)
            if held and (spot is None or spot.channel != channel):
                for ready in await self._released(exchange, held, editors[channel], last=True):
                    yield ready
            if spot is None:
                yield event
                continue
            channel = spot.channel
            held.append(event)
            editor = editors.setdefault(channel, self.editor(exchange))
            last = spot.choice.get("finish_reason") is not None
            for ready in await self._released(exchange, held, editor, last=last):
                yield ready
        if held:
            for ready in await self._released(exchange, held, editors[channel], last=True):
                yield ready

    async def _whole(self, exchange: Exchange, event: Event) -> Event:
        for spot in spots(event):
            look = self.editor(exchange)(spot.text, True)
            event.changed |= await self._edit(exchange, spot, look.edits)
        return event

    async def _released(
        self, exchange: Exchange, held: list[Event], editor: Editor, *, last: bool
    ) -> list[Event]:
        """Take what is decided out of `held`."""
        look = editor("".join(next(spots(event)).text for event in held), last)
        if look.edits:
            event = merge(held)
            held.clear()
            event.changed |= await self._edit(exchange, next(spots(event)), look.edits)
            return [event]
        ready: list[Event] = []
        reach = 0
        while held and (last or reach + len(next(spots(held[0])).text) <= look.decided):
            reach += len(next(spots(held[0])).text)
            ready.append(held.pop(0))
        return ready

    async def _edit(self, exchange: Exchange, spot: Spot, edits: Sequence[Edit]) -> bool:
        for edit in reversed(edits):
            text = spot.text
            if edit.unit:
                await repeat(exchange, spot, edit.start, edit.new)
            else:
                await respell(exchange, spot, text[: edit.start] + edit.new + text[edit.end :])
        if edits:
            exchange.acted.add(self.name)
        return bool(edits)


class DropVersion(WordFault, frozen=True, kw_only=True):
    """``1.2.3`` becomes ``1.2``, wherever the pieces of a stream are cut."""

    name: ClassVar[str] = "drop-version"
    about: ClassVar[str] = "drops the last component of version strings: 1.2.3 becomes 1.2"

    def editor(self, exchange: Exchange) -> Editor:
        """As `WordFault.editor`."""

        def look(text: str, last: bool) -> Look:
            pending = None if last else _OPEN_VERSION.search(text)
            decided = pending.start() if pending else len(text)
            found = _VERSION.finditer(text, 0, decided)
            return Look(decided, [Edit(*m.span(), m[0].rpartition(".")[0]) for m in found])

        return look


class MutateKey(WordFault, frozen=True, kw_only=True):
    """The first JSON key of an answer, or the one that is named, with two letters swapped."""

    name: ClassVar[str] = "mutate-key"
    about: ClassVar[str] = "swaps two letters of a JSON key, of the first one unless it is named"
    main: ClassVar[str] = "key"
    key: str = ""

    def editor(self, exchange: Exchange) -> Editor:
        """As `WordFault.editor`."""
        done = False

        def look(text: str, last: bool) -> Look:
            nonlocal done
            if done:
                return Look(len(text))
            for found in _KEY.finditer(text):
                if not self.key or found[1] == self.key:
                    done = True
                    return Look(len(text), [Edit(*found.span(1), _swapped(found[1]))])
            pending = None if last else _OPEN_KEY.search(text)
            return Look(pending.start() if pending else len(text))

        return look


class Repeat(WordFault, frozen=True, kw_only=True):
    """From some word or sign on the same one comes again and again."""

    name: ClassVar[str] = "repeat"
    about: ClassVar[str] = "repeats one word or sign to the end, after so many good ones"
    main: ClassVar[str] = "pieces"
    pieces: Count = 8

    def editor(self, exchange: Exchange) -> Editor:
        """As `WordFault.editor`."""
        seen = 0
        piece = ""

        def look(text: str, _last: bool) -> Look:
            nonlocal seen, piece
            words = _PIECE.findall(text)
            good = words[: max(0, self.pieces - seen)]
            seen += len(words)
            piece = good[-1] if good else piece
            place = len("".join(good))
            if not piece or len(good) == len(words):
                return Look(len(text))
            return Look(len(text), [Edit(place, len(text), piece, unit=True)])

        return look


class Garbage(WordFault, frozen=True, kw_only=True):
    """Nothing but exclamation marks, which is token 0 of many vocabularies."""

    name: ClassVar[str] = "garbage"
    about: ClassVar[str] = "answers with `!!!!`"

    def editor(self, exchange: Exchange) -> Editor:
        """As `WordFault.editor`."""
        return lambda text, _last: Look(len(text), [Edit(0, len(text), "!", unit=True)])


class Corrupt(WordFault, frozen=True, kw_only=True):
    """One letter or digit near the beginning of the text is another one."""

    name: ClassVar[str] = "corrupt"
    about: ClassVar[str] = "changes one letter or digit in a share of the answers"

    def editor(self, exchange: Exchange) -> Editor:
        """As `WordFault.editor`."""
        wanted = int(exchange.draw("place") * _REACH)
        turn = int(exchange.draw("turn") * 8)
        done = False

        def look(text: str, last: bool) -> Look:
            nonlocal done
            if done:
                return Look(len(text))
            places = [n for n, c in enumerate(text) if c.isalnum()]
            if not places or (len(places) <= wanted and not last):
                return Look(0)
            done = True
            at = places[min(wanted, len(places) - 1)]
            return Look(len(text), [Edit(at, at + 1, _turned(text[at], turn))])

        return look


class CorruptAbove(Corrupt, frozen=True, kw_only=True):
    """Sound alone, broken in a batch: the server that a check at batch 1 lets pass."""

    name: ClassVar[str] = "corrupt-above"
    about: ClassVar[str] = "the same, but only while at least so many completions are on their way"
    main: ClassVar[str] = "above"
    above: Count = 8


def _swapped(key: str) -> str:
    return key[:-1] if key[-1] == key[-2] else key[:-2] + key[-1] + key[-2]


def _turned(c: str, turn: int) -> str:
    for letters in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
        if c in letters:
            return letters[(letters.index(c) + 1 + turn) % len(letters)]
    return "x"
