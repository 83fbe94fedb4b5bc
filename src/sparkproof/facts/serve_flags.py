"""Arguments of ``vllm serve`` that decide about kernels or memory, as the fallback knows them."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from sparkproof.facts.book import load_file


class FlagKind(StrEnum):
    """What the value of a flag is."""

    WORD = "word"
    LOWER = "lower"
    COUNT = "count"
    SIZE = "size"
    LENGTH = "length"
    SHARE = "share"
    SWITCH = "switch"
    LIST = "list"


class ServeFlag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One flag.

    Attributes:
        names: further spellings; `off` switch it the other way.
        selection, memory: the field it fills ("" for none).
        config, key: the object and its key that it stands for ("" for none).
    """

    flag: str
    kind: FlagKind
    names: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    selection: str = ""
    memory: str = ""
    config: str = ""
    key: str = ""


class ServeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One flag that takes a JSON object.

    Attributes:
        selection: keys with the field that each fills.
        settings: path under which selection functions ask for its other keys ("" for none).
    """

    flag: str
    selection: dict[str, str]
    names: tuple[str, ...] = ()
    settings: str = ""


class ServeFlags(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table, and where it was read."""

    source: str
    checked: date
    flags: tuple[ServeFlag, ...]
    configs: tuple[ServeConfig, ...]

    def flag(self, name: str) -> ServeFlag | None:
        """The flag of that spelling."""
        return _by_name().get(name)

    def config(self, name: str) -> ServeConfig | None:
        """The object of that spelling."""
        return next((c for c in self.configs if name in (c.flag, *c.names)), None)


@cache
def serve_flags() -> ServeFlags:
    """The table as shipped."""
    return load_file("serve_flags.toml", ServeFlags)


@cache
def _by_name() -> dict[str, ServeFlag]:
    return {
        name: item for item in serve_flags().flags for name in (item.flag, *item.names, *item.off)
    }
