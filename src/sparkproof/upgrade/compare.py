"""Everything that bites one deployment between two releases, sorted by how it is felt."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.results.upgrade import Action, Bite, Change, Edit
from sparkproof.core.verdict import Verdict
from sparkproof.upgrade.arguments import read_given
from sparkproof.upgrade.behaviour import compare_behaviour
from sparkproof.upgrade.edits import apply_edits
from sparkproof.upgrade.lifted import compare_claims
from sparkproof.upgrade.model import compare_model
from sparkproof.upgrade.picks import compare_picks
from sparkproof.upgrade.sizes import compare_sizes
from sparkproof.upgrade.view import Case
from sparkproof.upgrade.words import compare_words

_ORDER = tuple(Bite)
_TOLD_BY = {"architecture": "architecture", "kv-cache": "--kv-cache-dtype"}
"""Subjects of a proof that a flag or the registry tells of by itself."""


class Comparison(msgspec.Struct, frozen=True):
    """What is news, and what was wrong before already."""

    changes: tuple[Change, ...]
    standing: tuple[Change, ...]

    @property
    def stops(self) -> bool:
        """Whether the deployment does not start as it is."""
        found = (*self.changes, *self.standing)
        return any(item.bite is Bite.WONT_START for item in found)


def compare(case: Case) -> Comparison:
    """All changes of one deployment; nothing that does not touch it."""
    given = read_given(case.deployment.args, case.after.surface, case.before.surface)
    found = dict.fromkeys(
        (
            *compare_words(case),
            *compare_model(case),
            *compare_picks(case),
            *compare_sizes(case, given),
            *compare_behaviour(case, given),
            *compare_claims(case, given),
        )
    )
    found = _once(found, case.model.architectures)
    return Comparison(
        changes=_sorted(change for news, change in found if news),
        standing=_sorted(
            change for news, change in found if not news and change.bite is not Bite.LIFTED
        ),
    )


def _once(
    found: Iterable[tuple[bool, Change]], architectures: tuple[str, ...]
) -> dict[tuple[bool, Change], None]:
    """Without refusals that a refused flag explains already."""
    rows = list(found)
    flags = {
        edit.name
        for _, change in rows
        if change.bite is Bite.WONT_START and change.rests_on == "release surface"
        for edit in change.edits
    }
    subjects = {c.subject for _, c in rows if c.rests_on == "release surface"}
    if subjects & set(architectures):
        flags.add("architecture")
    return {
        (news, change): None
        for news, change in rows
        if change.bite is not Bite.WONT_START
        or change.rests_on == "release surface"
        or not _explained(change, flags)
    }


def _explained(change: Change, flags: set[str]) -> bool:
    """Whether the refusal is of a flag that was told of by its name."""
    named = any(edit.name in flags for edit in change.edits)
    kind = _TOLD_BY.get(change.subject.split()[0], "")
    return named or kind in flags or any(f"`{flag} " in change.message for flag in flags)


def _sorted(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda item: _ORDER.index(item.bite)))


def without_additions(comparison: Comparison) -> Comparison:
    """The same with flags that are to be dropped, and nothing in their place."""
    return Comparison(
        *(
            tuple(
                msgspec.structs.replace(
                    change,
                    edits=tuple(e for e in change.edits if e.action is not Action.ADD),
                )
                if not change.optional
                else change
                for change in rows
            )
            for rows in (comparison.changes, comparison.standing)
        )
    )


def mended(case: Case, comparison: Comparison) -> Deployment:
    """The deployment with every edit that it needs; what only keeps an old state is left out."""
    return apply_edits(case.deployment, needed(comparison), case.after.surface, case.before.surface)


def needed(comparison: Comparison) -> tuple[Edit, ...]:
    """The edits that are no matter of taste."""
    rows = (*comparison.changes, *comparison.standing)
    return tuple(edit for change in rows if not change.optional for edit in change.edits)


def verdict_of(comparison: Comparison, *, delivery: bool) -> Verdict:
    """Whether the deployment can be taken over as it is."""
    if comparison.stops:
        return Verdict.FAIL
    open_kernel = any(
        change.bite is Bite.KERNEL
        and (not delivery or not change.after or "undecided" in change.after)
        for change in comparison.changes
    )
    return Verdict.INCONCLUSIVE if open_kernel else Verdict.PASS
