"""Device code of one wheel: our reader against unpacking it for NVIDIA's ``cuobjdump``.

Usage: ``python benchmarks/device_code.py [--wheel FILE] [--rounds 3]``. Without a file the vLLM
wheel of the issue is taken from the cache, or fetched into it. Rounds are interleaved, so that
drift of the machine touches all arms; whole processes are timed, interpreter start included.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.core.target import Target

REQUIREMENT = "vllm==0.33.0"
RESULTS = Path(__file__).parent / "results" / "device_code.json"
TARGETS = {"arch list": (1 / 6, 80), "verdict for 12.1": (1 / 2, 250)}
"""Arm: (time as a share of the pair's at most, MB of memory at most)."""

ARMS = {"arch list": "", "verdict for 12.1": "12.1"}

WORKER = """
import sys
from functools import partial
from sparkproof.adapters.open_artifact import reopen
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.ports import ArtifactLocation
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.judge import judge_device_code
from sparkproof.devicecode.routes import route_families

path, device = sys.argv[1], ComputeCapability.parse(sys.argv[2]) if sys.argv[2] else None
open_it = partial(reopen, ArtifactLocation("wheel", path, "wheel"))
code = read_device_code(open_it(), device, more_doors=[open_it])
entries = [e for lib in code.libraries for c in lib.containers for e in c.entries]
if device:
    routes = route_families(code, device)
    print(sum(r.kernels for r in routes), len(judge_device_code(code, routes, device)))
else:
    print(len(entries), len({(e.kind, e.arch) for e in entries}))
"""


def cuobjdump() -> Path:
    """The binary of the package ``nvidia-cuda-cuobjdump``, a test oracle."""
    files = importlib.metadata.files("nvidia-cuda-cuobjdump") or []
    return Path(next(str(f.locate()) for f in files if f.name == "cuobjdump"))


class Run(NamedTuple):
    """One process: wall and processor seconds, peak MB, file-system blocks that it wrote."""

    seconds: float
    cpu_s: float
    memory_mb: float
    blocks: int


def run(command: list[str], *, may_fail: bool = False) -> Run:
    """Run it to its end."""
    errors = subprocess.DEVNULL if may_fail else None
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and not may_fail:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Run(seconds, cpu_s, usage.ru_maxrss * 1024 / 1e6, usage.ru_oublock)


def pair(wheel: Path) -> dict[str, float]:
    """Unpack the libraries, list their cubins one by one."""
    tool = str(cuobjdump())
    with tempfile.TemporaryDirectory() as folder:
        unzip = run(["unzip", "-q", "-o", str(wheel), "*.so", "-d", folder])
        libraries = sorted(Path(folder).rglob("*.so"))
        # It fails on a library without device code.
        lists = [run([tool, "--list-elf", str(lib)], may_fail=True) for lib in libraries]
        disk = sum(library.stat().st_size for library in libraries)
    return {
        "seconds": sum(one.seconds for one in (unzip, *lists)),
        "cpu_s": sum(one.cpu_s for one in (unzip, *lists)),
        "memory_mb": max(one.memory_mb for one in (unzip, *lists)),
        "disk_mb": disk / 1e6,
    }


def ours(wheel: Path, device: str) -> dict[str, float]:
    """One process, two threads; its peak is all the memory there is."""
    one = run([sys.executable, "-c", WORKER, str(wheel), device])
    return one._asdict() | {"disk_mb": one.blocks * 512 / 1e6}


def measure(wheel: Path, rounds: int) -> dict[str, list[dict[str, float]]]:
    """All arms, interleaved, after one unrecorded reading that warms the file cache."""
    ours(wheel, "")
    arms: dict[str, list[dict[str, float]]] = {arm: [] for arm in ("unzip + cuobjdump", *ARMS)}
    for _ in range(rounds):
        arms["unzip + cuobjdump"].append(pair(wheel))
        for arm, device in ARMS.items():
            arms[arm].append(ours(wheel, device))
    return arms


def median(rows: list[dict[str, float]], key: str) -> float:
    """Of one number over the rounds."""
    return statistics.median(row[key] for row in rows)


def summarise(arms: dict[str, list[dict[str, float]]]) -> list[dict[str, Any]]:
    """One row an arm: medians, the share of the pair's time, and whether the target is met."""
    base = median(arms["unzip + cuobjdump"], "seconds")
    rows = []
    for arm, found in arms.items():
        seconds, memory = median(found, "seconds"), max(row["memory_mb"] for row in found)
        row: dict[str, Any] = {
            "arm": arm,
            "median_s": round(seconds, 3),
            "cpu_s": round(median(found, "cpu_s"), 3),
            "lowest_s": round(min(r["seconds"] for r in found), 3),
            "share_of_pair": round(seconds / base, 4),
            "peak_memory_mb": round(memory, 1),
            "disk_mb": round(max(r["disk_mb"] for r in found), 1),
        }
        if arm in TARGETS:
            share, limit = TARGETS[arm]
            row["target"] = f"<= 1/{round(1 / share)} of the time, < {limit} MB"
            row["met"] = bool(seconds <= base * share and memory < limit and not row["disk_mb"])
        rows.append(row)
    return rows


def wheel_of_the_issue() -> Path:
    """From the cache, or fetched through pip's own configuration."""
    _, artifact = open_artifact(REQUIREMENT, Target(platform="aarch64", python="3.12"))
    local = artifact.localize()
    if local.location is None:
        raise SystemExit("the wheel can't be had")
    return Path(local.location.path)


def main() -> None:
    """Measure, print the table, write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not shutil.which("unzip"):
        raise SystemExit("unzip is missing")
    wheel: Path = options.wheel or wheel_of_the_issue()
    rows = summarise(measure(wheel, options.rounds))
    for row in rows:
        print(
            f"{row['arm']:20} {row['median_s']:7.2f} s  {row['share_of_pair']:6.3f} of the pair"
            f"  {row['cpu_s']:6.2f} s of processor"
            f"  {row['peak_memory_mb']:7.1f} MB  {row['disk_mb']:6.1f} MB on disk"
            f"  {row.get('met', '')}"
        )
    report = {
        "wheel": wheel.name,
        "wheel_mb": round(wheel.stat().st_size / 1e6, 1),
        "rounds": options.rounds,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cuobjdump": importlib.metadata.version("nvidia-cuda-cuobjdump"),
        "page_bytes": resource.getpagesize(),
        "arms": rows,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
