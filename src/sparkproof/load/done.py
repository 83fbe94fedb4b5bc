"""Which of numbered requests are done, in the memory of those that are out of turn."""

from __future__ import annotations


class Done:
    """Numbers from 0 on."""

    def __init__(self) -> None:
        self._below = 0
        self._beyond: set[int] = set()

    def add(self, number: int) -> None:
        """One is done; a second time changes nothing."""
        if number >= self._below:
            self._beyond.add(number)
        while self._below in self._beyond:
            self._beyond.remove(self._below)
            self._below += 1

    def __contains__(self, number: int) -> bool:
        return number < self._below or number in self._beyond

    def __len__(self) -> int:
        return self._below + len(self._beyond)
