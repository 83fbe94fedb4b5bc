"""The boots of one server, as its lines come in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from sparkproof.core.observations.boot_log import BootLog
from sparkproof.formats.vllm_log.open_boot import OpenBoot
from sparkproof.formats.vllm_log.phrases import DULL, PhraseIndex

BOOTS_KEPT = 8
"""Boots that are held of one server; of more, the last ones."""
_ACCESS = b' HTTP/1.1" '


class Lane:
    """Lines of one server, however they came here.

    Attributes:
        recognised: lines that bear vLLM's own header or a phrase that we know.
        headed: those that bear the header, or are of the access log.
        headings: lines that look like those of a document.
    """

    def __init__(self, index: PhraseIndex, service: str, first_line: int) -> None:
        self.service = service
        self.recognised = self.headed = self.headings = 0
        self._index = index
        self._ended: deque[OpenBoot] = deque(maxlen=BOOTS_KEPT - 1)
        self._current = OpenBoot(index, 1, first_line, service)

    def take(self, numbers: Iterable[int], lines: list[bytes]) -> None:
        """Read lines; their numbers are those of the whole output."""
        boot = self._current
        look_up = boot.index.look_up
        recognised = headed = 0
        number = boot.line
        for number, raw in zip(numbers, lines, strict=True):
            if _ACCESS in raw:
                recognised += 1
                headed += 1
                boot.answered(raw, raw.rpartition(_ACCESS)[2][:1], number)
                continue
            interest = look_up(raw)
            if interest is None:
                if raw[:1] == b"#" and raw.lstrip(b"#")[:1] == b" ":
                    self.headings += 1
                continue
            recognised += 1
            headed += interest.headed
            if interest is DULL:
                boot.stamped = raw
                continue
            if interest.turning:
                if boot.turns(raw, interest):
                    boot = self._next_boot(number)
                    boot.start(raw, interest)
                look_up = boot.index.look_up
            if interest.headed:
                boot.stamped = raw
            boot.add(raw, interest, number)
        self.recognised += recognised
        self.headed += headed
        boot.line = number

    def _next_boot(self, number: int) -> OpenBoot:
        self._current.line = number - 1
        self._ended.append(self._current)
        self._current = OpenBoot(self._index, self._current.number + 1, number, self.service)
        return self._current

    @property
    def total(self) -> int:
        """Boots so far."""
        return self._current.number

    @property
    def state(self) -> str:
        """Version and phase in a few words, for somebody who watches."""
        said = self._current.state
        return f"{self.service}: {said}" if self.service else said

    @property
    def decided(self) -> bool:
        """Whether the current boot is ready or has failed."""
        return self._current.decided

    @property
    def other(self) -> str:
        """Another engine whose lines these are ("" for none)."""
        return next((boot.other for boot in (*self._ended, self._current) if boot.other), "")

    @property
    def client(self) -> str:
        """A program that asks a server and prints here ("" for none)."""
        return next((boot.client for boot in (*self._ended, self._current) if boot.client), "")

    def boots(self) -> tuple[BootLog, ...]:
        """The last boots as they stand, oldest first."""
        return tuple(boot.finish() for boot in (*self._ended, self._current))
