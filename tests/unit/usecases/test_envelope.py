"""The law of every report: what holds an error does not pass."""

from __future__ import annotations

import pytest

from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.usecases.envelope import make_report

STORED = Finding(
    "checkpoint/stored-otherwise", Severity.ERROR, Confidence.SHOWN, "stored otherwise", "mlp"
)
COSTLY = Finding("deliver/ptx-jit", Severity.WARNING, Confidence.SHOWN, "comes as PTX")


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.SKIPPED, Verdict.INCONCLUSIVE])
def test_a_report_with_an_error_fails_and_says_so_first(verdict: Verdict) -> None:
    criteria = (Criterion("select/mlp", verdict, "as it is"),)
    found = make_report(
        "prove", None, verdict=verdict, summary="fine", criteria=criteria, findings=(STORED,)
    )
    assert (found.verdict, found.summary) == (Verdict.FAIL, "mlp: stored otherwise")
    assert [item.name for item in found.criteria] == ["select/mlp", STORED.rule]


@pytest.mark.parametrize(
    ("verdict", "finding"),
    [(verdict, COSTLY) for verdict in Verdict]
    + [(verdict, STORED) for verdict in (Verdict.FAIL, Verdict.ERROR)],
)
def test_all_other_reports_stay_as_they_are(verdict: Verdict, finding: Finding) -> None:
    found = make_report("prove", None, verdict=verdict, summary="as judged", findings=(finding,))
    assert (found.verdict, found.summary, found.criteria) == (verdict, "as judged", ())
