"""The table of benchmarks/results/faults.json, for docs/testing.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.fault_cases import CASES, GATES

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


def draw(found: dict[str, Any], page: Path) -> None:
    """Put the table between the marks of the page."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(before + BEGIN + "\n" + "\n".join(lines(found)) + "\n" + END + after)


def lines(found: dict[str, Any]) -> list[str]:
    told = [f"{found['server']}; {found['machine']}; {found['date']}.", ""]
    told += ["| fault | " + " | ".join(GATES) + " |", "|---|" + "---|" * len(GATES)]
    rows = {row["fault"] for row in found["rows"]}
    specs = [case.spec for case in CASES if case.spec in rows]
    for spec in specs:
        told.append(
            f"| `{spec}` | " + " | ".join(_cell(found, spec, gate) for gate in GATES) + " |"
        )
    told += [
        "",
        "Bold: the gate meant for it. Left out: what the clean server says too, and the",
        "client's own lag on that machine (`bench/client-saturated`).",
        "",
    ]
    told += [f"- {line}" for line in _clean(found)]
    return told


def _cell(found: dict[str, Any], spec: str, gate: str) -> str:
    rows = [r for r in found["rows"] if (r["fault"], r["gate"]) == (spec, gate)]
    if not rows:
        return "not asked"
    row = rows[0]
    said = "refuses to measure" if row.get("error") else _said(row, gate)
    if not row["meant"]:
        return said
    if row.get("figure"):
        chunk = row["figure"]["tokens_per_chunk"]
        return f"**{'not fooled' if row['caught'] else 'fooled'}** ({chunk:.1f} tokens a chunk)"
    return f"**{said if row['caught'] else 'missed'}**"


def _said(row: dict[str, Any], gate: str) -> str:
    names = ", ".join(rule.removeprefix(f"{gate}/") for rule in row["fired"])
    return names or ("fails" if row["verdict"] == "fail" else "-")


def _clean(found: dict[str, Any]) -> list[str]:
    told = []
    if "aa" in found:
        aa = found["aa"]
        said = "; ".join(f"{n} x {key}" for key, n in aa["said"].items())
        told.append(
            f"`ab --aa` through the clean proxy, {aa['runs']} times {aa['prompts']} prompts: "
            f"{aa['false_alarms']} false alarms ({said})."
        )
    told += [
        f"`corrupt:{row['share']}` against `--detect {row['detect']} --power {row['stated']}` "
        f"at {row['prompts']} prompts ({row['server']}): caught in {row['caught']} of "
        f"{row['runs']} runs; {row['struck_in_none']} of them had no corrupted answer."
        for row in found.get("power", ())
    ]
    if "batch_1" in found:
        said = ", ".join(found["batch_1"]["said"])
        told.append(f"`corrupt-above:8` with `ab --concurrency 1`, batch 1 alone: {said}.")
    if "again" in found:
        rows = found["again"]["said"].items()
        said = "; ".join(f"{gate}: {_counts(counts)}" for gate, counts in rows)
        told.append(f"The other gates, {found['again']['runs']} times each, clean: {said}.")
    return told


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} x {key}" for key, n in counts.items())
