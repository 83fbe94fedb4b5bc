"""What changes from one release to another, beside the orders of its selection functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from sparkproof.core.condition import Condition, render_condition
from sparkproof.core.observations.release_parts import (
    ConfigRule,
    Endpoint,
    LiteralType,
    Message,
    Source,
)
from sparkproof.core.observations.release_surface import EnvVariable, Option, Pin, ReleaseSurface
from sparkproof.core.results.release import Bite, Change

T = TypeVar("T")
_WORDED = ("info", "warning", "error", "critical", "exception")


def compare_surfaces(before: ReleaseSurface, after: ReleaseSurface) -> tuple[Change, ...]:
    """Every difference outside the selection functions, in no order."""
    return tuple(
        change
        for compare in (
            _options,
            _variables,
            _configs,
            _literals,
            _rules,
            _graphs,
            _models,
            _parsers,
            _metrics,
            _endpoints,
            _pins,
            _messages,
        )
        for change in compare(before, after)
    )


def change(
    bite: Bite,
    section: str,
    subject: str,
    before: object,
    after: object,
    *sources: Source | None,
) -> Change:
    """One change with its places."""
    evidence = tuple(item.evidence(subject) for item in sources if item is not None)
    return Change(bite, section, subject, _text(before), _text(after), evidence=evidence)


def both(say: Callable[[T], str], old: T, new: T) -> tuple[str, str]:
    """The same said of both sides."""
    return say(old), say(new)


def _text(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _pairs(
    before: Iterable[T], after: Iterable[T], key: Callable[[T], str]
) -> Iterator[tuple[str, T | None, T | None]]:
    """Items of both by name: gone, new and kept."""
    old = {key(item): item for item in before}
    new = {key(item): item for item in after}
    for name in dict.fromkeys((*old, *new)):
        yield name, old.get(name), new.get(name)


def _came_or_went(
    section: str, name: str, old: object, new: object, source: Source | None
) -> Change | None:
    if old is None:
        return change(Bite.NEW, section, name, None, "new", source)
    return change(Bite.GONE, section, name, "there", None, source) if new is None else None


# --- options, variables, configuration ------------------------------------------------


def _options(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    for flag, old, new in _pairs(before.options, after.options, lambda item: item.flag):
        if old is None or new is None:
            found = _came_or_went("options", flag, old, new, (old or new or _NONE).source)
            if found is not None:
                yield found
            continue
        yield from _option(flag, old, new)


_NONE = Option("", (), None, Source(""))


def _option(flag: str, old: Option, new: Option) -> Iterator[Change]:
    yield from _values("options", flag, old.choices, new.choices, new.source)
    gone = tuple(name for name in old.names if name not in new.names)
    if gone:
        yield change(Bite.GONE, "options", f"{flag}: spelling", gone, None, new.source)
    fresh = tuple(name for name in new.names if name not in old.names)
    if fresh:
        yield change(Bite.NEW, "options", f"{flag}: spelling", None, fresh, new.source)
    if _default(old) != _default(new):
        subject = f"{flag}: default"
        yield change(
            Bite.DEFAULT, "options", subject, _default(old), _default(new), old.source, new.source
        )
    kinds = both(lambda item: f"{item.value}, {item.arity}", old, new)
    if kinds[0] != kinds[1]:
        yield change(Bite.RULE, "options", f"{flag}: value", *kinds, new.source)
    if new.deprecated and not old.deprecated:
        yield change(Bite.RULE, "options", f"{flag}: ending", None, new.deprecated, new.source)


def _default(item: Option) -> str:
    return item.computed or ("unset" if item.default is None else repr(item.default))


def _values(
    section: str, subject: str, old: tuple[str, ...], new: tuple[str, ...], source: Source | None
) -> Iterator[Change]:
    gone = tuple(item for item in old if item not in new)
    fresh = tuple(item for item in new if item not in old)
    if gone and new:
        yield change(Bite.GONE, section, f"{subject}: values", gone, None, source)
    if fresh and old:
        yield change(Bite.NEW, section, f"{subject}: values", None, fresh, source)


def _variables(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    for name, old, new in _pairs(before.env, after.env, lambda item: item.name):
        if old is None or new is None:
            source = (old or new or EnvVariable("", None, Source(""))).source
            found = _came_or_went("env", name, old, new, source)
            if found is not None:
                yield found
            continue
        if old.default != new.default:
            subject = f"{name}: default"
            yield change(Bite.DEFAULT, "env", subject, old.default, new.default, new.source)
        if new.deprecated and not old.deprecated:
            yield change(Bite.RULE, "env", f"{name}: ending", None, new.deprecated, new.source)


def _configs(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    for name, old, new in _pairs(before.configs, after.configs, lambda item: item.name):
        if old is None or new is None:
            source = new.source if new is not None else old.source if old is not None else None
            found = _came_or_went("configs", name, old, new, source)
            if found is not None:
                yield found
            continue
        for field, one, two in _pairs(old.fields, new.fields, lambda item: item.name):
            subject = f"{name}.{field}"
            if one is None or two is None:
                found = _came_or_went("configs", subject, one, two, new.source)
                if found is not None:
                    yield found
                continue
            yield from _values("configs", subject, one.choices, two.choices, new.source)
            if (one.default, one.computed) != (two.default, two.computed):
                sides = both(lambda item: item.computed or repr(item.default), one, two)
                yield change(Bite.DEFAULT, "configs", f"{subject}: default", *sides, new.source)


def _literals(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    for name, old, new in _pairs(before.literals, after.literals, lambda item: item.name):
        if old is not None and new is not None:
            yield from _values("configs", name, old.values, new.values, new.source)


# --- rules ----------------------------------------------------------------------------


def _rules(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    for name, old, new in _pairs(before.rules, after.rules, lambda item: item.id):
        if old is None or new is None:
            there = "decided by a rule" if old else "", "decided by a rule" if new else ""
            source = new.source if new is not None else old.source if old is not None else None
            yield change(Bite.RULE, "rules", name, *there, source)
            continue
        yield from _rule(name, old, new)


def _rule(name: str, old: ConfigRule, new: ConfigRule) -> Iterator[Change]:
    gone = _cases(old) - _cases(new)
    fresh = _cases(new) - _cases(old)
    for item in sorted(gone):
        yield change(Bite.RULE, "rules", name, item, None, old.source)
    for item in sorted(fresh):
        yield change(Bite.RULE, "rules", name, None, item, new.source)
    lists: Callable[[LiteralType], str] = lambda item: item.name  # noqa: E731
    for listed, one, two in _pairs(old.lists, new.lists, lists):
        if one is not None and two is not None:
            yield from _values("rules", f"{name}: {listed}", one.values, two.values, two.source)


def _cases(rule: ConfigRule) -> set[str]:
    """One text a case; what names a list is told by the list's own changes."""
    named = {value for item in rule.lists for value in item.values}
    found: set[str] = set()
    for case in rule.cases:
        text = render_condition(case.when)
        if any(f"'{value}'" in text for value in named) and len(text) > 400:
            text = "a test against the lists of this rule"
        said = f": {case.reason}" if case.reason else ""
        found.add(f"{case.outcome} where {text[:300]}{said}")
    return found


def _graphs(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    old, new = before.graphs, after.graphs
    if old is None or new is None:
        return
    parts = (
        ("largest size", old.cap, new.cap),
        ("ceiling", _ceilings(old.ceilings), _ceilings(new.ceilings)),
        ("sizes", old.sizes, new.sizes),
        ("mode by level", dict(old.levels), dict(new.levels)),
        ("default level", old.default_level, new.default_level),
    )
    for subject, one, two in parts:
        if one != two:
            yield change(
                Bite.RULE, "rules", f"CUDA graphs: {subject}", one, two, old.source, new.source
            )


def _ceilings(items: Iterable[tuple[Condition, int]]) -> tuple[str, ...]:
    return tuple(f"{number} if {render_condition(when)}" for when, number in items)


# --- registries -----------------------------------------------------------------------


def _models(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    lost = ("removed", "plugin")
    rows = [[m for m in surface.models if m.kind not in lost] for surface in (before, after)]
    for name, old, new in _pairs(rows[0], rows[1], lambda item: item.architecture):
        source = new.source if new is not None else old.source if old is not None else None
        found = _came_or_went("models", name, old, new, source)
        if found is not None:
            yield found
        elif old is not None and new is not None and old.needs != new.needs:
            subject = f"{name}: transformers"
            yield change(Bite.RULE, "models", subject, old.needs, new.needs, new.source)


def _parsers(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    rows = _pairs(before.parsers, after.parsers, lambda item: f"{item.kind} parser {item.name}")
    for name, old, new in rows:
        source = new.source if new is not None else old.source if old is not None else None
        found = _came_or_went("parsers", name, old, new, source)
        if found is not None:
            yield found
        elif old is not None and new is not None and old.implementation != new.implementation:
            sides = old.implementation, new.implementation
            yield change(Bite.RULE, "parsers", f"{name}: class", *sides, source)


def _metrics(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    for name, old, new in _pairs(before.metrics, after.metrics, lambda item: item.name):
        source = new.source if new is not None else old.source if old is not None else None
        found = _came_or_went("metrics", name, old, new, source)
        if found is not None:
            yield found


def _endpoints(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    def key(item: Endpoint) -> str:
        return f"{item.methods[0]} {item.path}"

    for name, old, new in _pairs(before.endpoints, after.endpoints, key):
        source = new.source if new is not None else old.source if old is not None else None
        found = _came_or_went("endpoints", name, old, new, source)
        if found is not None:
            yield found
        elif old is not None and new is not None and old.dev_mode != new.dev_mode:
            words = {True: "development mode only", False: "always"}
            sides = words[old.dev_mode], words[new.dev_mode]
            yield change(Bite.RULE, "endpoints", name, *sides, source)


def _pins(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    rows = [[pin for pin in surface.pins if pin.applies] for surface in (before, after)]
    for name, old, new in _pairs(rows[0], rows[1], lambda item: item.name):
        sides = both(_pinned, old, new)
        if sides[0] != sides[1]:
            source = new.source if new is not None else old.source if old is not None else None
            yield change(Bite.PIN, "pins", name, *sides, source)
    if before.python != after.python:
        yield change(Bite.PIN, "pins", "python", before.python, after.python, after.source)


def _pinned(pin: Pin | None) -> str:
    if pin is None:
        return "not required"
    asks = f"[{','.join(pin.asks)}]" if pin.asks else ""
    return asks + pin.specifier or "any"


# --- wording --------------------------------------------------------------------------


def _messages(before: ReleaseSurface, after: ReleaseSurface) -> Iterator[Change]:
    """Texts that a log shows; a text with the same beginning in the same file was reworded."""
    old = {item.text: item for item in before.messages if _is_shown(item)}
    new = {item.text: item for item in after.messages if _is_shown(item)}
    came = [item for text, item in new.items() if text not in old]
    by_start: dict[tuple[str, str], Message] = {(_name(m.path), _start(m.text)): m for m in came}
    matched: set[str] = set()
    for text, item in old.items():
        if text in new:
            continue
        other = by_start.get((_name(item.path), _start(text)))
        if other is not None and other.text not in matched:
            matched.add(other.text)
            yield _worded(item, other)
        else:
            yield _worded(item, None)
    for item in came:
        if item.text not in matched:
            yield _worded(None, item)


def _worded(old: Message | None, new: Message | None) -> Change:
    shown = new or old
    assert shown is not None
    sides = both(lambda item: item.text if item is not None else "", old, new)
    place = Source(shown.path, shown.line)
    return change(Bite.WORDING, "messages", f"{shown.level} in {_name(shown.path)}", *sides, place)


def _is_shown(item: Message) -> bool:
    return item.level in _WORDED or item.level.startswith("raise")


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _start(text: str) -> str:
    return " ".join(text.split()[:3]).lower()
