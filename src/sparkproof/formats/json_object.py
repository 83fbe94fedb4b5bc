"""Bounded reading of untrusted JSON, and typed access that names the field at fault."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import NoReturn, TypeAlias

from sparkproof.core.errors import FormatError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

SIZE_LIMIT_BYTES = 16 << 20
"""The largest quantization map seen (one entry per projection of 30,000 experts) has 4 MB."""
_VALUE_LIMIT = 2_000_000
_DEPTH_LIMIT = 64
_TEXT_SHOWN = 60


def parse_json_object(data: bytes, where: str) -> dict[str, Json]:
    """Decode one JSON object; duplicate keys, NaN and infinities are faults.

    Raises:
        FormatError: too large, too deep, not UTF-8, not JSON, or no object at the top.
    """
    if len(data) > SIZE_LIMIT_BYTES:
        raise FormatError(f"{len(data)} bytes is more than a config holds", where=where)
    if sum(map(data.count, (b",", b"[", b"{"))) > _VALUE_LIMIT:
        raise FormatError(f"more than {_VALUE_LIMIT} values", where=where)
    reader = _Reader(where)
    try:
        value: Json = json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=reader.unique,
            parse_constant=reader.refuse_constant,
            parse_float=reader.finite,
        )
    except UnicodeDecodeError as error:
        raise FormatError("not UTF-8", where=where, offset=error.start) from error
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", where=where, line=error.lineno) from error
    except RecursionError as error:
        raise FormatError("nested too deeply", where=where) from error
    except ValueError as error:  # an integer of more digits than the interpreter converts
        raise FormatError("a number of absurd length", where=where) from error
    if not isinstance(value, dict):
        raise FormatError("the top of the document is no object", where=where)
    _check_depth(value, where)
    return value


class _Reader:
    def __init__(self, where: str) -> None:
        self._where = where

    def unique(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) != len(pairs):
            [(again, _)] = Counter(key for key, _ in pairs).most_common(1)
            raise FormatError(f"key `{_shown(again)}` stands twice", where=self._where)
        return found

    def refuse_constant(self, text: str) -> NoReturn:
        raise FormatError(f"{text} is no JSON number", where=self._where)

    def finite(self, text: str) -> float:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise FormatError(f"{_shown(text)} is out of range", where=self._where)
        return value


def _check_depth(value: Json, where: str) -> None:
    level: list[Json] = [value]
    for _ in range(_DEPTH_LIMIT):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise FormatError("nested too deeply", where=where)


def _children(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _shown(text: str) -> str:
    printable = "".join(c if c.isprintable() else "?" for c in text[: _TEXT_SHOWN + 1])
    return printable if len(text) <= _TEXT_SHOWN else printable[:_TEXT_SHOWN] + "…"


class Fields:
    """One JSON object with its path, read field by field.

    A field that is absent or null gives the default; one of another type is a `FormatError`
    that names it.
    """

    def __init__(self, raw: dict[str, Json], where: str, path: str = "") -> None:
        self.raw = raw
        self.where = where
        self.path = path

    def __contains__(self, key: str) -> bool:
        return self.raw.get(key) is not None

    def name(self, key: str) -> str:
        """The field's full path, as messages and evidence show it."""
        return f"{self.path}.{_shown(key)}" if self.path else _shown(key)

    def wrong(self, key: str, wanted: str) -> FormatError:
        """The error for a field of the wrong type or range."""
        return FormatError(f"`{self.name(key)}` is {wanted}", where=self.where)

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        value = self.raw.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(key, "no string")
        return value

    def integer(self, key: str, default: int = 0, *, low: int = 0, high: int = 1 << 40) -> int:
        """An integer within bounds; a float of integral value passes."""
        value = self.raw.get(key)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(key, "no integer")
        if not low <= value <= high:
            raise self.wrong(key, f"outside {low} to {high}")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """A boolean."""
        value = self.raw.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(key, "neither true nor false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self.raw.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong(key, "no list of strings")
        return tuple(self._string(key, item) for item in value)

    def _string(self, key: str, item: Json) -> str:
        if not isinstance(item, str):
            raise self.wrong(key, "no list of strings")
        return item

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of integers."""
        value = self.raw.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong(key, "no list of integers")
        found = [item for item in value if isinstance(item, int) and not isinstance(item, bool)]
        if len(found) != len(value):
            raise self.wrong(key, "no list of integers")
        return tuple(found)

    def table(self, key: str) -> Fields | None:
        """A nested object, or None where it is absent."""
        value = self.raw.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(key, "no object")
        return Fields(value, self.where, self.name(key))

    def tables(self, key: str) -> tuple[tuple[str, Fields], ...]:
        """An object of objects, in the order of the file."""
        outer = self.table(key)
        if outer is None:
            return ()
        found = []
        for name in outer.raw:
            inner = outer.table(name)
            if inner is None:
                raise outer.wrong(name, "no object")
            found.append((name, inner))
        return tuple(found)
