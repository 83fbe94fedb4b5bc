"""The parser of ``vllm serve`` that a release has, applied to an argument list."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from typing import Any

from sparkproof.core.observations.release_surface import Option, ReleaseSurface
from sparkproof.core.serve_line import Complaint, Given, ServeLine, Trouble
from sparkproof.release.serve_values import (
    RefusedError,
    find_strange,
    merge_piece,
    read_piece,
    read_value,
)

_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")
_LEVELS = ("0", "1", "2", "3")
_LEVEL_FLAG = "--optimization-level"


def parse_serve_line(surface: ReleaseSurface, argv: Sequence[str]) -> ServeLine:
    """Read what follows ``vllm serve`` as the release's parser would; nothing is raised."""
    return _Reader(surface, argv).read()


class _Reader:
    def __init__(self, surface: ReleaseSurface, argv: Sequence[str]) -> None:
        self._surface = surface
        self._words = list(argv)
        self._spelled = {name: option for option in surface.options for name in option.names}
        self._position = 0
        self._given: dict[str, Given] = {}
        self._pieces: dict[str, dict[str, Any]] = {}
        self._complaints: list[Complaint] = []
        self._model = ""

    def read(self) -> ServeLine:
        while self._position < len(self._words):
            word = self._words[self._position]
            self._position += 1
            if self._is_flag(word):
                self._flag(word)
            elif not self._model:
                self._model = word
            else:
                self._complain(Trouble.EXTRA, "", word, f"`{word[:80]}` belongs to no option")
        self._merge_pieces()
        given = tuple(self._given.values())
        for item in given:
            self._check_fields(item)
        return ServeLine(self._surface.version, self._model, given, tuple(self._complaints))

    @staticmethod
    def _is_flag(word: str) -> bool:
        """As argparse tells options from values: negative numbers and texts are values."""
        return len(word) > 1 and word[0] == "-" and not _NUMBER.match(word) and " " not in word

    def _complain(
        self,
        trouble: Trouble,
        flag: str,
        word: str,
        message: str,
        near: tuple[str, ...] = (),
    ) -> None:
        option = self._spelled.get(flag)
        source = option.source if option is not None else None
        self._complaints.append(Complaint(trouble, flag, word[:200], message, near, source))

    # --- options ----------------------------------------------------------------------

    def _flag(self, word: str) -> None:
        name, equals, value = word.partition("=")
        if word.startswith("-O") and not word.startswith("-O."):
            self._level(word)
            return
        head, dot, tail = name.partition(".")
        if head.startswith("--"):
            head = head.replace("_", "-")
        option = self._find(head)
        if option is None:
            self._unknown(head, word)
        elif dot:
            self._piece(option, tail, word, value if equals else None)
        else:
            self._whole(option, head, word, value if equals else None)

    def _find(self, head: str) -> Option | None:
        """The option of that spelling, or the only one that begins so, as argparse allows."""
        found = self._spelled.get(head)
        if found is None and head.startswith("--") and len(head) > 3:
            begun = {o.flag: o for name, o in self._spelled.items() if name.startswith(head)}
            found = next(iter(begun.values())) if len(begun) == 1 else None
        return found

    def _unknown(self, head: str, word: str) -> None:
        near = tuple(difflib.get_close_matches(head, list(self._spelled), n=3, cutoff=0.75))
        release = f"vllm {self._surface.version}"
        self._complain(Trouble.UNKNOWN, head, word, f"{release} has no option `{head}`", near)
        self._skip_values()

    def _skip_values(self) -> None:
        while self._position < len(self._words) and not self._is_flag(self._words[self._position]):
            self._position += 1

    def _level(self, word: str) -> None:
        """``-O3``, ``-O=3``, ``-O 3``."""
        level = word[2:].removeprefix("=")
        following = self._words[self._position] if self._position < len(self._words) else ""
        if not level and following in _LEVELS:
            level = following
            self._position += 1
        option = self._spelled.get(_LEVEL_FLAG)
        if option is None or not level:
            self._unknown("-O", word)
        else:
            self._take(option, word, level)

    def _piece(self, option: Option, tail: str, word: str, value: str | None) -> None:
        """``--config.key value``, ``--config.list+ a,b``."""
        if value is None:
            if self._position >= len(self._words):
                self._complain(Trouble.MISSING, option.flag, word, f"`{word}` needs a value")
                return
            value = self._words[self._position]
            self._position += 1
        piece: Any = value.split(",") if tail.endswith("+") else read_piece(value)
        keys = [part for part in tail.removesuffix("+").split(".") if part]
        if not keys or option.value not in ("object", "json", "mixed"):
            self._complain(Trouble.VALUE, option.flag, word, f"`{option.flag}` has no keys")
            return
        merge_piece(self._pieces.setdefault(option.flag, {}), keys, piece)
        self._given.setdefault(option.flag, Given(option.flag, word, {}))

    def _merge_pieces(self) -> None:
        """Pieces are put together into one object, which counts as given last."""
        for flag, pieces in self._pieces.items():
            known = self._given[flag]
            self._given[flag] = Given(flag, known.spelling, json.loads(json.dumps(pieces)))

    def _whole(self, option: Option, head: str, word: str, value: str | None) -> None:
        if option.arity == "none":
            if value is not None:
                message = f"`{option.flag}` is a switch and takes no value"
                self._complain(Trouble.VALUE, option.flag, word, message)
            self._put(option, word, head not in option.negative)
        elif option.arity == "many":
            self._many(option, word, value)
        elif value is not None:
            self._take(option, word, value)
        elif self._position < len(self._words) and not self._is_flag(self._words[self._position]):
            self._position += 1
            self._take(option, word, self._words[self._position - 1])
        elif option.arity == "optional":
            self._put(option, word, True)
        else:
            self._complain(Trouble.MISSING, option.flag, word, f"`{option.flag}` needs a value")

    def _many(self, option: Option, word: str, value: str | None) -> None:
        start = self._position
        if value is None:
            self._skip_values()
        words = self._words[start : self._position] if value is None else [value]
        if not words:
            self._complain(Trouble.MISSING, option.flag, word, f"`{option.flag}` needs a value")
            return
        values: list[Any] = []
        for item in words:
            try:
                values.append(read_value(option, item, self._surface.field_of(option)))
            except RefusedError as error:
                self._complain(Trouble.VALUE, option.flag, item, f"`{option.flag}`: {error}")
        self._put(option, word, values)

    def _take(self, option: Option, word: str, value: str) -> None:
        try:
            self._put(option, word, read_value(option, value, self._surface.field_of(option)))
        except RefusedError as error:
            self._complain(Trouble.VALUE, option.flag, word, f"`{option.flag}`: {error}")

    def _put(self, option: Option, word: str, value: Any) -> None:
        if option.flag in self._given:
            same = self._given[option.flag].value == value
            trouble = Trouble.REPEATED if same else Trouble.OVERRULED
            counts = _said(option, word, value)
            message = f"`{option.flag}` is given twice; the later one{counts} counts"
            self._complain(trouble, option.flag, word, message)
        elif option.deprecated:
            self._complain(Trouble.ENDING, option.flag, word, option.deprecated)
        self._given[option.flag] = Given(option.flag, word, value)

    def _check_fields(self, item: Given) -> None:
        option = self._spelled.get(item.flag)
        if option is None or not option.config:
            return
        strange = find_strange(self._surface, option.config, item.value, dashed=option.dashed)
        for key, why in strange:
            message = f"`{item.flag}`: `{key}` {why}"
            self._complain(Trouble.FIELD, item.flag, item.spelling, message)


def _said(option: Option, word: str, value: Any) -> str:
    """The value that counts, where it is one of a few words, a switch or a number."""
    if option.arity == "none":
        return f", `{word}`,"
    told = option.choices or option.value in ("int", "float", "size", "length")
    return f", `{option.flag} {value}`," if told and isinstance(value, str | int | float) else ""
