"""The page about faults says what the faults say of themselves, and what was measured."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.fault_page import lines

from sparkproof.testing.faults import FAULTS


def test_the_page_lists_every_fault_as_it_is(repository: Any) -> None:
    page = (repository.root / "docs" / "testing.md").read_text(encoding="utf-8")
    rows = [f"| `{name}` | `{fault.main}` | {fault.about} |" for name, fault in FAULTS.items()]
    assert [row for row in rows if row not in page] == []


def test_the_table_is_that_of_the_results(repository: Any) -> None:
    page = (repository.root / "docs" / "testing.md").read_text(encoding="utf-8")
    found = json.loads((repository.root / "benchmarks/results/faults.json").read_text())
    assert "\n".join(lines(found)) in page, "python -m benchmarks.faults page"


def test_every_fault_is_measured(repository: Any) -> None:
    found = json.loads((repository.root / "benchmarks/results/faults.json").read_text())
    struck = {row["fault"].partition(":")[0] for row in found["rows"] if row["meant"]}
    assert struck == set(FAULTS)
