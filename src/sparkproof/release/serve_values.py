"""Turning words into values as a release's options do."""

from __future__ import annotations

import json
import re
from typing import Any

from sparkproof.core.observations.release_parts import ConfigClass, ConfigField, Rewrite
from sparkproof.core.observations.release_surface import Option, ReleaseSurface

_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<suffix>[kKmMgGtT])\Z")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_IN_JSON = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*")')
_MAX_DIGITS = 30
_MAX_NESTING = 40


class RefusedError(Exception):
    """A word that is no value of its option; the text says why."""


def read_value(option: Option, word: str, field: ConfigField | None = None) -> Any:
    """One word as the option's value.

    Args:
        field: what the value becomes in the option's configuration class, which may rewrite it
            first or refuse it afterwards.

    Raises:
        RefusedError: the release would refuse it.
    """
    if option.nullable and word in ("", "None"):
        return None
    if option.normalises:
        word = rewritten(word, "snake")
    value = _converted(option, word)
    if field is not None and isinstance(value, str):
        if field.rewrites == "upper" and value.lower() == "auto":
            return None
        value = rewritten(value, field.rewrites)
    if option.closed and option.choices and str(value) not in option.choices:
        raise RefusedError(f"`{word[:80]}` is none of {_some(option.choices)}")
    if field is not None and _refuses(field, value):
        raise RefusedError(f"`{word[:80]}` is none of {_some(field.choices)}")
    return value


def rewritten(text: str, how: Rewrite) -> str:
    """A text as the release looks it up."""
    if how == "upper":
        return text.upper()
    if how == "lower":
        return text.lower()
    return text.lower().replace("-", "_") if how == "snake" else text


def _some(choices: tuple[str, ...], limit: int = 12) -> str:
    shown = ", ".join(choices[:limit])
    return shown if len(choices) <= limit else f"{shown} and {len(choices) - limit} more"


def _converted(option: Option, word: str) -> Any:
    kind = option.value
    if kind == "int":
        return _integer(word)
    if kind == "size":
        return read_size(word)
    if kind == "length":
        return -1 if word.strip().lower() in ("auto", "-1") else read_size(word)
    if kind == "float":
        try:
            return float(word)
        except ValueError as error:
            raise RefusedError(f"`{word[:80]}` is no number") from error
    if kind == "mixed" and not re.fullmatch(r"(?s)\s*\{.*\}\s*", word):
        return word
    if kind in ("object", "json", "mixed"):
        return _json(word, must_be_object=kind == "object")
    return word


def _integer(word: str) -> int:
    if len(word) > _MAX_DIGITS:
        raise RefusedError(f"`{word[:80]}` is absurd")
    try:
        return int(word)
    except ValueError as error:
        raise RefusedError(f"`{word[:80]}` is no whole number") from error


def read_size(word: str) -> int:
    """``1k`` is 1000 and ``1K`` is 1024; only the decimal ones may have a fraction.

    Raises:
        RefusedError: it is no size.
    """
    match = _SIZE.fullmatch(word.strip())
    if match is None:
        return _integer(word.strip())
    number, suffix = match["number"], match["suffix"]
    if len(number) > _MAX_DIGITS:
        raise RefusedError(f"`{word[:80]}` is absurd")
    if suffix in _DECIMAL:
        return int(float(number) * _DECIMAL[suffix])
    if "." in number:
        raise RefusedError(f"`{word[:80]}`: a fraction goes with a small letter only")
    return int(number) * _BINARY[suffix]


def _json(word: str, *, must_be_object: bool) -> Any:
    parts = _QUOTED.split(word)
    for index in range(0, len(parts), 2):
        parts[index] = _IN_JSON.sub(lambda m: str(read_size(m[0])), parts[index])
    try:
        value = json.loads("".join(parts))
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"`{word[:80]}` is no JSON") from error
    if must_be_object and not isinstance(value, dict):
        raise RefusedError(f"`{word[:80]}` is no JSON object")
    return value


def read_piece(word: str) -> Any:
    """The value of a dotted option: JSON, a size, or text."""
    try:
        return json.loads(word)
    except (ValueError, RecursionError):
        pass
    try:
        return read_size(word)
    except RefusedError:
        return word


def merge_piece(target: dict[str, Any], keys: list[str], value: Any) -> None:
    """Put a value at ``a.b.c``; lists grow, everything else is replaced."""
    for key in keys[:-1]:
        inner = target.get(key)
        if not isinstance(inner, dict):
            inner = target[key] = {}
        target = inner
    known = target.get(keys[-1])
    if isinstance(known, list) and isinstance(value, list):
        known += value
    else:
        target[keys[-1]] = value


def find_strange(
    surface: ReleaseSurface, config: str, value: Any, depth: int = 0, *, dashed: bool = False
) -> list[tuple[str, str]]:
    """Keys that a configuration class does not have, and values that are none of a field's.

    Args:
        dashed: hyphens in a key of the first level count as underscores.

    Returns:
        Dotted key and what is wrong with it.
    """
    kind = surface.config(config)
    if kind is None or not isinstance(value, dict) or depth > _MAX_NESTING:
        return []
    found: list[tuple[str, str]] = []
    for key, item in value.items():
        field = kind.field(key.replace("-", "_") if dashed else key)
        if field is None and not kind.strict:
            continue
        if field is None:
            found.append((key, f"is no field of {config}{_near(kind, key)}"))
        elif field.config:
            inner = find_strange(surface, field.config, item, depth + 1)
            found.extend((f"{key}.{name}", why) for name, why in inner)
        elif _refuses(field, item):
            found.append((key, f"`{item[:60]}` is none of {_some(field.choices)}"))
    return found


def _refuses(field: ConfigField, value: Any) -> bool:
    decided = field.closed or field.checked
    if not decided or not field.choices or not isinstance(value, str):
        return False
    if field.rewrites == "upper" and value.lower() == "auto":
        return False
    return rewritten(value, field.rewrites) not in field.choices


def _near(kind: ConfigClass, key: str) -> str:
    normal = key.replace("-", "_")
    return f"; it has `{normal}`" if normal != key and kind.field(normal) else ""
