"""Commands of a CMake file, with the lines they stand on; nothing is run."""

from __future__ import annotations

import re
from typing import NamedTuple

from sparkproof.core.errors import FormatError

MAX_BYTES = 4 << 20
_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n;]+)|(?P<block>#\[\[.*?\]\])|(?P<comment>#[^\n]*)|(?P<bracket>\[\[.*?\]\])"
    r"|(?P<quoted>\"(?:[^\"\\]|\\.)*\")|(?P<open>\()|(?P<close>\))|(?P<word>(?:[^\s;()#\"\\]|\\.)+)",
    re.DOTALL,
)


class Command(NamedTuple):
    """One command; quoted arguments without their quotes, brackets as arguments of their own."""

    name: str
    arguments: tuple[str, ...]
    line: int


def parse_cmake(text: str, where: str) -> tuple[Command, ...]:
    """All commands in order.

    Raises:
        FormatError: it is no CMake text, or ends inside a command.
    """
    if len(text) > MAX_BYTES:
        raise FormatError("build file is over the bound", where=where)
    reader = _Commands(where)
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormatError("no CMake text", where=where, line=reader.line)
        reader.take(match.lastgroup or "", match[0])
        position = match.end()
    if reader.depth:
        raise FormatError("ends inside a command", where=where, line=reader.start)
    return tuple(reader.found)


class _Commands:
    def __init__(self, where: str) -> None:
        self.found: list[Command] = []
        self.line = self.start = 1
        self.depth = 0
        self._where = where
        self._name = ""
        self._arguments: list[str] = []

    def take(self, kind: str, part: str) -> None:
        if kind in ("open", "close"):
            self._bracket(part)
        elif kind in ("word", "quoted", "bracket"):
            if self.depth:
                self._arguments.append(part[1:-1] if kind == "quoted" else part)
            else:
                self._name, self.start = part, self.line
        self.line += part.count("\n")

    def _bracket(self, part: str) -> None:
        self.depth += 1 if part == "(" else -1
        if self.depth < 0 or not self._name:
            raise FormatError("bracket without a command", where=self._where, line=self.line)
        if self.depth > (part == "("):
            self._arguments.append(part)
        elif not self.depth:
            command = Command(self._name.lower(), tuple(self._arguments), self.start)
            self.found.append(command)
            self._name, self._arguments = "", []
