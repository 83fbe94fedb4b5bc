"""Each class of verdict, and how often chance alone would give one."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest

from sparkproof.core.identities import CHOSEN, Identities
from sparkproof.core.results.bench import Spread
from sparkproof.core.results.compare import Figure, Measured, Relation
from sparkproof.receipts.compare import beyond_spread, compare, compare_pair

STATED = {
    "checkpoint": "qwen3.6-35b-w4a4",
    "artifact": "vllm/vllm-openai@sha256:aaaa",
    "arguments": "--max-model-len 262144",
    "environment": "",
    "box": "spark-1",
    "load": "0123456789ab",
    "tool": "sparkproof bench 0.1",
}


def spread(*values: float) -> Spread:
    return Spread(statistics.median(values), min(values), max(values), values)


def measured(*values: float, loaded: bool = False, sound: bool = True, **changes: Any) -> Measured:
    derived = changes.pop("derived", {"vllm": "0.33.0"})
    contents = changes.pop("contents", {})
    command = changes.pop("command", "bench")
    chosen = {role: changes.get(role, STATED[role]) for role in CHOSEN}
    stated = {role: value for role, value in chosen.items() if value is not None}
    figure = Figure(where="answer, 6000 deep, 1 at once", name="decode", spread=spread(*values))
    return Measured(
        receipt=f"r{values[0]:g}",
        command=command,
        created_at="2026-11-29T00:00:00Z",
        sound=sound,
        loaded=loaded,
        identities=Identities(stated, derived, contents),
        figures=(figure,),
    )


BASE = measured(62.0, 61.5, 62.3)
SLOW = (23.5, 23.4, 23.9)


@pytest.mark.parametrize(
    ("other", "relation"),
    [
        (measured(*SLOW, artifact="vllm@sha256:bbbb"), Relation.BECAUSE),
        (measured(*SLOW, arguments="--enforce-eager"), Relation.BECAUSE),
        (measured(*SLOW, box="spark-2"), Relation.BECAUSE),
        (measured(*SLOW, artifact="b", arguments="c"), Relation.CANNOT_ATTRIBUTE),
        (measured(*SLOW, artifact="b", tool="llama-benchy 0.4"), Relation.CANNOT_ATTRIBUTE),
        (measured(*SLOW, artifact="b", box=None), Relation.CANNOT_ATTRIBUTE),
        (measured(*SLOW, box=None), Relation.CANNOT_ATTRIBUTE),
        (measured(62.1, 61.4, 62.2, artifact="b"), Relation.NO_DIFFERENCE),
        (measured(62.1, 61.4, 62.2), Relation.NO_DIFFERENCE),
        (measured(*SLOW), Relation.UNEXPLAINED),
        (measured(*SLOW, load="ffff"), Relation.NOT_COMPARABLE),
        (measured(*SLOW, tool="llama-benchy 0.4"), Relation.NOT_COMPARABLE),
        (measured(*SLOW, loaded=True), Relation.NOT_COMPARABLE),
        (measured(*SLOW, sound=False), Relation.NOT_COMPARABLE),
        (measured(*SLOW, command="soak"), Relation.NOT_COMPARABLE),
        (measured(23.5, artifact="b"), Relation.NO_SPREAD),
    ],
)
def test_each_class(other: Measured, relation: Relation) -> None:
    pair = compare_pair(BASE, other)
    assert pair.relation is relation, pair.reason


def test_because_names_the_cause_and_tells_the_derived_as_how() -> None:
    other = measured(*SLOW, artifact="vllm@sha256:bbbb", derived={"vllm": "0.1.dev18498"})
    pair = compare_pair(BASE, other)
    assert pair.because == "artifact"
    assert [(d.role, d.first, d.second) for d in pair.derived] == [
        ("vllm", "0.33.0", "0.1.dev18498")
    ]
    (change,) = pair.changes
    assert change.better is False
    assert change.ratio == pytest.approx(0.379, abs=0.001)


def test_two_names_of_one_content_are_one_thing() -> None:
    one = measured(62.0, 61.5, 62.3, contents={"artifact": "sha256:c"})
    other = measured(*SLOW, artifact="mirror/vllm@sha256:bbbb", contents={"artifact": "sha256:c"})
    pair = compare_pair(one, other)
    assert pair.chosen == ()
    assert pair.relation is Relation.UNEXPLAINED
    renamed = measured(62.1, 61.9, 62.0, artifact="mirror", contents={"artifact": "sha256:d"})
    assert [d.role for d in compare_pair(one, renamed).chosen] == ["artifact"]


def test_the_missing_experiment_changes_one_thing_at_a_time() -> None:
    pair = compare_pair(BASE, measured(*SLOW, artifact="b", arguments="--enforce-eager"))
    wanted = "the first with only its {} changed: `{}` in place of `{}`"
    assert pair.experiments == (
        wanted.format("artifact", "b", STATED["artifact"]),
        wanted.format("arguments", "--enforce-eager", STATED["arguments"]),
    )


def test_the_field_guides_own_three_rows_can_not_be_attributed() -> None:
    """W4A4 on the native path, loaded; W4A16 on Marlin, idle, another tool; an older one again."""
    ours = measured(82.2, 79.0, 97.6, loaded=True, checkpoint="W4A4", tool="script 2026-07")
    published = measured(102.0, 101.0, 103.0, checkpoint="W4A16", tool="vlaicu", box="other")
    historical = measured(102.7, 102.0, 103.0, checkpoint="W4A16", tool="script 2026-06")
    result = compare([ours, published, historical])
    assert {pair.relation for pair in result.pairs} == {Relation.CANNOT_ATTRIBUTE}
    for pair in result.pairs:
        assert pair.because == ""
        assert any(step.startswith("measure both in the same way") for step in pair.experiments)
        assert any("only its checkpoint changed: `W4A16`" in step for step in pair.experiments)


def test_within_the_spread_nothing_is_seen() -> None:
    assert not beyond_spread(spread(100, 95, 105), spread(110, 106, 112))
    assert beyond_spread(spread(100, 99, 101), spread(110, 109, 111))
    assert not beyond_spread(spread(100, 100, 100), spread(100.5, 100.5, 100.5))


@pytest.mark.parametrize("repeats", [3, 4, 5])
def test_chance_alone_is_rarely_taken_for_a_difference(repeats: int) -> None:
    pick = random.Random(7)

    def draw(middle: float) -> Spread:
        return spread(*(pick.gauss(middle, 3) for _ in range(repeats)))

    assert sum(beyond_spread(draw(100), draw(100)) for _ in range(20_000)) / 20_000 < 0.002
    assert sum(beyond_spread(draw(100), draw(140)) for _ in range(1000)) / 1000 > 0.9
