"""Other planners on the same boots.

``python -m benchmarks.fit_peers`` makes a throwaway environment, installs them there and prints
the table. What is compared is the concurrency that the log prints: the pool, divided by what a
tool gives one request of the full context length.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.unit.memory.boots import DATA, Boot, read_boots

PACKAGES = ("kvfit==0.3.0", "hf-mem==0.5.6", "sparkfit==0.5.0")
SCRIPT = Path(__file__).parent / "peers" / "ask_peers.py"


def printed(boot: Boot) -> float:
    """Concurrency of the log, to its two decimals or from its tokens."""
    if boot.printed.concurrency:
        return boot.printed.concurrency
    return boot.printed.tokens / boot.shape().settings.max_model_len


def question(boot: Boot) -> dict[str, Any]:
    settings = boot.shape().settings
    return {
        "config": json.loads((DATA / "configs" / f"{boot.config}.json").read_bytes()),
        "length": settings.max_model_len,
        "element": int(settings.cache.element_bytes) or settings.model_bytes,
    }


def ours(boot: Boot) -> float:
    shape = boot.shape()
    pool = boot.pool_bytes
    return shape.printed(shape.blocks(pool), shape.settings.max_model_len)[1]


def compare(python: Path, boots: Sequence[Boot], title: str) -> None:
    done = subprocess.run(
        [str(python), str(SCRIPT)],
        input=json.dumps([question(boot) for boot in boots]),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[dict[str, float | str]] = json.loads(done.stdout)
    errors: dict[str, list[float]] = {"sparkproof": []}
    refused: dict[str, int] = {}
    for boot, row in zip(boots, answers, strict=True):
        truth = printed(boot)
        errors["sparkproof"].append(abs(ours(boot) / truth - 1))
        for tool, size in row.items():
            if isinstance(size, str) or size <= 0:
                refused[tool] = refused.get(tool, 0) + 1
                continue
            errors.setdefault(tool, []).append(abs(boot.pool_bytes / size / truth - 1))
    print(f"\n{title}: concurrency of {len(boots)} boots, given the pool")
    print(f"  {'tool':12} {'median error':>13} {'worst':>9} {'within 2 %':>11} {'refused':>8}")
    for tool, found in errors.items():
        near = sum(error <= 0.02 for error in found)
        print(
            f"  {tool:12} {100 * statistics.median(found):>11.1f} % {100 * max(found):>7.0f} %"
            f" {near:>11} {refused.get(tool, 0):>8}"
        )


def tables(python: Path, boots: Sequence[Boot]) -> None:
    compare(python, [boot for boot in boots if boot.device == "gb10"], "GB10")
    compare(
        python,
        [boot for boot in boots if boot.device != "gb10"],
        "other GPUs and CPU, half of them plain",
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        environment = Path(scratch) / "peers"
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        command = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]
        if subprocess.run(command, check=False).returncode:
            sys.exit("the peers can't be installed here")
        tables(python, read_boots())


if __name__ == "__main__":
    main()
