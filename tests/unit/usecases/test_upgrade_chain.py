"""A jump over several releases tells what the single steps on the way tell, for every pair."""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from sparkproof.adapters.progress import NoProgress
from sparkproof.core.results.upgrade import Bite, Change
from sparkproof.facts.book import find_device
from sparkproof.upgrade.compare import Comparison, compare
from sparkproof.upgrade.reported import REPORTS
from sparkproof.upgrade.view import Case, View
from sparkproof.usecases.checkpoint_reading import read_from
from sparkproof.usecases.fit.inputs import read_deployment
from sparkproof.usecases.upgrade.sides import Opener, shipped_surface, shipped_versions
from sparkproof.usecases.upgrade.views import Subject, model_of, view_of

DATA = Path(__file__).parents[2] / "data" / "upgrade"
TOUCHED_BY = {"kv line": "kv pool"}
"""What counts tokens otherwise is told of the pool itself, where that differs as well."""
Key = tuple[Bite, str]


class Chain:
    """One deployment on every shipped release."""

    def __init__(self, name: str) -> None:
        deployment = read_deployment(DATA / f"{name}.toml")
        checkpoint = read_from(deployment.checkpoint, offline=True)
        self.subject = Subject(deployment, checkpoint)
        self.opener = Opener(
            find_device(deployment.device).capability,
            deployment.box,
            (checkpoint.profile,),
            surfaces=shipped_surface,
            cache=None,
            offline=True,
            progress=NoProgress(),
        )
        self.view, self.step = cache(self._view), cache(self._step)

    def _view(self, version: str, given_pool: bool) -> View:
        side = self.opener.open(version, by_number=True)
        return view_of(self.subject, side, given_pool=given_pool)

    def _step(self, old: str, new: str) -> Comparison:
        before = self.view(old, False)
        sides = [self.opener.open(version, by_number=True) for version in (old, new)]
        case = Case(
            deployment=self.subject.deployment,
            model=model_of(self.subject.checkpoint),
            capability=self.opener.capability,
            before=before,
            after=self.view(new, before.given_pool),
            born=self.opener.born(*sides),
        )
        return compare(case)


def on_the_way(chain: Chain, releases: tuple[str, ...]) -> dict[Key, list[Change]]:
    found: dict[Key, list[Change]] = {}
    for old, new in pairwise(releases):
        for change in chain.step(old, new).changes:
            found.setdefault((change.bite, change.subject), []).append(change)
    return found


def lost(told: dict[Key, list[Change]], jump: Comparison) -> set[Key]:
    """What the steps tell and the jump does not, but for what was taken back on the way.

    Reports speak of the release that is asked about, and not of those on the way.
    """
    kept = {
        key
        for key, row in told.items()
        if row[0].before != row[-1].after and row[0].rests_on != REPORTS
    }
    known = {(change.bite, change.subject) for change in (*jump.changes, *jump.standing)}
    return {(b, s) for b, s in kept - known if (b, TOUCHED_BY.get(s, s)) not in known}


@pytest.mark.parametrize("name", ["q36-ngram", "dj-super", "q3-medusa", "q35-fp8"])
def test_a_jump_tells_what_its_steps_tell(name: str) -> None:
    chain = Chain(name)
    versions = shipped_versions()
    for first, last in combinations(range(len(versions)), 2):
        told = on_the_way(chain, versions[first : last + 1])
        jump = chain.step(versions[first], versions[last])
        where = f"{versions[first]} -> {versions[last]}"
        assert not lost(told, jump), where
        assert {(change.bite, change.subject) for change in jump.changes} <= told.keys(), where


def test_an_option_that_came_on_the_way_counts_from_where_it_came() -> None:
    chain = Chain("q36-ngram")
    [jump] = [
        change
        for change in chain.step("0.28.0", "0.30.0").changes
        if change.subject == "--prefix-cache-retention-interval"
    ]
    [step] = [
        change
        for change in chain.step("0.29.0", "0.30.0").changes
        if change.subject == "--prefix-cache-retention-interval"
    ]
    assert (jump.before, jump.after) == (step.before, step.after)
    assert "came with in 0.29.0" in jump.message
    assert "came with" not in step.message
