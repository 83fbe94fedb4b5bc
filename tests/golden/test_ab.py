"""What ``ab`` prints of a faster treatment that corrupts, and of a harmless one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.contract.ab_arms import CONTROL, arm, run
from tests.golden.conftest import Golden
from tests.unit.gates.test_ab_judge import rounds

from sparkproof.gates.ab_judge import derive
from sparkproof.render.ab_html import ab_page
from sparkproof.render.ab_text import render_ab
from sparkproof.render.lines import plain_text
from sparkproof.render.report_text import render_frame
from sparkproof.usecases.ab.cause import attribute
from sparkproof.usecases.ab.report import report_ab


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("corrupts", {"corrupts": 0.3, "behaviour": {"drafts": True}}),
        ("harmless", {"ties": 0.3, "tie_falls": True}),
    ],
)
def test_ab(name: str, wrong: dict[str, Any], tmp_path: Path, golden: Golden) -> None:
    ties = wrong.get("ties", 0.0)
    result = run(tmp_path, arm(CONTROL, ties=ties), arm(started=5, **wrong), rounds=3).result
    assert result is not None
    timed = msgspec.structs.replace(
        result,
        plan=msgspec.structs.replace(result.plan, speed=True),
        passes=rounds((127.0, 128.0, 126.0)),  # as if the machine had been quiet
        records="ab-records.jsonl",
    )
    report = report_ab(attribute(derive(timed)))
    assert report.result is not None
    body = render_ab(report.result, report.criteria)
    golden(f"live/ab-{name}.txt", plain_text(render_frame(report, body)))
    page = ab_page(report)
    assert page.count("<figure>") == 3
    assert "faster by 27 %" in page
