"""Flags, values, keys, parsers and variables of a deployment, on both releases."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.finding import Confidence
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.upgrade import Action, Bite, Change, Edit
from sparkproof.facts.successors import Successor, successors
from sparkproof.upgrade.arguments import Given, flatten, read_given
from sparkproof.upgrade.values import PARSERS, Answer, Taken, takes
from sparkproof.upgrade.view import Case

_SURFACE = "release surface"
_METHOD = ("--speculative-config", "method")
"""Nothing else of the option means anything without it."""
_STRICT = "--fail-on-environ-validation"
_REFUSED = (
    Taken.NO_FLAG,
    Taken.NO_KEY,
    Taken.NO_VALUE,
    Taken.UNLISTED,
    Taken.NEEDS_VALUE,
    Taken.NO_WORDS,
)


def compare_words(case: Case) -> Iterator[tuple[bool, Change]]:
    """Every flag and variable that one of the releases does not take as it is written.

    Yields:
        Whether it is news (else both releases refuse it), and the change.
    """
    before, after = case.before.surface, case.after.surface
    given = read_given(case.deployment.args, after, before)
    for item in given:
        for part in flatten(item):
            yield from _word(case, part)
    strict = any(item.flag == _STRICT for item in given)
    typed = frozenset(item.flag for item in given)
    for name, value in case.deployment.env.items():
        yield from _variable(case, name, value, strict=strict, typed=typed)


def _word(case: Case, given: Given) -> Iterator[tuple[bool, Change]]:
    old = takes(case.before.surface, given)
    new = takes(case.after.surface, given)
    if new.taken is Taken.UNLISTED and old.taken is not Taken.YES:
        return  # the option takes other values too, and this one was never of the list
    if new.taken in _REFUSED:
        if given.key and takes(case.after.surface, _owner(given)).taken in _REFUSED:
            return
        yield old.taken not in _REFUSED, _refused(case, given, new)
        return
    yield from ((True, change) for change in _parser_change(case, given))
    if _deprecated(new) and not _deprecated(old) and not given.key:
        yield True, _deprecation(case, given, new)


def _owner(given: Given) -> Given:
    return Given(given.flag, given.typed, ("x",), given.start, given.end)


def _deprecated(answer: Answer) -> str:
    return answer.option.deprecated if answer.option is not None else ""


def _refused(case: Case, given: Given, answer: Answer) -> Change:
    release = case.after.surface.version
    successor = find_successor(case.after.surface, given.flag, given.value)
    edits = _edits(given, answer, successor)
    words = {
        Taken.NO_FLAG: f"vllm {release} has no {given.typed}",
        Taken.NO_KEY: f"vllm {release} has no `{'.'.join(given.key)}` in {given.flag}",
        Taken.NO_VALUE: f"vllm {release} does not take `{given.value}` for {given.shown}",
        Taken.UNLISTED: f"vllm {release} no longer lists `{given.value}` for {given.shown}",
        Taken.NEEDS_VALUE: f"{given.typed} needs a value in vllm {release}",
        Taken.NO_WORDS: f"{given.typed} takes no value in vllm {release}",
    }
    why = f"; {successor.why}" if successor is not None else ""
    return Change(
        bite=Bite.WONT_START,
        subject=given.shown,
        message=words[answer.taken] + why,
        rests_on=_SURFACE,
        before=" ".join((given.shown, *given.values)),
        after=_offered(answer),
        edits=edits,
        confidence=Confidence.INFERRED if answer.taken is Taken.UNLISTED else Confidence.SHOWN,
        evidence=answer.evidence,
    )


def _offered(answer: Answer) -> str:
    shown = ", ".join(answer.choices[:12])
    more = f" and {len(answer.choices) - 12} more" if len(answer.choices) > 12 else ""
    return f"takes {shown}{more}" if shown else ""


def _edits(given: Given, answer: Answer, successor: Successor | None) -> tuple[Edit, ...]:
    whole = (given.flag, *given.key) == _METHOD
    drop = Edit(Action.DROP, given.typed, key=() if whole else given.key)
    if answer.taken is Taken.NO_WORDS:
        return (Edit(Action.CHANGE, given.typed),)
    if successor is None or not successor.flag:
        return (drop,)
    value = successor.becomes or given.value
    if successor.flag == given.flag:
        return (Edit(Action.CHANGE, given.typed, value),)
    return (drop, Edit(Action.ADD, successor.flag, value))


def find_successor(surface: ReleaseSurface, name: str, value: str) -> Successor | None:
    """What took over, where the release takes it."""
    for item in successors():
        if item.name != name or item.value not in ("", value):
            continue
        if not item.flag:
            return item
        wanted = item.becomes or value
        stand_in = Given(item.flag, item.flag, (wanted,) if wanted else (), 0, 0)
        if takes(surface, stand_in).taken is Taken.YES:
            return item
    return None


def _parser_change(case: Case, given: Given) -> Iterator[Change]:
    kind = PARSERS.get(given.flag)
    if kind is None:
        return
    found = [
        next((p for p in s.parsers if p.kind == kind and p.name == given.value), None)
        for s in (case.before.surface, case.after.surface)
    ]
    old, new = found
    if old is None or new is None or old.implementation == new.implementation:
        return
    yield Change(
        bite=Bite.BEHAVIOUR,
        subject=given.flag,
        message=f"`{given.value}` is parsed by another class: run the tool calls or the reasoning "
        "of your client against it once",
        rests_on=_SURFACE,
        before=old.implementation,
        after=new.implementation,
        evidence=(new.source.evidence(f"{kind} parser {new.name}"),),
    )


def _deprecation(case: Case, given: Given, answer: Answer) -> Change:
    return Change(
        bite=Bite.BEHAVIOUR,
        subject=given.flag,
        message=f"{given.flag} is marked as going away: {_deprecated(answer)}",
        rests_on=_SURFACE,
        after=case.after.surface.version,
        evidence=answer.evidence,
    )


def _variable(
    case: Case, name: str, value: str, *, strict: bool, typed: frozenset[str]
) -> Iterator[tuple[bool, Change]]:
    before, after = case.before.surface, case.after.surface
    if not name.startswith("VLLM_") or not after.env_names:
        return
    if name in after.env_names:
        yield from ((True, change) for change in _ending(case, name))
        return
    successor = find_successor(after, name, value)
    drop = Edit(Action.DROP, name, variable=True)
    edits: tuple[Edit, ...] = (drop,)
    idle = successor is not None and not _steers_some(case, successor)
    if successor is not None and successor.flag and successor.flag not in typed and not idle:
        edits = (drop, Edit(Action.ADD, successor.flag, successor.becomes or value))
    why = f"; {successor.why}" if successor is not None and not idle else ""
    if idle:
        why = "; nothing takes over: none of these layers was picked by it"
    fate = f"and {_STRICT} makes that an error" if strict else "warns and goes on"
    news = not before.env_names or name in before.env_names
    yield (
        news,
        Change(
            bite=Bite.WONT_START if strict else Bite.BEHAVIOUR,
            subject=name,
            message=f"vllm {after.version} does not read {name}, {fate}{why}",
            rests_on=_SURFACE,
            before=f"{name}={value}",
            after="not read",
            edits=edits,
        ),
    )


def _steers_some(case: Case, successor: Successor) -> bool:
    """Whether the old one decided about any layer here; yes where that can't be told."""
    branches = (*case.before.branches, *case.after.branches)
    asked = {
        layer.prediction.oracle
        for branch in branches
        for layer in branch.layers
        if layer.prediction is not None
    }
    return not branches or not successor.steers or bool(asked & set(successor.steers))


def _ending(case: Case, name: str) -> Iterator[Change]:
    pair = [
        next((item for item in s.env if item.name == name), None)
        for s in (case.before.surface, case.after.surface)
    ]
    old, new = pair
    if new is None or not new.deprecated or (old is not None and old.deprecated):
        return
    yield Change(
        bite=Bite.BEHAVIOUR,
        subject=name,
        message=f"{name} is marked as going away: {new.deprecated}",
        rests_on=_SURFACE,
        after=case.after.surface.version,
        evidence=(new.source.evidence(f"declares {name}"),),
    )
