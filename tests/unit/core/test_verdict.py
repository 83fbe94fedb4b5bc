"""The fold and what it ends in."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import ExitCode
from sparkproof.core.verdict import Verdict, exit_code, fold

P = Verdict.PASS
F = Verdict.FAIL
INC = Verdict.INCONCLUSIVE
S = Verdict.SKIPPED
E = Verdict.ERROR


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], S),
        ([S, S], S),
        ([S, P], P),
        ([P, INC], INC),
        ([INC, F, P], F),
        ([F, E, INC, P, S], E),
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
        INC: ExitCode.INCONCLUSIVE,
        E: ExitCode.COULD_NOT_LOOK,
    }
