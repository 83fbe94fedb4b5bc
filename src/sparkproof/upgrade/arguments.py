"""The words of a command line, taken apart by the options that a release has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from sparkproof.core.observations.release_surface import Option, ReleaseSurface

_MAX_DEPTH = 8


class Given(msgspec.Struct, frozen=True):
    """One flag of a deployment, or one key inside its JSON value.

    Attributes:
        flag: long spelling of the option, or the normalised word where no release knows it.
        typed: as the deployment has it, dotted keys left out.
        values: what follows it, as text; empty for a switch.
        start, end: its words among the arguments.
        key: keys below a JSON option.
        raw: the JSON value below `key`, decoded; the text itself where it is no JSON.
    """

    flag: str
    typed: str
    values: tuple[str, ...]
    start: int
    end: int
    key: tuple[str, ...] = ()
    raw: Any = None

    @property
    def value(self) -> str:
        """The first value ("" for none)."""
        return self.values[0] if self.values else ""

    @property
    def shown(self) -> str:
        """Flag and keys as people write them."""
        return ".".join((self.flag, *self.key))


def read_given(arguments: Sequence[str], *surfaces: ReleaseSurface) -> tuple[Given, ...]:
    """Every flag of a command line; the first surface that knows one says how many words follow.

    Nothing is refused here: what no release knows is kept as it stands.
    """
    found: list[Given] = []
    position = 0
    while position < len(arguments):
        word = arguments[position]
        if not is_flag(word):
            position += 1
            continue
        item = _one(arguments, position, surfaces)
        found.append(item)
        position = item.end
    return tuple(found)


def is_flag(word: str) -> bool:
    """Whether a word is a flag and no (negative) number."""
    return word.startswith("-") and len(word) > 1 and not word[1:2].isdigit()


def _one(arguments: Sequence[str], position: int, surfaces: Sequence[ReleaseSurface]) -> Given:
    name, equals, inline = arguments[position].partition("=")
    head, _, tail = name.partition(".")
    spelled = head.replace("_", "-") if head.startswith("--") else head
    option = option_of(spelled, surfaces)
    end = position + 1
    values: tuple[str, ...] = (inline,) if equals else ()
    arity = option.arity if option is not None and not tail else "one"
    if not equals and arity != "none":
        limit = len(arguments) if arity == "many" else end + 1
        while end < min(limit, len(arguments)) and not is_flag(arguments[end]):
            values = (*values, arguments[end])
            end += 1
    key = tuple(part.replace("-", "_") for part in tail.split(".")) if tail else ()
    flag = option.flag if option is not None else spelled
    raw = decoded(values[0]) if values else None
    return Given(flag, spelled, values, position, end, key, raw)


def option_of(flag: str, surfaces: Sequence[ReleaseSurface]) -> Option | None:
    """The option of that spelling, of the first release that has it."""
    return next((item for s in surfaces if (item := s.option(flag)) is not None), None)


def decoded(text: str) -> Any:
    """The JSON value of a text, or the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def flatten(given: Given) -> Iterator[Given]:
    """The flag itself and, for a JSON object, each key below it."""
    yield given
    if isinstance(given.raw, dict):
        yield from _below(given, given.raw, 0)


def _below(given: Given, value: dict[Any, Any], depth: int) -> Iterator[Given]:
    if depth > _MAX_DEPTH:
        return
    for name, inner in value.items():
        text = inner if isinstance(inner, str) else json.dumps(inner)
        item = msgspec.structs.replace(
            given, values=(text,), key=(*given.key, str(name)), raw=inner
        )
        yield item
        if isinstance(inner, dict):
            yield from _below(item, inner, depth + 1)


def lookup(given: Sequence[Given], flag: str, *key: str) -> Given | None:
    """The last mention of an option or of one key below it."""
    wanted = None
    for item in given:
        if item.flag == flag:
            wanted = next((part for part in flatten(item) if part.key == key), wanted)
    return wanted
