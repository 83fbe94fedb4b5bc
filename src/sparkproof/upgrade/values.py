"""Whether a release takes a flag, its value, and every key of a JSON value."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from sparkproof.core.finding import Evidence
from sparkproof.core.observations.release_parts import ConfigClass, ConfigField
from sparkproof.core.observations.release_surface import Option, ReleaseSurface
from sparkproof.upgrade.arguments import Given

_UNSET = ("none", "null", "")
PARSERS = {"--tool-call-parser": "tool", "--reasoning-parser": "reasoning"}


class Taken(StrEnum):
    """How a release takes what was written."""

    YES = "yes"
    NO_FLAG = "there is no such flag"
    NO_KEY = "there is no such key"
    NO_VALUE = "the value is not accepted"
    UNLISTED = "the value is no longer listed"
    NEEDS_VALUE = "it needs a value now"
    NO_WORDS = "it takes no value now"
    UNREAD = "not read"


class Answer(NamedTuple):
    """The outcome for one flag or key, with the place that says so."""

    taken: Taken
    choices: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    option: Option | None = None


def takes(surface: ReleaseSurface, given: Given) -> Answer:
    """How a release takes one flag, or one key below it."""
    if not surface.options:
        return Answer(Taken.UNREAD)
    option = surface.option(given.typed) or surface.option(given.flag)
    if option is None:
        whole = len(surface.configs) > 0
        return Answer(Taken.NO_FLAG if whole else Taken.UNREAD)
    place = (option.source.evidence(f"registers {option.flag}"),)
    if given.key:
        return _key(surface, option, given)
    if option.arity == "none" and given.values and not given.typed.startswith("--no-"):
        return Answer(Taken.NO_WORDS, (), place, option)
    if option.arity in ("one", "many") and not given.values:
        return Answer(Taken.NEEDS_VALUE, (), place, option)
    if given.flag in PARSERS and surface.parsers:
        return _parser(surface, option, given)
    if not option.choices:
        return Answer(Taken.YES, (), place, option)
    wanted = [_spelled(value, option) for value in given.values]
    if all(value in option.choices or value.lower() in _UNSET for value in wanted):
        return Answer(Taken.YES, (), place, option)
    outcome = Taken.NO_VALUE if option.closed else Taken.UNLISTED
    return Answer(outcome, option.choices, place, option)


def _spelled(value: str, option: Option) -> str:
    if option.normalises:
        return value.lower().replace("-", "_")
    upper = value.upper()
    return upper if upper in option.choices else value


def _parser(surface: ReleaseSurface, option: Option, given: Given) -> Answer:
    kind = PARSERS[given.flag]
    known = [item for item in surface.parsers if item.kind == kind]
    entry = next((item for item in known if item.name == given.value), None)
    if entry is None:
        return Answer(Taken.NO_VALUE, tuple(sorted(item.name for item in known)), (), option)
    place = entry.source.evidence(f"{kind} parser {entry.name}: {entry.implementation}")
    return Answer(Taken.YES, (), (place,), option)


def _key(surface: ReleaseSurface, option: Option, given: Given) -> Answer:
    config = surface.config(option.config) if option.config else None
    if config is None:
        return Answer(Taken.UNREAD, (), (), option)
    field: ConfigField | None = None
    owner: ConfigClass = config
    for depth, name in enumerate(given.key):
        field = owner.field(name)
        if field is None:
            place = owner.source.evidence(f"fields of {owner.name}")
            return Answer(Taken.NO_KEY, tuple(f.name for f in owner.fields), (place,), option)
        if depth + 1 < len(given.key):
            inner = surface.config(field.config) if field.config else None
            if inner is None:
                return Answer(Taken.UNREAD, (), (), option)
            owner = inner
    assert field is not None
    where = Evidence(owner.source.path, f"{owner.name}.{field.name}", field.line)
    listed = not field.choices or isinstance(given.raw, dict | list)
    if listed or given.value in field.choices or given.value.lower() in _UNSET:
        return Answer(Taken.YES, (), (where,), option)
    if given.value.upper() in field.choices or given.value.replace("-", "_") in field.choices:
        return Answer(Taken.YES, (), (where,), option)
    outcome = Taken.NO_VALUE if field.closed else Taken.UNLISTED
    return Answer(outcome, field.choices, (where,), option)
