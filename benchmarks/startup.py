"""How long the quick commands take, against importing click: interleaved, in fresh processes.

    python benchmarks/startup.py [RUNS]

Prints medians of seconds on the clock and on the processor, and how many times as long as
importing click ``sparkproof --help`` takes (at most 3 is promised). On a machine that others use,
the processor's seconds are the ones to compare.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

_MAIN = "from sparkproof.cli.main import main; main()"
_COMPLETION = {
    "_SPARKPROOF_COMPLETE": "bash_complete",
    "COMP_WORDS": "sparkproof rel",
    "COMP_CWORD": "1",
}
_COMMANDS = (
    "--version",
    "--help",
    "release 0.33.0",
    "release diff 0.32.0 0.33.0",
    "explain --moe-backend",
    "facts list",
)
RESULT = Path(__file__).parent / "results" / "startup.json"


class Taken(NamedTuple):
    """Seconds of one process."""

    wall_s: float
    cpu_s: float


def _cases() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Arguments of the interpreter and additions to the environment, by name."""
    cases: dict[str, tuple[list[str], dict[str, str]]] = {
        "interpreter": (["-c", "pass"], {}),
        "import click": (["-c", "import click"], {}),
        "completion of a word": (["-c", _MAIN], _COMPLETION),
    }
    return cases | {
        f"sparkproof {words}": (["-c", _MAIN, *words.split()], {}) for words in _COMMANDS
    }


def take(arguments: list[str], extra: dict[str, str]) -> Taken:
    """What one fresh interpreter takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, env=os.environ | extra, check=True
    )
    wall_s = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(wall_s, used_s)


def measure(runs: int) -> dict[str, Taken]:
    """Medians by case; the cases take turns, so that other load hits all of them."""
    taken: dict[str, list[Taken]] = {name: [] for name in _cases()}
    for _ in range(runs):
        for name, (arguments, extra) in _cases().items():
            taken[name].append(take(arguments, extra))
    return {
        name: Taken(*(round(statistics.median(side), 4) for side in zip(*values, strict=True)))
        for name, values in taken.items()
    }


def main() -> None:
    """Measure, print, and keep the numbers."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    medians = measure(runs)
    ratio = medians["sparkproof --help"].cpu_s / medians["import click"].cpu_s
    for name, found in medians.items():
        print(f"{name:37} {found.wall_s * 1000:7.1f} ms, processor {found.cpu_s * 1000:7.1f} ms")
    print(f"{'ratio':37} {ratio:7.2f}    (at most 3)")
    RESULT.parent.mkdir(exist_ok=True)
    document = {
        "runs": runs,
        "median": {name: found._asdict() for name, found in medians.items()},
        "ratio": round(ratio, 3),
    }
    RESULT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
