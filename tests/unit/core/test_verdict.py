"""The fold and what it ends in."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import ExitCode
from sparkproof.core.verdict import Verdict, exit_code, fold

P, F, I, S, E = (
    Verdict.PASS,
    Verdict.FAIL,
    Verdict.INCONCLUSIVE,
    Verdict.SKIPPED,
    Verdict.ERROR,
)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], S),
        ([S, S], S),
        ([S, P], P),
        ([P, I], I),
        ([I, F, P], F),
        ([F, E, I, P, S], E),
    ],
)
def test_the_worst_answer_wins_and_skipped_is_neutral(
    verdicts: list[Verdict], expected: Verdict
) -> None:
    assert fold(verdicts) is expected


def test_every_verdict_has_an_exit_code() -> None:
    assert {verdict: exit_code(verdict) for verdict in Verdict} == {
        P: ExitCode.PASS,
        S: ExitCode.PASS,
        F: ExitCode.FAIL,
        I: ExitCode.INCONCLUSIVE,
        E: ExitCode.COULD_NOT_LOOK,
    }
