"""A 10 GB image: our judgement of it against the time that inflating its layers takes.

Usage: ``python benchmarks/image.py --wheels FOLDER [--image FOLDER] [--rounds 3]``. The image is
made once from the real wheels of a folder (vLLM, flashinfer-cubin, and others as ballast) and
kept in ``--image``. Whole processes are timed, interpreter start included; arms are interleaved.
The baseline inflates every layer with the same library and does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sparkproof.adapters.zip_artifact import open_wheel
from sparkproof.testing import images
from sparkproof.testing.images import Entry, ImageFolder

RESULTS = Path(__file__).parent / "results" / "image.json"
SITE = "usr/local/lib/python3.12/dist-packages"
SIZE_BYTES = 10_000_000_000
TARGET = (1.3, 300)
"""Time as a multiple of the baseline's at most, MB of memory at most."""

INFLATE = """
import sys
from pathlib import Path
from sparkproof.formats.layer_stream import open_layer
total = 0
for path in sorted(Path(sys.argv[1], "blobs", "sha256").iterdir()):
    with path.open("rb") as file:
        if file.read(1) == b"{":
            continue
        file.seek(0)
        for piece in open_layer(iter(lambda: file.read(1 << 20), b"")):
            total += len(piece)
print(total)
"""
# It also checks every layer's digest, which the baseline does not.
JUDGE = """
import sys
from sparkproof.usecases.image import look_at_image
report = look_at_image(sys.argv[1])
print(report.verdict, report.summary)
"""
ARMS = {"inflate": INFLATE, "judge": JUDGE}


class Run(NamedTuple):
    """One process: wall and processor seconds, peak MB, MB that it wrote, what it said."""

    seconds: float
    cpu_s: float
    memory_mb: float
    disk_mb: float
    said: str


def run(code: str, image: Path) -> Run:
    """Run it to its end."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code, str(image)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = process.stdout.read().decode().strip()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"ended with {process.returncode}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Run(seconds, cpu_s, usage.ru_maxrss * 1024 / 1e6, usage.ru_oublock * 512 / 1e6, said)


def ballast(wheels: list[Path], wanted: int) -> Iterator[Entry]:
    """Members of wheels as if they were torch's and NVIDIA's libraries, until there are enough."""
    number = 0
    while wanted > 0:
        for path in wheels:
            number += 1
            wheel = open_wheel(path)
            for entry in images.wheel_entries(wheel, f"{SITE}/torch/lib/{number}"):
                wanted -= entry.size_bytes
                if wanted > 0:
                    yield entry
            wheel.close()


def build(target: Path, wheels: Path) -> None:
    """The image, in the shape of vLLM's own: system, toolkit, torch, vLLM, FlashInfer."""
    folder = ImageFolder(target)
    newest = max(wheels.glob("vllm-0.33*"))
    cubins = sorted(wheels.glob("flashinfer_cubin-*"))
    own = [*images.wheel_at(newest, SITE)]
    packed = [entry for path in cubins for entry in images.wheel_at(path, SITE)]
    used = sum(entry.size_bytes for entry in (*own, *packed))
    others = [p for p in sorted(wheels.glob("*.whl")) if p not in (newest, *cubins)]
    system = images.files({"usr/bin/python3.12": b"\x7fELF", "usr/bin/ninja": b"\x7fELF"})
    script = images.files({"usr/local/bin/vllm": b"#!/usr/bin/python3\n"})
    made = [
        folder.layer([*system, images.link("usr/bin/python3", "python3.12")], "ADD rootfs"),
        folder.layer(ballast(others, SIZE_BYTES - used), "RUN pip install torch", level=4),
        folder.layer(own, "RUN pip install vllm", level=6),
        folder.layer(packed, "RUN pip install flashinfer-cubin", level=6),
        folder.layer(script, "COPY vllm"),
    ]
    folder.image(made, Entrypoint=["vllm", "serve"])


def summarise(arms: dict[str, list[Run]]) -> list[dict[str, Any]]:
    """One row an arm: medians, the share of the baseline's time, whether the target is met."""
    base = statistics.median(one.seconds for one in arms["inflate"])
    rows = []
    for arm, found in arms.items():
        seconds = statistics.median(one.seconds for one in found)
        row: dict[str, Any] = {
            "arm": arm,
            "median_s": round(seconds, 2),
            "lowest_s": round(min(one.seconds for one in found), 2),
            "cpu_s": round(statistics.median(one.cpu_s for one in found), 2),
            "times_baseline": round(seconds / base, 3),
            "peak_memory_mb": round(max(one.memory_mb for one in found), 1),
            "disk_mb": round(max(one.disk_mb for one in found), 1),
            "said": found[-1].said,
        }
        if arm == "judge":
            factor, limit = TARGET
            row["target"] = f"<= {factor} times the baseline, < {limit} MB, nothing on disk"
            row["met"] = bool(
                seconds <= base * factor and row["peak_memory_mb"] < limit and not row["disk_mb"]
            )
        rows.append(row)
    return rows


def main() -> None:
    """Build if need be, measure, print the table, write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--image", type=Path, default=Path("build/benchmark-image"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not (options.image / "index.json").is_file():
        build(options.image, options.wheels)
    run(INFLATE, options.image)  # unrecorded: warms the file cache
    arms: dict[str, list[Run]] = {arm: [] for arm in ARMS}
    for _ in range(options.rounds):
        for arm, code in ARMS.items():
            arms[arm].append(run(code, options.image))
    rows = summarise(arms)
    for row in rows:
        print(
            f"{row['arm']:8} {row['median_s']:7.2f} s  {row['times_baseline']:6.3f} of the baseline"
            f"  {row['cpu_s']:7.2f} s of processor  {row['peak_memory_mb']:7.1f} MB"
            f"  {row['disk_mb']:5.1f} MB on disk  {row.get('met', '')}"
        )
    stored = sum(p.stat().st_size for p in (options.image / "blobs" / "sha256").iterdir())
    report = {
        "stored_mb": round(stored / 1e6, 1),
        "rounds": options.rounds,
        "cores": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "arms": rows,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
