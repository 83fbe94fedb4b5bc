"""How often the first answer names the cause, beside other tools on the same inputs.

    python benchmarks/diagnosis.py [--minefield PROGRAM] [--sparkrun PYTHON] [HEALTHY_LOG ...]

Inputs: the recorded failures of ``tests/data/logs`` (public threads, each with its source), and
for us alone the collected and the blind ones, which were gathered later. We get the log fragment
alone; Minefield gets the symptom in words besides, as its command line wants one; sparkrun's
hints get the fragment. Where a record has no log text, abstaining is all that a log reader can do.

Ours is scored by class, automatically: ``kind only`` says what happened, or what requests failed
of, and names no cause of the server's; ``related`` names what is a part of it; where an error
arose (``place/``) is no more than abstaining, which is right where the thread settles nothing.
What an earlier catalogue did with the same records: ``git worktree add ../before COMMIT``, then
this with ``PYTHONPATH=../before/src``.

Minefield names traps, not classes: its first answers
were read and judged by hand (2026-11-29, version 0.2.2); what isn't listed as ``related``
is about something else. Healthy logs count how often a tool names anything.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from sparkproof.bootlog.diagnosis import diagnose
from sparkproof.bootlog.probes import signature_probes
from sparkproof.core.errors import FormatError
from sparkproof.core.results.log import Diagnosis
from sparkproof.facts.book import signatures
from sparkproof.facts.log_book import log_lines
from sparkproof.formats.vllm_log.phrases import PhraseIndex
from sparkproof.formats.vllm_log.reader import read_log

LOGS = Path(__file__).parents[1] / "tests" / "data" / "logs"
RECORDS = LOGS / "recorded-failures.json"
COLLECTED = LOGS / "collected-failures.json"
BLIND = LOGS / "blind-failures.json"
HEALTHY = LOGS / "healthy-boots.json"
MINEFIELD_RELATED = frozenset(
    {
        "f-ptx-forwardcompat",
        "f-ptxas-mineru",
        "f-nokernel-seed-0251",
        "f-sglang-rankcrash",
        "f-ima-37035",
        "f-max-tokens",
        "f-cutedsl-warmup",
        "f-locked-ws",
        "f-effort-400",
        "f-wrong-parser",
        "f-garbage-cubin120",
        "f-neggraph-44740",
        "f-placeholder-57562",
        "f-ptxas-cutedsl",
    }
)
_HINT = (
    "import sys; from sparkrun.orchestration.launch_diagnostics import diagnose_launch_failure;"
    "print(bool(diagnose_launch_failure(sys.stdin.read())))"
)


def ours(index: PhraseIndex, text: str) -> Diagnosis | None:
    try:
        boot = read_log([text.encode()], index, "log").boots[-1]
    except FormatError:
        return None
    return diagnose(boot, signatures().values(), "log")


def score_ours(index: PhraseIndex, record: dict[str, Any]) -> str:
    found = ours(index, "\n".join(record.get("log_fragment", ())))
    right = record.get("classes", [record.get("failure_class")])
    related = record.get("related", [])
    if found and found.cause:
        named = found.cause.failure_class
        return "cause" if named in right else "related" if named in related else "wrong"
    told = (*found.kinds, *found.requests) if found else ()
    kinds = {k.failure_class for k in told if not k.signature.startswith("place/")}
    if "related" in record and right and kinds and not kinds & {*right, *related}:
        return "wrong"
    return "kind only" if kinds else "abstains"


def score_minefield(program: str, symptom: str, log: str) -> str | None:
    argv = [program, "guide", "--json", "--limit", "1", *(["--log", log] if log else []), symptom]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    matches = json.loads(done.stdout).get("matches") if done.stdout.startswith("{") else None
    return str(matches[0]["title"]) if matches else None


def score_sparkrun(python: str, log: str) -> bool:
    done = subprocess.run(
        [python, "-c", _HINT], input=log, capture_output=True, text=True, check=True
    )
    return done.stdout.strip() == "True"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minefield", default="", help="its program, in an environment of its own")
    parser.add_argument("--sparkrun", default="", help="a Python that has it")
    parser.add_argument("healthy", nargs="*", type=Path)
    options = parser.parse_args()
    index = PhraseIndex(log_lines(), signature_probes(signatures().values()))
    records = json.loads(RECORDS.read_text())["records"]
    tables: dict[str, Counter[str]] = {}
    for record in records:
        log = "\n".join(record.get("log_fragment", ()))
        part = record["part"] if log else f"{record['part']}, no log text"
        tables.setdefault(f"sparkproof, {part}", Counter())[score_ours(index, record)] += 1
        if options.minefield:
            title = score_minefield(options.minefield, record["symptom"], log)
            related = "related" if record["id"] in MINEFIELD_RELATED else "wrong"
            tables.setdefault("minefield, all", Counter())[related if title else "abstains"] += 1
        if options.sparkrun:
            hit = score_sparkrun(options.sparkrun, log)
            tables.setdefault("sparkrun hints, all", Counter())[
                "related" if hit else "abstains"
            ] += 1
    for name, path in (("collected", COLLECTED), ("blind", BLIND)):
        for record in json.loads(path.read_text())["records"]:
            part = record["part"] if record["classes"] else f"{record['part']}, no cause settled"
            tables.setdefault(f"sparkproof, {name}, {part}", Counter())[
                score_ours(index, record)
            ] += 1
    print_tables(tables)
    print_well(index)
    print_healthy(index, options)


def print_tables(tables: dict[str, Counter[str]]) -> None:
    columns = ("cause", "kind only", "related", "abstains", "wrong")
    print("| tool, part | records | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 2) + "|")
    for name, counts in tables.items():
        cells = " | ".join(str(counts[column]) for column in columns)
        print(f"| {name} | {counts.total()} | {cells} |")


def print_well(index: PhraseIndex) -> None:
    records = json.loads(HEALTHY.read_text())["records"]
    found = [ours(index, "\n".join(record["lines"])) for record in records]
    named = sum(bool(d and (d.cause or d.rivals)) for d in found)
    kinds = sum(bool(d and d.kinds) for d in found)
    print(f"\n{len(records)} boots that went well: a cause on {named}, a kind on {kinds}")


def print_healthy(index: PhraseIndex, options: argparse.Namespace) -> None:
    if not options.healthy:
        return
    named = mined = 0
    for path in options.healthy:
        text = path.read_text(errors="replace")
        found = ours(index, text)
        named += bool(found and (found.cause or found.rivals))
        if options.minefield:
            tail = text[-4000:]
            mined += bool(score_minefield(options.minefield, "is this boot healthy", tail))
    print(f"\n{len(options.healthy)} healthy logs: sparkproof names a cause on {named}", end="")
    print(f", minefield a trap on {mined}" if options.minefield else "")


if __name__ == "__main__":
    main()
