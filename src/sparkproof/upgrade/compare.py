"""Everything that bites one deployment between two releases, sorted by how it is felt."""

from __future__ import annotations

import re
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
from sparkproof.upgrade.reported import compare_reports
from sparkproof.upgrade.sizes import compare_sizes
from sparkproof.upgrade.view import Case
from sparkproof.upgrade.words import compare_words

_ORDER = tuple(Bite)
_TOLD_BY = {
    "architecture": "architecture",
    "kv-cache": "--kv-cache-dtype",
    "quantization-flag": "--quantization",
    "drafter": "--speculative-config",
}
"""Subjects of a proof that a flag or the registry tells of by itself."""
_KV_CACHE, _ATTENTION = "kv-cache", ("attention-kernel", "draft-attention")
"""A cache format that is refused leaves attention without a backend: one cause."""


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
            *compare_reports(case),
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
    stops = [change for _, change in rows if change.bite is Bite.WONT_START]
    surface = [change for change in stops if change.rests_on == "release surface"]
    flags = {edit.name for change in surface for edit in change.edits}
    flags |= {change.subject.partition(".")[0] for change in surface if _is_flag(change.subject)}
    if any(change.subject == _KV_CACHE for change in stops):
        flags.add(_KV_CACHE)
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
    subject = change.subject.split()[0]
    if subject in _ATTENTION and flags & {_KV_CACHE, _TOLD_BY[_KV_CACHE]}:
        return True
    kind = _TOLD_BY.get(subject, "")
    return named or kind in flags or any(_names(change.message, flag) for flag in flags)


def _is_flag(subject: str) -> bool:
    return subject.startswith("--")


def _names(message: str, flag: str) -> bool:
    """Whether a message speaks of the flag itself, and not of a longer one."""
    return _is_flag(flag) and bool(re.search(rf"{re.escape(flag)}(?![\w-])", message))


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
