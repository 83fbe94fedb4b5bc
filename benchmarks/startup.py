"""How long ``sparkproof --help`` takes, against importing click: interleaved, in fresh processes.

    python benchmarks/startup.py [RUNS]

Prints medians, the ratio (at most 3 is promised) and the interpreter's own share.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

HELP = "import sys; sys.argv = ['sparkproof', '--help']; from sparkproof.cli.main import main; "
CASES = {
    "interpreter": "pass",
    "import click": "import click",
    "sparkproof --help": HELP + "main()",
}
RESULT = Path(__file__).parent / "results" / "startup.json"


def seconds(code: str) -> float:
    """Wall time of one fresh interpreter running `code`."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def measure(runs: int) -> dict[str, float]:
    """Median seconds by case; the cases take turns, so that other load hits all of them."""
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(runs):
        for name, code in CASES.items():
            taken[name].append(seconds(code))
    return {name: statistics.median(values) for name, values in taken.items()}


def main() -> None:
    """Measure, print, and keep the numbers."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    medians = measure(runs)
    ratio = medians["sparkproof --help"] / medians["import click"]
    for name, value in medians.items():
        print(f"{name:20} {value * 1000:7.1f} ms")
    print(f"{'ratio':20} {ratio:7.2f}    (at most 3)")
    RESULT.parent.mkdir(exist_ok=True)
    document = {"runs": runs, "median_s": medians, "ratio": round(ratio, 3)}
    RESULT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
