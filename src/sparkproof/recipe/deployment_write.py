"""A deployment as TOML, in the order in which people read it; what is unset is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from textwrap import wrap

import msgspec

from sparkproof.core.deployment import Box, Deployment

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_COMMENT_COLUMNS = 90
_ORDER = (
    *("name", "checkpoint", "weights_gib", "artifact", "device"),
    *("served_names", "server_url", "control"),
)


def write_deployment(deployment: Deployment, reasons: Mapping[str, str] | None = None) -> str:
    """The text of a deployment; `parse_deployment` gives the same one back.

    Args:
        reasons: comments by flag or variable, set above its line.
    """
    told = reasons or {}
    empty = Deployment(checkpoint="")
    lines = [f"schema = {deployment.schema}"]
    for name in _ORDER:
        value = getattr(deployment, name)
        if value != getattr(empty, name) or name in ("checkpoint", "device"):
            lines += [*_comment(told.get(name, "")), f"{name} = {_value(value)}"]
    lines += _arguments(deployment.args, told)
    if deployment.env:
        lines += ["", "[env]"]
        for name, text in deployment.env.items():
            lines += [*_comment(told.get(name, "")), f"{_key(name)} = {_value(text)}"]
    lines += _box(deployment.box, told)
    return "\n".join(lines) + "\n"


def _arguments(arguments: tuple[str, ...], told: Mapping[str, str]) -> Iterator[str]:
    """One flag a line, with what follows it."""
    if not arguments:
        return
    yield "args = ["
    groups: list[list[str]] = []
    for word in arguments:
        if not groups or (word.startswith("-") and not word[1:2].isdigit()):
            groups.append([])
        groups[-1].append(word)
    for group in groups:
        yield from (f"  {text}" for text in _comment(told.get(group[0].partition("=")[0], "")))
        yield "  " + " ".join(f"{_value(item)}," for item in group)
    yield "]"


def _box(box: Box, told: Mapping[str, str]) -> Iterator[str]:
    usual = Box()
    stated = {
        name: value
        for name, value in msgspec.structs.asdict(box).items()
        if value != getattr(usual, name) and value is not None
    }
    if not stated:
        return
    yield from ("", "[box]")
    tables = {name: value for name, value in stated.items() if isinstance(value, dict)}
    for name, value in stated.items():
        if name not in tables:
            yield from (*_comment(told.get(name, "")), f"{name} = {_value(value)}")
    for name, table in tables.items():
        yield from ("", f"[box.{name}]")
        yield from (f"{_key(key)} = {_value(value)}" for key, value in table.items())


def _comment(text: str) -> list[str]:
    return [f"# {row}" for row in wrap(" ".join(text.split()), _COMMENT_COLUMNS)]


def _key(name: str) -> str:
    return name if name and set(name) <= _BARE else _value(name)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return _text(str(value))


def _text(text: str) -> str:
    """Literal where that reads better: JSON values are full of double quotes."""
    if '"' in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
