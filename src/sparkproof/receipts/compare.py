"""Attribution is earned: what may be said about two results, from their identities and spreads.

Two results lie apart when their medians are further from each other than both their ranges are
wide, together: twice as far where there are only three repeats, and by a hundredth at least. For
repeats of one and the same normal distribution that happens once in a thousand figures
(tests/unit/receipts simulates it), so that a table can be read without seeing ghosts.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkproof.core.identities import CHOSEN, Identities
from sparkproof.core.results.bench import Spread
from sparkproof.core.results.compare import (
    Comparison,
    Difference,
    Figure,
    FigureChange,
    Measured,
    Pair,
    Relation,
)

MIN_REPEATS = 3
_FLOOR = 0.01
_FEW_FACTOR = 2.0
_WAYS = ("load", "tool")
"""Chosen identities that decide which question was asked, rather than the answer."""
LOADED = "loaded"


def compare(measured: Sequence[Measured]) -> Comparison:
    """Every result against the first."""
    pairs = tuple(compare_pair(measured[0], other) for other in measured[1:])
    return Comparison(measured=tuple(measured), pairs=pairs)


def compare_pair(first: Measured, second: Measured) -> Pair:
    """What may be said about two results."""
    chosen, unstated = chosen_differences(first, second)
    derived = _derived(first.identities, second.identities)
    changes = _changes(first, second)
    relation, reason = _relation(first, second, chosen, unstated, changes)
    because = chosen[0].role if relation is Relation.BECAUSE else ""
    return Pair(
        first=first.receipt,
        second=second.receipt,
        relation=relation,
        reason=reason,
        chosen=chosen,
        unstated=unstated,
        derived=derived,
        changes=changes,
        because=because,
        experiments=_experiments(relation, chosen, unstated),
    )


def chosen_differences(
    first: Measured, second: Measured
) -> tuple[tuple[Difference, ...], tuple[str, ...]]:
    """Chosen identities that differ, and those that a side leaves open.

    The loaded state counts as one of them. Two names of the same content are the same.
    """
    one, two = first.identities, second.identities
    differences: list[Difference] = []
    unstated: list[str] = []
    for role in CHOSEN:
        a, b = one.chosen.get(role), two.chosen.get(role)
        if a is None or b is None:
            unstated.append(role)
        elif not _same(role, one, two):
            differences.append(Difference(role, a, b))
    if first.loaded != second.loaded:
        words = ("idle", "loaded")
        differences.append(Difference(LOADED, words[first.loaded], words[second.loaded]))
    return tuple(differences), tuple(unstated)


def _same(role: str, one: Identities, two: Identities) -> bool:
    contents = one.contents.get(role), two.contents.get(role)
    if all(contents):
        return contents[0] == contents[1]
    return one.chosen[role] == two.chosen[role]


def _derived(one: Identities, two: Identities) -> tuple[Difference, ...]:
    names = sorted({*one.derived, *two.derived})
    return tuple(
        Difference(name, one.derived.get(name, ""), two.derived.get(name, ""))
        for name in names
        if one.derived.get(name) != two.derived.get(name)
    )


def beyond_spread(first: Spread, second: Spread) -> bool:
    """Whether two figures lie further apart than both spreads account for."""
    gap = abs(second.median - first.median)
    few = min(len(first.values), len(second.values)) <= MIN_REPEATS
    allowed = (_FEW_FACTOR if few else 1.0) * (first.width + second.width)
    return gap > max(allowed, _FLOOR * abs(first.median))


def _changes(first: Measured, second: Measured) -> tuple[FigureChange, ...]:
    old = {(figure.where, figure.name): figure for figure in first.figures}
    return tuple(
        _change(old[key], figure)
        for figure in second.figures
        if (key := (figure.where, figure.name)) in old
    )


def _change(old: Figure, new: Figure) -> FigureChange:
    beyond = beyond_spread(old.spread, new.spread)
    higher = new.spread.median > old.spread.median
    return FigureChange(
        where=new.where,
        name=new.name,
        unit=new.unit,
        first=old.spread,
        second=new.spread,
        ratio=new.spread.median / old.spread.median if old.spread.median else 0.0,
        beyond=beyond,
        better=(higher == new.higher_is_better) if beyond else None,
    )


def _relation(
    first: Measured,
    second: Measured,
    chosen: tuple[Difference, ...],
    unstated: tuple[str, ...],
    changes: tuple[FigureChange, ...],
) -> tuple[Relation, str]:
    """The one thing that may be said, and why."""
    ways = [d.role for d in chosen if d.role in (*_WAYS, LOADED)]
    others = [d.role for d in chosen if d.role not in ways]
    roles = ", ".join([*others, *ways])
    if first.command != second.command:
        return Relation.NOT_COMPARABLE, f"{first.command} and {second.command} ask different things"
    if not (first.sound and second.sound):
        which = first if not first.sound else second
        return Relation.NOT_COMPARABLE, f"{which.receipt} is not a measurement by its own verdict"
    if ways and not others:
        return Relation.NOT_COMPARABLE, f"measured in different ways: {', '.join(ways)}"
    if ways:
        return Relation.CANNOT_ATTRIBUTE, f"they differ in these, and cannot be attributed: {roles}"
    if not changes:
        return Relation.NOT_COMPARABLE, "they have no figure in common"
    thin = [c for c in changes if min(len(c.first.values), len(c.second.values)) < MIN_REPEATS]
    if len(thin) == len(changes):
        return Relation.NO_SPREAD, f"fewer than {MIN_REPEATS} repeats: nobody knows the spread"
    apart = [change for change in changes if change.beyond and change not in thin]
    if not apart:
        return Relation.NO_DIFFERENCE, f"{len(changes)} figures, none apart beyond both spreads"
    return _attribution(others, unstated, len(apart), len(changes))


def _attribution(
    roles: list[str], unstated: tuple[str, ...], apart: int, all_: int
) -> tuple[Relation, str]:
    told = f"{apart} of {all_} figures apart beyond both spreads"
    open_ = f"; not stated: {', '.join(unstated)}" if unstated else ""
    if len(roles) > 1:
        what = f"they differ in these, and cannot be attributed: {', '.join(roles)}{open_}"
        return Relation.CANNOT_ATTRIBUTE, what
    if unstated:
        seen = f"{roles[0]} differs" if roles else "nothing stated differs"
        return Relation.CANNOT_ATTRIBUTE, f"{told}; {seen}{open_}"
    if not roles:
        return Relation.UNEXPLAINED, f"{told}, and every chosen identity is the same"
    return Relation.BECAUSE, f"because of {roles[0]}: {told}"


def _experiments(
    relation: Relation, chosen: tuple[Difference, ...], unstated: tuple[str, ...]
) -> tuple[str, ...]:
    """The measurements that would tell: one change at a time, all else as in the first."""
    if relation is Relation.UNEXPLAINED:
        return ("repeat both, interleaved (A B A B), and look at clocks and temperature",)
    if relation is Relation.NO_SPREAD:
        return (f"measure both again with {MIN_REPEATS} repeats or more",)
    if relation not in (Relation.CANNOT_ATTRIBUTE, Relation.NOT_COMPARABLE):
        return ()
    ways = [d for d in chosen if d.role in (*_WAYS, LOADED)]
    others = [d for d in chosen if d.role not in (*_WAYS, LOADED)]
    found = []
    if ways:
        same = " and ".join(f"the same {d.role} ({d.first})" for d in ways)
        found.append(f"measure both in the same way: {same}")
    if len(others) > 1 or (others and (ways or unstated)):
        found += [
            f"the first with only its {d.role} changed: `{d.second}` in place of `{d.first}`"
            for d in others
        ]
    if unstated:
        found.append(f"state {', '.join(unstated)} on both sides (--deployment, --box)")
    return tuple(found)
