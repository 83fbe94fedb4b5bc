"""The second proof of the same artifact against the first.

Usage: ``python benchmarks/second_prove.py [--rounds 5]``. The wheel is taken from the cache, or
fetched into it. Whole processes are timed, in turns: with nothing remembered, with what the run
before left, and that offline, which leaves pip's own question out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from sparkproof.adapters.open_artifact import open_artifact

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "qwen3.6-35b-a3b-w4a4" / "deployment.toml"
RESULTS = Path(__file__).parent / "results" / "second_prove.json"
ARMS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "nothing remembered": ({"SPARKPROOF_NO_MEMORY": "1"}, ()),
    "remembered": ({}, ()),
    "remembered, offline": ({}, ("--offline",)),
}


def run(arm: str) -> tuple[float, dict[str, object]]:
    """Seconds, and the answer without its moment."""
    environment, options = ARMS[arm]
    command = [sys.executable, "-m", "sparkproof", "prove", str(EXAMPLE), "--json", "--no-receipt"]
    started = time.perf_counter()
    done = subprocess.run(
        [*command, *options], env={**os.environ, **environment}, capture_output=True, check=True
    )
    seconds = time.perf_counter() - started
    answer = json.loads(done.stdout)
    answer.pop("generated_at")
    return seconds, answer


def main() -> None:
    """Measure, compare the answers, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    open_artifact("vllm==0.33.0", whole=True)[1].close()
    run("remembered")
    times: dict[str, list[float]] = {arm: [] for arm in ARMS}
    answers = []
    for _ in range(rounds):
        for arm in ARMS:
            seconds, answer = run(arm)
            times[arm].append(seconds)
            answers.append(answer)
    if any(answer != answers[0] for answer in answers):
        sys.exit("a remembered answer differs from a fresh one")
    base = statistics.median(times["nothing remembered"])
    rows = [
        {
            "arm": arm,
            "seconds": round(statistics.median(found), 2),
            "of the first": round(statistics.median(found) / base, 3),
        }
        for arm, found in times.items()
    ]
    RESULTS.write_text(json.dumps({"rounds": rounds, "rows": rows}, indent=1) + "\n")
    for row in rows:
        sys.stdout.write(f"{row['arm']:24} {row['seconds']:6} s  {row['of the first']:6}\n")


if __name__ == "__main__":
    main()
