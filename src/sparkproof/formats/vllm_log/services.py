"""Whose line it is where one output carries several: compose, ``kubectl logs --prefix``, stern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_COLOUR = rb"(?:\x1b\[[0-9;]*m)*"
_OWNER = re.compile(
    rb"(?:%(c)s(?P<compose>[A-Za-z0-9][\w.-]{0,80}) *%(c)s\|(?: |(?=\x1b)|\Z)"
    rb"|\[pod/(?P<pod>[\w./-]{1,160})\] "
    rb"|%(c)s(?P<stern>[\w.-]{1,120} \xe2\x80\xba %(c)s[\w.-]{1,80}) )" % {b"c": _COLOUR}
)
_ANSI = re.compile(_COLOUR)
_HEADER = re.compile(rb"\b(?:DEBUG|INFO|WARNING|ERROR) (?:\d{4}-)?\d\d-\d\d \d\d:")
_LOOKED_AT = 512
_MOST = 32
"""Services that are kept apart; lines of further ones go to the one before."""


class ServiceSplitter:
    """Parts batches of lines by the service that printed them, once the output shows any.

    Attributes:
        on: whether lines bear the names of services; None while that can't be told.
    """

    def __init__(self) -> None:
        self.on: bool | None = None
        self._names: set[str] = set()
        self._last = ""
        self._heads: dict[bytes, str] = {}
        self._head_bytes = 0

    def look_at(self, lines: list[bytes], *, all_there_is: bool = False) -> None:
        """Decide by the first line of vLLM's; without such a one, by what most lines bear.

        Args:
            lines: the output from its beginning.
            all_there_is: no more of it can be waited for.
        """
        some = [line for line in lines[:_LOOKED_AT] if line.strip()]
        first = next((line for line in some if _HEADER.search(line)), None)
        if first is not None:
            self.on = _OWNER.match(first) is not None
        elif all_there_is or len(lines) >= _LOOKED_AT:
            named = sum(_OWNER.match(line) is not None for line in some)
            self.on = 0 < len(some) <= 2 * named

    def split(
        self, numbers: Iterable[int], lines: list[bytes]
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        """Each service's lines without its name, and their numbers; one that bears no name belongs
        to the line above it.
        """
        parts: dict[str, tuple[list[int], list[bytes]]] = {}
        for number, raw in zip(numbers, lines, strict=True):
            name = self._heads.get(raw[: self._head_bytes])
            if name is not None:
                self._last = name
                line = raw[self._head_bytes :]
            else:
                line = self._find_owner(raw)
            own = parts.setdefault(self._last, ([], []))
            own[0].append(number)
            own[1].append(line)
        for name, (its_numbers, its_lines) in parts.items():
            yield name, its_numbers, its_lines

    def _find_owner(self, raw: bytes) -> bytes:
        """The line without its service's name, which is remembered: most are equally long."""
        match = _OWNER.match(raw)
        if match is None:
            return raw
        self._last = self._known(match)
        self._head_bytes = self._head_bytes or match.end()
        if match.end() == self._head_bytes and len(self._heads) < _MOST:
            self._heads[match[0]] = self._last
        return raw[match.end() :]

    def _known(self, match: re.Match[bytes]) -> str:
        raw = match["compose"] or match["pod"] or match["stern"]
        name = _ANSI.sub(b"", raw).decode("utf-8", "replace")
        if name not in self._names and len(self._names) >= _MOST:
            return self._last
        self._names.add(name)
        return name
