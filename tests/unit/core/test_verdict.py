"""The fold and what it ends in."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import ExitCode
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.verdict import Verdict, criteria_of_errors, exit_code, fold

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


def finding(severity: Severity) -> Finding:
    return Finding("checkpoint/refused", severity, Confidence.SHOWN, "it is wrong", subject="mlp")


def test_only_an_error_is_a_failed_criterion() -> None:
    [found] = criteria_of_errors([finding(severity) for severity in Severity])
    assert (found.name, found.verdict, found.reason) == (
        "checkpoint/refused",
        F,
        "mlp: it is wrong",
    )
